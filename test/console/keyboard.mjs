// Each page's task done with the keyboard alone, and the focus in sight at every stop: the floor, planning, shipments, imports.
import assert from 'node:assert/strict';
import { api, as, newBin, newReserve, open, settled, stocked, test } from './page.mjs';
import { hands } from './hands.mjs';
import { leaving } from './shipments.mjs';

const manager = 'manager@north.example';
const operator = 'operator@north.example';
const admin = 'admin@north.example';

const made = (path, body) => api(manager, path, { method: 'POST', body });
const rpc = (verb, body) => made(`/v1/rpc/${verb}`, body);

// ordered is an order over some of an item, confirmed.
async function ordered(type, item, quantity) {
  const [order] = await made('/v1/orders', { type, party_name: 'Done by keys' });
  await made('/v1/order_lines', { order_id: order.id, line_no: 10, item_id: item.id, qty_ordered: quantity });
  await rpc('confirm_order', { order_id: order.id });
  return order;
}

// A scanner that is a keyboard types wherever the focus is.
async function scanned(page, keys, what, code) {
  await page.getByLabel(what, { exact: true }).waitFor();
  await keys.type(code);
  await keys.press('Enter');
}

test('by keys: goods are received, put away and counted', async () => {
  const [item] = await stocked();
  const order = await ordered('inbound', item, 4);
  const place = await newBin('KEYS');
  await as(operator, async (page) => {
    const keys = hands(page);
    await open(page, '/console/floor/receive');
    await settled(page);
    await scanned(page, keys, 'Scan the order or the goods', order.order_no);
    await page.getByRole('heading', { name: order.order_no }).waitFor();
    await scanned(page, keys, 'Scan the goods', item.sku);
    await page.getByText(`${item.sku} +1`).waitFor();
    const came = page.getByRole('group', { name: `Came: ${item.sku}` });
    await keys.use(came.getByRole('button', { name: 'One more' }));
    await keys.write(came.getByRole('textbox'), '3', { back: true });
    await keys.use(page.getByRole('button', { name: 'All 4 came' }));
    await keys.use(page.getByRole('button', { name: 'Take 1 line in' }));
    await keys.use(page.getByRole('link', { name: /Put away/ }));
    await settled(page);
    await scanned(page, keys, 'Scan the place', place.code);
    await keys.use(page.getByRole('button', { name: `It is in ${place.code}` }));
    await page.getByRole('heading', { name: 'Everything is in its place' }).waitFor();

    await keys.press('g', 'f');
    await page.getByRole('heading', { name: 'To count', exact: true }).waitFor();
    await keys.use(page.getByRole('link', { name: 'Count a place' }));
    await page.getByRole('heading', { name: 'Count a place', level: 1 }).waitFor();
    await scanned(page, keys, 'Scan the place', place.code);
    await keys.use(page.getByRole('button', { name: 'Begin' }));
    await page.getByRole('heading', { name: `Count ${place.code}` }).waitFor();
    await scanned(page, keys, 'Scan the goods', item.sku);
    await keys.write(page.getByRole('group', { name: `Found: ${item.sku}` }).getByRole('textbox'), '4');
    await keys.use(page.getByRole('button', { name: 'That is all: 1 line' }));
    await page.getByRole('heading', { name: 'The count is booked' }).waitFor();
  });
  const [level] = await api(manager, `/v1/stock_levels?select=quantity&zone_id=eq.${place.id}&item_id=eq.${item.id}`);
  assert.equal(Number(level.quantity), 4);
});

test('by keys: what a pick face lacks is brought, and what came back is judged', async () => {
  const item = await newReserve('FACEK');
  const face = await newBin('FACEK');
  const place = await newBin('BACKK');
  await made('/v1/replenish_rules', { item_id: item.id, pick_zone_id: face.id, min_qty: 5, max_qty: 8 });
  const order = await ordered('return', item, 3);
  await as(manager, async (page) => {
    const keys = hands(page);
    await open(page, '/console/');
    await settled(page);
    await keys.press('g', 'l');
    await page.getByRole('heading', { name: 'Planning' }).waitFor();
    await keys.use(page.getByRole('button', { name: 'Replenishment' }));
    await settled(page);
    await keys.use(page.getByRole('button', { name: 'Look what is due' }));
    const line = page
      .getByRole('list', { name: 'Tasks' })
      .getByRole('listitem')
      .filter({ hasText: `to ${face.code}` });
    await line.first().waitFor();
    for (let left = await line.count(); left; left--) {
      await keys.use(line.first().getByRole('button', { name: /^Brought: / }), { most: 400 });
      const ask = page.getByRole('dialog');
      await ask.getByLabel('How much? *').waitFor();
      await keys.press('Enter');
      await ask.waitFor({ state: 'detached' });
      await page.waitForFunction(
        ([code, n]) =>
          [...document.querySelectorAll('ul[aria-label=Tasks] li')].filter((l) => l.textContent.includes(`to ${code}`))
            .length === n,
        [face.code, left - 1],
      );
    }

    await keys.use(page.getByRole('button', { name: 'Returns' }), { back: true, most: 400 });
    await keys.use(page.getByRole('button', { name: `Take ${order.order_no} in` }), { most: 100 });
    const ask = page.getByRole('dialog', { name: `${order.order_no}: what came back` });
    await keys.write(ask.getByLabel('How much?'), '2');
    await keys.choose(ask.getByLabel('What becomes of it?'), 'Quarantine');
    await keys.write(ask.getByLabel('Why, where it never left?'), 'No papers');
    await keys.write(ask.getByLabel('Into which place? *'), place.code);
    await keys.use(ask.getByRole('button', { name: 'Take in' }));
    await ask.waitFor({ state: 'detached' });
  });
  const held = async (zone) =>
    (
      await api(manager, `/v1/stock_levels?select=quantity,stock_status&zone_id=eq.${zone.id}&item_id=eq.${item.id}`)
    ).map((l) => [Number(l.quantity), l.stock_status]);
  assert.deepEqual(await held(face), [[8, 'available']]);
  assert.deepEqual(await held(place), [[2, 'quarantine']]);
});

test('by keys: a shipment is dispatched, another told as a problem, and one opened from the board', async () => {
  const [ready, road] = await leaving('K');
  await as(manager, async (page) => {
    const keys = hands(page);
    await open(page, '/console/');
    await settled(page);
    await keys.press('g', 's');
    await page.getByRole('heading', { name: 'Shipment board', level: 1 }).waitFor();
    await settled(page);
    const card = (no) => page.getByRole('listitem').filter({ hasText: no });
    await keys.use(card(ready.shipment_no).getByRole('button', { name: 'Dispatch' }), { most: 200 });
    await page.getByText(`${ready.shipment_no} is on its way`).waitFor();
    await keys.use(card(road.shipment_no).getByRole('button', { name: 'Problem' }), { most: 200 });
    const ask = page.getByRole('dialog', { name: `A problem with ${road.shipment_no}` });
    await keys.choose(ask.getByLabel('What happened?'), 'Nobody there');
    await keys.write(ask.getByLabel('Note'), 'The gate was shut');
    await keys.press('Enter');
    await ask.waitFor({ state: 'detached' });
    await keys.use(card(road.shipment_no).getByRole('link', { name: road.shipment_no }), { back: true, most: 200 });
    await page.getByRole('heading', { name: new RegExp(road.shipment_no), level: 1 }).waitFor();
  });
  const told = async (s) => (await api(manager, `/v1/shipments?select=status,exception_code&id=eq.${s.id}`))[0];
  assert.equal((await told(ready)).status, 'in_transit');
  assert.deepEqual(await told(road), { status: 'exception', exception_code: 'NOBODY_THERE' });
});

test('by keys: a file is chosen, a column named, an error put right, applied and rolled back', async () => {
  const mark = `K${Date.now()}`;
  const text = `SKU,Name,Unit cost,Wo es steht\n${mark}-1,First by keys,1.5,Regal\n${mark}-2,Second by keys,abc,Regal\n`;
  await as(admin, async (page) => {
    const keys = hands(page);
    await open(page, '/console/');
    await settled(page);
    await keys.press('g', 'u');
    await page.getByRole('heading', { name: 'Imports', level: 1 }).waitFor();
    await keys.use(page.getByRole('link', { name: 'Import a file' }));
    await page.getByRole('heading', { name: 'Import a file', level: 1 }).waitFor();
    await keys.choose(page.getByLabel('What is in the file?'), 'Items');
    // Which file is asked by the browser's own window.
    const [window] = await Promise.all([page.waitForEvent('filechooser'), keys.use(page.locator('input[type=file]'))]);
    await window.setFiles({ name: 'keys.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
    await page.getByText('"abc" is not a number').waitFor();

    await keys.choose(page.getByLabel('Wo es steht becomes'), 'Category');
    await keys.use(page.getByRole('button', { name: 'Check with these columns' }), { back: true });
    await page.getByRole('button', { name: 'Check with these columns' }).waitFor({ state: 'detached' });
    await settled(page);
    await keys.write(page.getByLabel('Unit cost, line 3'), '2.5');
    await keys.press('Tab');
    await page.getByRole('button', { name: 'Apply 2 rows' }).waitFor();
    await keys.to(page.getByRole('tab', { name: /With errors/ }), { back: true });
    await keys.press('ArrowRight');
    await page.getByText('Second by keys').first().waitFor();
    await keys.use(page.getByRole('button', { name: 'Apply 2 rows' }), { back: true });
    await keys.use(page.getByRole('button', { name: 'Roll back' }), { back: true });
    assert.deepEqual(
      (await api(admin, `/v1/items?select=unit_cost,category&sku=like.${mark}-*&order=sku`)).map((i) => [
        Number(i.unit_cost),
        i.category,
      ]),
      [
        [1.5, 'Regal'],
        [2.5, 'Regal'],
      ],
    );
    await keys.use(page.getByRole('dialog').getByRole('button', { name: 'Roll back' }));
    await page.getByText('Rolled back', { exact: true }).first().waitFor();
    assert.equal((await api(admin, `/v1/items?sku=like.${mark}-*`)).length, 0);
  });
});
