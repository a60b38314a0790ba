// Items as they move, shipments on their board.
import assert from 'node:assert/strict';
import { api, as, narrow, open, settled, test, violations } from './page.mjs';
import { leaving } from './shipments.mjs';

const manager = 'manager@north.example';

test('the page of an item says where it lies, by lot, and how it moved', async () => {
  const [level] = await api(
    manager,
    '/v1/stock_levels?select=quantity,item_id,zones(code),lots(lot_no)&lot_id=not.is.null&quantity=gt.1&order=id.desc&limit=1',
  );
  const [moved] = await api(
    manager,
    '/v1/stock_movements?select=item_id,items(on_hand)&type=eq.ship&order=occurred_at.desc&limit=1',
  );
  await as(manager, async (page) => {
    await open(page, `/console/c/items/${level.item_id}`);
    const stock = page.getByRole('region', { name: 'Stock', exact: true });
    await stock.getByRole('link', { name: level.zones.code }).first().waitFor();
    await stock
      .getByRole('link', { name: new RegExp(level.lots.lot_no) })
      .first()
      .waitFor();
    await open(page, `/console/c/items/${moved.item_id}`);
    const plot = page.locator('figure', { hasText: 'On hand, last 90 days' });
    await plot.locator('canvas').waitFor();
    await plot.getByText('As a table').click();
    const today = await plot.locator('tbody tr').first().locator('td').last().innerText();
    assert.equal(Number(today.replace(/,/g, '')), Number(moved.items.on_hand));
    assert.deepEqual(await violations(page, 'item'), []);
  });
});

test('a shipment that is ready is dispatched and delivered from the board', async () => {
  const [ready, road] = await leaving('B');
  await as(manager, async (page) => {
    await open(page, '/console/shipments');
    await settled(page);
    const card = (no) => page.getByRole('listitem').filter({ hasText: no });
    // Somebody was faster: it says so, looks like a failure, and tells what to do.
    await page.route(
      '**/rpc/dispatch',
      (route) => route.fulfill({ status: 409, json: { code: 'HF001', message: 'the shipment has left' } }),
      { times: 1 },
    );
    await card(ready.shipment_no).getByRole('button', { name: 'Dispatch' }).click();
    await page
      .locator('.toast.failed')
      .filter({ hasText: 'the shipment has left' })
      .getByText('Load the page again: it shows what can be done now.')
      .waitFor();
    await card(ready.shipment_no).getByRole('button', { name: 'Dispatch' }).click();
    await page.getByText(`${ready.shipment_no} is on its way`).waitFor();
    await card(road.shipment_no).getByRole('button', { name: 'Delivered' }).click();
    const ask = page.getByRole('dialog');
    await ask.getByLabel('Who took it? *').fill('P. Ortner');
    await ask.getByRole('button', { name: 'Say so' }).click();
    await card(road.shipment_no).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'By driver' }).click();
    await page.waitForURL(/by=driver/);
    assert.deepEqual(await violations(page, 'board'), []);
  });
  const [after] = await api(manager, `/v1/shipments?select=status,proof&id=eq.${road.id}`);
  assert.deepEqual([after.status, after.proof.name], ['delivered', 'P. Ortner']);
  const [sent] = await api(manager, `/v1/shipments?select=status&id=eq.${ready.id}`);
  assert.equal(sent.status, 'in_transit');
});

test('who does not see who drives is not told that nobody does', async () => {
  await as('viewer@north.example', async (page) => {
    await open(page, '/console/shipments');
    await page.getByRole('link', { name: /^SH-/ }).first().waitFor();
    assert.equal(await page.getByText('no carrier yet').count(), 0);
    assert.equal(await page.getByText('By driver').count(), 0);
  });
});

test('the board can be used on a phone', async () => {
  await as(
    manager,
    async (page) => {
      await open(page, '/console/shipments?way=all');
      await settled(page);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
    },
    { viewport: narrow },
  );
});

test('the stops of a driver are on the map in their order, and a stop says what goes there, by the keyboard', async () => {
  const driven = await api(
    manager,
    '/v1/shipments?select=id,shipment_no,stop_seq,destination,driver:driver_id(id,worker:worker_id(name))&direction=eq.outbound&status=in.(planned,packed,ready,in_transit,exception,arrived)&driver_id=not.is.null&order=stop_seq',
  );
  const mine = driven.filter((s) => s.driver.id === driven[0].driver.id);
  await as(manager, async (page) => {
    await open(page, '/console/shipments?by=route');
    await settled(page);
    const card = page.locator('.card', { has: page.getByRole('heading', { name: driven[0].driver.worker.name }) });
    await card.getByRole('link', { name: mine.at(-1).shipment_no }).waitFor();
    assert.deepEqual(
      await card.getByRole('link').allInnerTexts(),
      mine.map((s) => s.shipment_no),
    );
    const city = driven[0].destination.city;
    const stop = page.getByRole('button', { name: new RegExp(`^${city}, \\d+ shipment`) }).first();
    const count = Number(/(\d+) shipment/.exec(await stop.getAttribute('aria-label'))[1]);
    await stop.press('Enter');
    const there = page.locator('.card', { has: page.getByRole('heading', { name: city, exact: true }) });
    await there.getByRole('link', { name: driven[0].shipment_no }).waitFor();
    assert.equal(await there.getByRole('listitem').count(), count);
    assert.deepEqual(await violations(page, 'routes'), []);
  });
});

test('a recall asks why, and what is free of the lot is put on hold', async () => {
  const [level] = await api(
    manager,
    '/v1/stock_levels?select=lot_id,lots!inner(lot_no)&stock_status=eq.available&reserved=eq.0&quantity=gt.0&lots.status=eq.released&order=id.desc&limit=1',
  );
  await as(manager, async (page) => {
    await open(page, `/console/c/lots/${level.lot_id}`);
    await page.getByRole('button', { name: 'Recall', exact: true }).click();
    const ask = page.getByRole('dialog');
    await ask.getByLabel('Why? *').fill('glass found');
    await ask.getByRole('button', { name: 'Recall', exact: true }).click();
    await page.getByRole('dialog', { name: `${level.lots.lot_no} is recalled` }).waitFor();
  });
  const free = await api(
    manager,
    `/v1/stock_levels?select=id&lot_id=eq.${level.lot_id}&stock_status=eq.available&quantity=gt.0&reserved=eq.0`,
  );
  assert.deepEqual(free, []);
  const [lot] = await api(manager, `/v1/lots?select=status&id=eq.${level.lot_id}`);
  assert.equal(lot.status, 'recalled');
});
