// The floor by units of handling: pallets, cases and pieces on a phone.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { api, as, narrow, newBin, open, scanCode, session, test, violations } from './page.mjs';

const manager = 'manager@north.example';
const operator = 'operator@north.example';
const phone = { viewport: narrow, hasTouch: true };
const root = new URL('../../', import.meta.url);

const rpc = (who, verb, body) => api(who, `/v1/rpc/${verb}`, { method: 'POST', body });

// newPalletItem is an item with a case of 12 and a pallet of 96 pieces; a case has a barcode.
async function newPalletItem(name) {
  const sku = `${name}-${Date.now()}`;
  const [item] = await api(manager, '/v1/items', { method: 'POST', body: { sku, name: 'On pallets' } });
  await api(manager, '/v1/item_uoms', {
    method: 'POST',
    body: [
      { item_id: item.id, uom: 'CS', factor: 12, barcode: `${sku}-CASE` },
      { item_id: item.id, uom: 'PL', factor: 96, barcode: `${sku}-PALLET` },
    ],
  });
  return item;
}

// typedSum waits until a quantity, which is entered as one number or by units, is what it should be.
async function typedSum(page, label, value) {
  const box = page.getByRole('group', { name: label, exact: true }).getByRole('textbox');
  await box.waitFor();
  for (let tries = 100; tries && (await box.inputValue()) !== value; tries--) await page.waitForTimeout(100);
  assert.equal(await box.inputValue(), value);
}

// isWithin holds the page to the width of the phone.
async function isWithin(page) {
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= narrow.width, `the page is ${width} wide`);
}

test('the console says a quantity by the same units as the server', async () => {
  const file = new URL('console/src/lib/units.ts', root);
  const { transformWithOxc } = await import(new URL('console/node_modules/vite/dist/node/index.js', root));
  const { code } = await transformWithOxc(readFileSync(file, 'utf8'), file.pathname);
  const { split, sum } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  const cases = JSON.parse(readFileSync(new URL('internal/warehouse/handling/testdata/cases.json', root)));
  assert.ok(cases.length > 10);
  for (const { name, base, units, quantity, parts } of cases) {
    const list = Object.entries(units).map(([uom, factor]) => ({ uom, factor }));
    const said = split(base, list, quantity, (code) => code === 'KGM');
    assert.deepEqual(
      said.map((p) => [p.unit, p.qty, p.factor]),
      parts,
      name,
    );
    if (parts.length) assert.equal(sum(said), quantity, name);
  }
});

test('a picker is told pallets, cases and pieces, and says cases and pieces that were taken', async () => {
  const item = await newPalletItem('PICKED');
  const bin = await newBin('PALLETS');
  await api(manager, '/v1/stock_movements', {
    method: 'POST',
    body: { item_id: item.id, type: 'receipt', to_zone_id: bin.id, quantity: 137 },
  });
  const [order] = await api(manager, '/v1/orders', {
    method: 'POST',
    body: { type: 'outbound', party_name: 'By pallets', priority: 1 },
  });
  await api(manager, '/v1/order_lines', {
    method: 'POST',
    body: { order_id: order.id, line_no: 10, item_id: item.id, qty_ordered: 137 },
  });
  await rpc(manager, 'confirm_order', { order_id: order.id });
  const released = await rpc(manager, 'release_picks', { order_ids: [order.id], method: 'single' });
  const [list] = released.pick_lists;
  const {
    user: { id: user },
  } = await session(operator);
  const [worker] = await api(manager, `/v1/workers?select=id&user_id=eq.${user}`);
  await api(manager, `/v1/pick_lists?id=eq.${list.id}`, { method: 'PATCH', body: { assigned_worker_id: worker.id } });
  await as(
    operator,
    async (page) => {
      await open(page, `/console/floor/pick/${list.id}`);
      await page.getByText('1 pallet, 3 cases, 5 pieces').waitFor();
      await page.getByRole('button', { name: 'Start picking' }).click();
      const carried = page.locator('.task .carried.large');
      await carried.waitFor();
      assert.equal(await carried.innerText(), '1 pallet, 3 cases, 5 pieces');
      const size = await carried.evaluate((e) => parseFloat(getComputedStyle(e).fontSize));
      assert.ok(size >= 20, `it is said in letters of ${size} px`);
      await isWithin(page);
      assert.deepEqual(await violations(page, 'pick by units'), []);

      await page.getByLabel('1 pallet = 96').fill('0');
      await page.getByLabel('1 case = 12').fill('10');
      await page.getByLabel('1 piece').fill('1');
      await typedSum(page, 'Of 137', '121');
      await page.reload();
      await page.getByRole('button', { name: 'Start picking' }).click();
      await typedSum(page, 'Of 137', '121');
      await page.getByRole('button', { name: 'Take it' }).click();
      await typedSum(page, 'Of 16', '16');
      await page.getByText('1 case, 4 pieces').waitFor();
    },
    phone,
  );
  const [line] = await api(manager, `/v1/pick_lines?select=qty_picked&pick_list_id=eq.${list.id}`);
  assert.equal(Number(line.qty_picked), 121);
  await as(
    operator,
    async (page) => {
      await open(page, `/console/floor/pick/${list.id}`);
      await page.getByText('1 Kiste, 4 Stück').waitFor();
    },
    { ...phone, locale: 'de-DE' },
  );
});

test('a receiver is told what is expected by units, and a case that is scanned is all its pieces', async () => {
  const item = await newPalletItem('CAME');
  const [order] = await api(manager, '/v1/orders', {
    method: 'POST',
    body: { type: 'inbound', party_name: 'A truck' },
  });
  await api(manager, '/v1/order_lines', {
    method: 'POST',
    body: { order_id: order.id, line_no: 10, item_id: item.id, qty_ordered: 137 },
  });
  await rpc(manager, 'confirm_order', { order_id: order.id });
  await as(
    operator,
    async (page) => {
      const label = `Came: ${item.sku}`;
      await open(page, `/console/floor/receive?order=${order.id}`);
      await page.getByText('1 pallet, 3 cases, 5 pieces').waitFor();
      await scanCode(page, `${item.sku}-CASE`);
      await typedSum(page, label, '12');
      await page.getByLabel('1 case = 12').fill('2');
      await page.getByLabel('1 piece').fill('3');
      await typedSum(page, label, '27');
      await page.getByText('= 27 pieces').waitFor();
      await isWithin(page);
      assert.deepEqual(await violations(page, 'receive by units'), []);
      await page.reload();
      await typedSum(page, label, '27');
      await page.getByRole('button', { name: 'Take 1 line in' }).click();
      await page.getByRole('heading', { name: 'The goods are in' }).waitFor();
      await open(page, `/console/floor/receive?order=${order.id}`);
      await page.getByText('1 pallet, 1 case, 2 pieces').waitFor();
    },
    phone,
  );
});

test('a blind counter enters cases and pieces, and is told no number', async () => {
  const item = await newPalletItem('COUNTED');
  const bin = await newBin('COUNTED');
  await api(manager, '/v1/stock_movements', {
    method: 'POST',
    body: { item_id: item.id, type: 'receipt', to_zone_id: bin.id, quantity: 137 },
  });
  const { count_task: task } = await rpc(manager, 'start_count', { zone_id: bin.id, item_id: item.id });
  await as(
    operator,
    async (page) => {
      await open(page, `/console/floor/count/${task.id}`);
      await page.getByLabel('1 case = 12').waitFor();
      for (const name of ['1 pallet = 96', '1 case = 12', '1 piece'])
        assert.equal(await page.getByLabel(name).inputValue(), '0');
      assert.equal(await page.getByText(/137|3 cases/).count(), 0);
      await page.getByLabel('1 case = 12').fill('11');
      await page.getByLabel('1 piece').fill('5');
      await typedSum(page, `Found: ${item.sku}`, '137');
      assert.equal(await page.getByLabel('1 case = 12').inputValue(), '11');
      await isWithin(page);
      assert.deepEqual(await violations(page, 'count by units'), []);
      await page.getByRole('button', { name: 'That is all: 1 line' }).click();
      await page.getByRole('heading', { name: 'The count is booked' }).waitFor();
    },
    phone,
  );
  const [counted] = await api(manager, `/v1/count_lines?select=counted,variance&count_task_id=eq.${task.id}`);
  assert.deepEqual([Number(counted.counted), Number(counted.variance)], [137, 0]);
});

// releasedOrder is the pick list of an order for a quantity of an item.
async function releasedOrder(item, quantity) {
  const [sold] = await api(manager, '/v1/orders', {
    method: 'POST',
    body: { type: 'outbound', party_name: 'A shop', priority: 1 },
  });
  await api(manager, '/v1/order_lines', {
    method: 'POST',
    body: { order_id: sold.id, line_no: 10, item_id: item.id, qty_ordered: quantity },
  });
  await rpc(manager, 'confirm_order', { order_id: sold.id });
  return (await rpc(manager, 'release_picks', { order_ids: [sold.id], method: 'single' })).pick_lists[0];
}

test('what is received and picked of an item of catch weight is weighed on the phone', async () => {
  const item = await newPalletItem('CHEESE');
  await api(manager, `/v1/items?id=eq.${item.id}`, {
    method: 'PATCH',
    body: { catch_weight: true, weight_kg: 4, weight_tolerance_pct: 10 },
  });
  const [order] = await api(manager, '/v1/orders', { method: 'POST', body: { type: 'inbound', party_name: 'A dairy' } });
  await api(manager, '/v1/order_lines', {
    method: 'POST',
    body: { order_id: order.id, line_no: 10, item_id: item.id, qty_ordered: 10 },
  });
  await rpc(manager, 'confirm_order', { order_id: order.id });
  await as(
    operator,
    async (page) => {
      await open(page, `/console/floor/receive?order=${order.id}`);
      await page.getByRole('button', { name: 'All 10 came' }).click();
      const weight = page.getByLabel('Weight in kg');
      await weight.fill('60');
      await page.getByRole('button', { name: 'Take 1 line in' }).click();
      await page.getByText('they weigh 36 to 44 kg').waitFor();
      await weight.fill('41.5');
      await page.reload();
      assert.equal(await weight.inputValue(), '41.5');
      assert.deepEqual(await violations(page, 'receive by weight'), []);
      await page.getByRole('button', { name: 'Take 1 line in' }).click();
      await page.getByRole('heading', { name: 'The goods are in' }).waitFor();
    },
    phone,
  );
  const [moved] = await api(manager, `/v1/stock_movements?select=weight_kg,to_zone_id&item_id=eq.${item.id}`);
  assert.equal(Number(moved.weight_kg), 41.5);

  const bin = await newBin('CHEESE');
  await rpc(manager, 'move_stock', {
    item_id: item.id,
    from_zone_id: moved.to_zone_id,
    to_zone_id: bin.id,
    quantity: 10,
  });
  const list = await releasedOrder(item, 2);
  const {
    user: { id: user },
  } = await session(operator);
  const [worker] = await api(manager, `/v1/workers?select=id&user_id=eq.${user}`);
  await api(manager, `/v1/pick_lists?id=eq.${list.id}`, { method: 'PATCH', body: { assigned_worker_id: worker.id } });
  await as(
    operator,
    async (page) => {
      await open(page, `/console/floor/pick/${list.id}`);
      await page.getByRole('button', { name: 'Start picking' }).click();
      await page.getByLabel('Weight in kg').fill('8.2');
      await isWithin(page);
      await page.getByRole('button', { name: 'Take it' }).click();
      await page.getByText('Everything on this list is picked').waitFor();
    },
    phone,
  );
  const [line] = await api(manager, `/v1/pick_lines?select=weight_kg&pick_list_id=eq.${list.id}`);
  assert.equal(Number(line.weight_kg), 8.2);

  const odd = await releasedOrder(item, 2);
  await api(manager, `/v1/pick_lists?id=eq.${odd.id}`, {
    method: 'PATCH',
    body: { assigned_worker_id: worker.id, status: 'in_progress' },
  });
  await as(
    manager,
    async (page) => {
      await open(page, `/console/floor/pick/${odd.id}`);
      await page.getByText('1 pallet = 96').waitFor(); // units come last and push the button down
      await page.getByLabel('Weight in kg').fill('12');
      const why = page.getByLabel('Why this weight is right');
      assert.equal(await why.count(), 0);
      await page.getByRole('button', { name: 'Take it' }).click();
      await page.getByText('they weigh 7.2 to 8.8 kg').waitFor();
      await why.fill('wheels of another dairy');
      await isWithin(page);
      assert.deepEqual(await violations(page, 'a weight with its reason'), []);
      await page.getByRole('button', { name: 'Take it' }).click();
      await page.getByText('Everything on this list is picked').waitFor();
    },
    phone,
  );
  const [taken] = await api(manager, `/v1/pick_lines?select=weight_kg,weight_reason&pick_list_id=eq.${odd.id}`);
  assert.deepEqual([Number(taken.weight_kg), taken.weight_reason], [12, 'wheels of another dairy']);
});
