// Work: the map, an order, a file that becomes records and is taken back, a person who is invited.
import assert from 'node:assert/strict';
import { api, as, open, settled, test, url, violations, visit } from './page.mjs';

const manager = 'manager@north.example';
const admin = 'admin@north.example';

test('the fullest place is found on the map, and what is in it', async () => {
  const [fullest] = await api(
    manager,
    '/v1/zones?select=id,code,utilization&kind=eq.bin&utilization=not.is.null&order=utilization.desc&limit=1',
  );
  await as(manager, async (page) => {
    await open(page, '/console/map');
    await settled(page);
    const card = page.locator('.card', { has: page.getByRole('heading', { name: 'Fullest' }) });
    await card.getByRole('button', { name: fullest.code }).click();
    const panel = page.getByRole('dialog', { name: fullest.code });
    await panel.getByRole('columnheader', { name: 'Quantity' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'As a table' }).click();
    await page.getByRole('region', { name: 'Places' }).getByRole('button', { name: fullest.code }).waitFor();
  });
});

test('where goods have lain longest without a movement is seen on the map', async () => {
  const groups = await api(
    manager,
    '/v1/stock_levels?select=zone_id,since:updated_at.min()&quantity=gt.0&order=zone_id&limit=1000',
  );
  const since = new Map(groups.map((g) => [g.zone_id, g.since]));
  const bins = await api(
    manager,
    '/v1/zones?select=id,code,site_id,z&kind=in.(bin,dock,staging,quarantine)&status=neq.archived&limit=1000',
  );
  await as(manager, async (page) => {
    await open(page, '/console/map');
    await settled(page);
    await page.getByRole('button', { name: 'Days at rest' }).click();
    await page.waitForURL(/by=age/);
    const card = page.locator('.card', { has: page.getByRole('heading', { name: 'Longest at rest' }) });
    await card.locator('li .bar').first().waitFor();
    const code = await card.getByRole('button').first().innerText();
    const first = bins.find((z) => z.code === code && since.has(z.id));
    assert.ok(first, code);
    const here = bins
      .filter((z) => z.site_id === first.site_id && since.has(z.id))
      .map((z) => since.get(z.id))
      .sort();
    assert.equal(since.get(first.id), here[0]);
    const days = Math.round((Date.now() - Date.parse(here[0])) / 86_400_000);
    await card.getByRole('button', { name: code, exact: true }).click();
    await page
      .getByRole('dialog', { name: code })
      .getByText(new RegExp(`not moved for ${days} days`))
      .waitFor();
  });
});

test('the slider shows the map as it was on a day, by the keyboard, and comes back to now', async () => {
  const mark = `PAST-${Date.now()}`;
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `${mark}-GOODS`, name: 'Takes two units of room', capacity_units: 2 },
  });
  const [bin] = await api(manager, '/v1/zones', {
    method: 'POST',
    body: { code: mark, name: 'Bin with a past', kind: 'bin', x: 1, y: 2, z: 0, max_capacity: 100 },
  });
  const came = (days, quantity) => ({
    type: 'receipt',
    item_id: item.id,
    to_zone_id: bin.id,
    quantity,
    occurred_at: new Date(Date.now() - days * 86_400_000).toISOString(),
  });
  await api(manager, '/v1/stock_movements', { method: 'POST', body: [came(12, 10), came(2, 15)] });
  await api(manager, '/v1/stock_movements', {
    method: 'POST',
    body: { type: 'ship', item_id: item.id, from_zone_id: bin.id, quantity: 3 },
  });
  await as(manager, async (page) => {
    await open(page, `/console/map?site=`);
    await settled(page);
    const cell = page.getByRole('button', { name: new RegExp(`^${mark}, Utilisation`) });
    await page.getByRole('button', { name: `${mark}, Utilisation 44%` }).waitFor();
    const slider = page.getByRole('slider', { name: 'Day' });
    await slider.focus();
    for (let n = 0; n < 6; n++) await page.keyboard.press('ArrowLeft');
    await page.waitForURL(/day=\d{4}-\d\d-\d\d/);
    await page.getByRole('button', { name: `${mark}, Utilisation 20%` }).waitFor();
    assert.match(await slider.getAttribute('aria-valuetext'), /^Evening of /);
    await page.keyboard.press('Home');
    await page.getByRole('button', { name: `${mark}, Utilisation 0%` }).waitFor();
    assert.deepEqual(await violations(page, 'map of a day'), []);
    await page.getByRole('button', { name: 'Back to now' }).press('Enter');
    await page.waitForURL((u) => !u.search.includes('day='));
    await page.getByRole('button', { name: `${mark}, Utilisation 44%` }).waitFor();
    assert.ok(await cell.isVisible());
  });
  await api(manager, `/v1/zones?id=eq.${bin.id}`, { method: 'PATCH', body: { status: 'archived' } }).catch(
    () => undefined,
  );
});

test('on the map the arrow keys go from place to place and Enter opens one', async () => {
  await as(manager, async (page) => {
    await open(page, '/console/map');
    await settled(page);
    const first = page.locator('rect[tabindex="0"]');
    await first.focus();
    const before = await first.getAttribute('id');
    await page.keyboard.press('ArrowRight');
    const now = await page.evaluate(() => document.activeElement?.id);
    assert.notEqual(now, before);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
  });
});

test('a draft order is confirmed, put on hold with a reason, and goes on', async () => {
  const [item] = await api(manager, '/v1/items?select=id&status=eq.active&available=gt.5&limit=1');
  const [order] = await api(manager, '/v1/orders', {
    method: 'POST',
    body: { type: 'outbound', party_name: 'Told by buttons' },
  });
  await api(manager, '/v1/order_lines', {
    method: 'POST',
    body: { order_id: order.id, line_no: 10, item_id: item.id, qty_ordered: 2 },
  });
  await as(manager, async (page) => {
    await open(page, `/console/c/orders/${order.id}`);
    await page.getByRole('button', { name: 'Confirm', exact: true }).click();
    await page.getByRole('button', { name: 'Put on hold' }).click();
    await page.getByRole('dialog').getByLabel('Why? *').fill('The customer called');
    await page.getByRole('dialog').getByRole('button', { name: 'Put on hold' }).click();
    await page.getByRole('button', { name: 'Let it go on' }).click();
    await page.getByRole('button', { name: 'Put on hold' }).waitFor();
  });
  const [after] = await api(manager, `/v1/orders?select=status&id=eq.${order.id}`);
  assert.equal(after.status, 'confirmed');
});

test('a file is dropped, its error put right in place, applied, seen, and rolled back', async () => {
  const mark = `F${Date.now()}`;
  const text = `SKU,Name,Unit cost\n${mark}-1,First of a file,1.5\n${mark}-2,Second of a file,abc\n`;
  await as(admin, async (page) => {
    await open(page, '/console/imports/new?target=items');
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'goods.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
    await page.getByText('"abc" is not a number').waitFor();
    const cell = page.getByLabel('Unit cost, line 3');
    await cell.fill('2.5');
    await cell.press('Tab');
    await page.getByRole('button', { name: 'Apply 2 rows' }).waitFor();
    await page.getByRole('tab', { name: /What will change/ }).click();
    await page.getByText(`${mark}-2`).first().waitFor();
    await page.getByRole('button', { name: 'Apply 2 rows' }).click();
    await page.getByRole('button', { name: 'Roll back' }).waitFor();
    assert.equal((await api(admin, `/v1/items?sku=like.${mark}-*`)).length, 2);
    await page.getByRole('button', { name: 'Roll back' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
    await page.getByText('Rolled back', { exact: true }).first().waitFor();
    assert.equal((await api(admin, `/v1/items?sku=like.${mark}-*`)).length, 0);
  });
});

test('dates that can be read two ways are asked about in words', async () => {
  const [item] = await api(admin, '/v1/items?select=sku&tracking=eq.lot&limit=1');
  const text = `lot_no,sku,expires_on\nQ${Date.now()},${item.sku},01/02/2031\n`;
  await as(admin, async (page) => {
    await open(page, '/console/imports/new?target=lots');
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'lots.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
    await page.getByRole('button', { name: /The day first/ }).click();
    await page.getByRole('button', { name: 'Apply 1 row' }).waitFor();
  });
});

test('a person is invited, makes an account, accepts, and sees only what the role allows', async () => {
  const email = `new-${Date.now()}@north.example`;
  await as(admin, async (page) => {
    await open(page, '/console/admin/members');
    await page.getByRole('button', { name: 'Invite' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('E-mail address *').fill(email);
    await form.getByLabel('Role').selectOption('viewer');
    await form.getByRole('button', { name: 'Send the invitation' }).click();
    await page.getByText(email, { exact: true }).waitFor();
  });
  await visit(async (page) => {
    await open(page, '/console/');
    await page.getByRole('button', { name: 'Make an account' }).click();
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password', { exact: true }).fill('a long enough pass phrase');
    await page.getByRole('button', { name: 'Make the account' }).click();
    await page.getByRole('button', { name: 'Accept' }).click();
    await page.getByRole('heading', { name: 'Warehouse', exact: true }).waitFor();
    await page.goto(`${url}/console/admin/members`);
    await page.getByText('Administrators keep these pages').waitFor();
  });
});

test('a webhook is told of the events that are ticked, and one of none is refused in words', async () => {
  const address = `https://1.1.1.1/${Date.now()}`;
  await as(admin, async (page) => {
    await open(page, '/console/admin/webhooks');
    await page.getByRole('button', { name: 'New webhook' }).click();
    const form = page.getByRole('dialog', { name: 'New webhook' });
    await form.getByLabel('Address *').fill(address);
    await form.getByLabel(/^Every event/).uncheck();
    await form.getByRole('button', { name: 'Create' }).click();
    await form.getByText('Choose at least one event, or every event.').waitFor();
    for (const name of ['order.completed', 'lot.recalled'])
      await form.getByLabel(new RegExp(`^${name.replace('.', '\\.')}`)).check();
    await form.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('dialog', { name: 'Keep this secret' }).waitFor();
  });
  const [hook] = await api(admin, `/v1/webhooks?select=id,events&url=eq.${encodeURIComponent(address)}`);
  assert.deepEqual(hook.events, ['order.completed', 'lot.recalled']);
  await api(admin, `/v1/webhooks/${hook.id}`, { method: 'DELETE' });
});

test("a webhook to an address inside is refused in the server's words, and what was typed stays", async () => {
  await as(admin, async (page) => {
    await open(page, '/console/admin/webhooks');
    await page.getByRole('button', { name: 'New webhook' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Address *').fill('https://10.0.0.8/hook');
    await form.getByRole('button', { name: 'Create' }).click();
    await form.getByText(/^url: /).waitFor();
    assert.equal(await form.getByLabel('Address *').inputValue(), 'https://10.0.0.8/hook');
  });
});

test('who changed a record is found in the audit log', async () => {
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `LOG-${Date.now()}`, name: 'Traced' },
  });
  await api(manager, `/v1/items/${item.id}`, { method: 'PATCH', body: { name: 'Traced again' } });
  await as(admin, async (page) => {
    await open(page, '/console/admin/audit?what=items');
    await settled(page);
    const row = page.locator('tbody tr').first();
    assert.match(await row.innerText(), /manager@north\.example/);
    await row.getByRole('button').click();
    await page.getByText('Traced again', { exact: true }).waitFor();
  });
});
