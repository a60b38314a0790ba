// What somebody who has never seen the console looks for, and by how many clicks it is found.
import assert from 'node:assert/strict';
import { api, as, open, settled, test } from './page.mjs';

const manager = 'manager@north.example';

// newcomer looks for something from the overview, by at most so many clicks.
function newcomer(most, look) {
  return as('admin@north.example', async (page) => {
    await open(page, '/console/');
    await settled(page);
    let clicks = 0;
    await look(page, async (place) => {
      clicks++;
      await place.click();
    });
    assert.ok(clicks <= most, `${clicks} clicks`);
  });
}

test('the fullest place stands on the overview, and a click opens it', async () => {
  const [fullest] = await api(
    manager,
    '/v1/zones?select=code,utilization&utilization=not.is.null&archived_at=is.null&order=utilization.desc&limit=1',
  );
  await newcomer(1, async (page, click) => {
    const card = page.locator('.card', { has: page.getByRole('heading', { name: 'Fullest places' }) });
    assert.match(await card.locator('li').first().innerText(), new RegExp(`^${fullest.code}`));
    await click(card.getByRole('link', { name: new RegExp(fullest.code) }).first());
    await page.getByRole('heading', { name: new RegExp(fullest.code) }).waitFor();
  });
});

test('the order that is late the longest stands first on the overview', async () => {
  const [latest] = await api(
    manager,
    `/v1/orders?select=order_no&type=eq.outbound&status=in.(confirmed,in_progress,on_hold)&promised_at=lt.${new Date().toISOString()}&order=promised_at.asc&limit=1`,
  );
  await newcomer(1, async (page, click) => {
    const card = page.locator('.card', { has: page.getByRole('heading', { name: 'Late orders' }) });
    assert.match(await card.locator('li').first().innerText(), new RegExp(`^${latest.order_no}`));
    await click(card.getByRole('link', { name: 'All late orders' }));
    await page.getByRole('link', { name: latest.order_no }).waitFor();
  });
});

test('who changed the stock of an item stands in its movements, three clicks from the overview', async () => {
  const [item] = await api(
    manager,
    '/v1/items?select=id,sku&available=gt.5&stock_value=gt.0&order=stock_value.asc&limit=1',
  );
  const [level] = await api(
    manager,
    `/v1/stock_levels?select=zone_id&item_id=eq.${item.id}&lot_id=is.null&quantity=gt.1&stock_status=eq.available&limit=1`,
  );
  await api(manager, '/v1/stock_movements', {
    method: 'POST',
    body: { type: 'adjust_loss', item_id: item.id, from_zone_id: level.zone_id, quantity: '1', reason_code: 'broken' },
  });
  await newcomer(3, async (page, click) => {
    await click(page.getByRole('link', { name: 'Items', exact: true }));
    await page.getByRole('searchbox', { name: 'Search in this list' }).fill(item.sku);
    await click(page.getByRole('link', { name: item.sku }));
    await click(page.getByRole('link', { name: 'All movements' }));
    await page.locator('.chip').getByText(item.sku).waitFor();
    const row = page.getByRole('row', { name: /Adjust loss/ }).first();
    await row.getByText(manager).waitFor();
  });
});

test('why a row of a file was not taken is in sight two clicks from the overview', async () => {
  const [job] = await api(
    manager,
    '/v1/import_jobs?select=id,job_no&status=eq.ready&invalid_rows=gt.0&order=id.desc&limit=1',
  );
  const { rows } = await api(manager, `/v1/import-jobs/${job.id}/rows?status=invalid`);
  await newcomer(2, async (page, click) => {
    await click(page.getByRole('link', { name: 'Imports', exact: true }));
    await click(page.getByRole('link', { name: job.job_no }));
    await page.getByText(rows[0].errors[0].message).first().waitFor();
  });
});

test('an import that is over and whose file is gone says so, and nothing as if it had gone wrong', async () => {
  const [job] = await api(
    manager,
    '/v1/import_jobs?select=id&status=eq.completed&invalid_rows=gt.0&order=id.asc&limit=1',
  );
  await as('admin@north.example', async (page) => {
    await open(page, `/console/imports/${job.id}`);
    await page.getByText('The rows are no longer kept').waitFor();
    assert.equal(await page.getByText('must be processed first').count(), 0);
  });
});
