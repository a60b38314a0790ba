// The floor, with a phone and a scanner that types: pick, receive, put away, count.
import assert from 'node:assert/strict';
import { api, as, narrow, newBin, open, scanCode, session, settled, stocked, test, violations } from './page.mjs';

const manager = 'manager@north.example';
const operator = 'operator@north.example';
const phone = { viewport: narrow, hasTouch: true };

const rpc = (who, verb, body) => api(who, `/v1/rpc/${verb}`, { method: 'POST', body });

// wedge types a code as a scanner does that is a keyboard, wherever the focus
// is, once the page has the field that hears it: a page that is left may still
// stand for a moment.
async function wedge(page, code) {
  await page.getByPlaceholder(/^Scan /).waitFor();
  await page.evaluate(() => document.activeElement?.blur?.());
  await scanCode(page, code);
}

// valueOf waits until a field holds a value.
async function valueOf(field, value) {
  await field.waitFor();
  for (let tries = 100; tries && (await field.inputValue()) !== value; tries--) await field.page().waitForTimeout(100);
  assert.equal(await field.inputValue(), value);
}

test('the next task of a picker opens the work that the server names, and is theirs', async () => {
  const [item] = await stocked(1);
  const [order] = await api(manager, '/v1/orders', {
    method: 'POST',
    body: { type: 'outbound', party_name: 'Comes next', priority: 1, promised_at: '2020-01-01T08:00:00Z' },
  });
  await api(manager, '/v1/order_lines', {
    method: 'POST',
    body: { order_id: order.id, line_no: 10, item_id: item.id, qty_ordered: 1 },
  });
  await rpc(manager, 'confirm_order', { order_id: order.id });
  const {
    pick_lists: [list],
  } = await rpc(manager, 'release_picks', { order_ids: [order.id], method: 'single' });
  const [seen] = await api(operator, `/v1/pick_lists?select=pick_no&id=eq.${list.id}`);
  assert.equal(seen.pick_no, list.pick_no);
  const named = await rpc(operator, 'next_task', {});
  const pages = { pick: 'pick', put_away: 'put', count: 'count' };
  await as(
    operator,
    async (page) => {
      await open(page, '/console/floor');
      await page.getByText('nobody’s yet').first().waitFor();
      await page.getByRole('button', { name: 'Next task', exact: true }).click();
      await page.waitForURL((url) => url.pathname.endsWith(named.task.id));
      assert.equal(
        new URL(page.url()).pathname,
        named.kind === 'replenish'
          ? `/console/c/replenish_tasks/${named.task.id}`
          : `/console/floor/${pages[named.kind]}/${named.task.id}`,
      );
    },
    phone,
  );
  const again = await rpc(operator, 'next_task', {});
  assert.deepEqual([again.task.id, again.mine], [named.task.id, true]);
  await rpc(manager, 'cancel_order', { order_id: order.id, reason: 'A test' });
});

test('a picker claims a list, scans place and goods, takes them, and says where too little was', async () => {
  const items = await stocked(2);
  const [order] = await api(manager, '/v1/orders', {
    method: 'POST',
    body: { type: 'outbound', party_name: 'Picked on a phone', priority: 1 },
  });
  await api(manager, '/v1/order_lines', {
    method: 'POST',
    body: items.map((i, n) => ({ order_id: order.id, line_no: (n + 1) * 10, item_id: i.id, qty_ordered: 3 })),
  });
  await rpc(manager, 'confirm_order', { order_id: order.id });
  const {
    pick_lists: [list],
    lines,
  } = await rpc(manager, 'release_picks', { order_ids: [order.id], method: 'single' });
  const {
    user: { id: user },
  } = await session(operator);
  const [worker] = await api(manager, `/v1/workers?select=id&user_id=eq.${user}`);
  await api(manager, `/v1/pick_lists?id=eq.${list.id}`, { method: 'PATCH', body: { assigned_worker_id: worker.id } });
  const zones = await api(manager, `/v1/zones?select=id,code&id=in.(${lines.map((l) => l.zone_id).join()})`);
  const codeOf = (l) => zones.find((z) => z.id === l.zone_id).code;
  const skuOf = (l) => items.find((i) => i.id === l.item_id).sku;
  const [first, second] = [...lines].sort((a, b) => a.seq - b.seq);
  await as(
    operator,
    async (page) => {
      await open(page, '/console/');
      await page.getByRole('link', { name: list.pick_no }).click();
      await page.getByRole('button', { name: 'Start picking' }).click();
      await page.getByText('Go to the place', { exact: true }).waitFor();
      await wedge(page, codeOf(second) === codeOf(first) ? 'nothing-has-this' : codeOf(second));
      await page.locator('.scan-said.wrong').waitFor();
      await wedge(page, codeOf(first));
      await page.getByText(`Right place: ${codeOf(first)}`).waitFor();
      await wedge(page, skuOf(first));
      await page.getByText(`Right goods: ${skuOf(first)}`).waitFor();
      assert.deepEqual(await violations(page, 'pick'), []);
      await page.getByRole('button', { name: 'Take it' }).click();
      await page.getByText('1 of 2 lines done').waitFor();
      await page.getByRole('button', { name: 'Not enough here' }).click();
      const short = page.getByRole('dialog', { name: 'Not enough here' });
      await short.getByRole('button', { name: 'One more' }).click();
      await short.getByLabel('Why?').selectOption('damaged');
      await short.getByRole('button', { name: 'Say so' }).click();
      await short.waitFor({ state: 'detached' });
    },
    phone,
  );
  const after = await api(
    manager,
    `/v1/pick_lines?select=id,status,qty_picked,short_reason&pick_list_id=eq.${list.id}&order=seq`,
  );
  const told = (l) => after.find((x) => x.id === l.id);
  assert.deepEqual([told(first).status, Number(told(first).qty_picked)], ['picked', 3]);
  assert.deepEqual(
    [told(second).status, Number(told(second).qty_picked), told(second).short_reason],
    ['short', 1, 'Goods are damaged'],
  );
});

test('goods are received against an order, put in a place, and the place is counted', async () => {
  const [item] = await stocked(1);
  const [order] = await api(manager, '/v1/orders', {
    method: 'POST',
    body: { type: 'inbound', party_name: 'Came on a truck' },
  });
  await api(manager, '/v1/order_lines', {
    method: 'POST',
    body: { order_id: order.id, line_no: 10, item_id: item.id, qty_ordered: 4 },
  });
  await rpc(manager, 'confirm_order', { order_id: order.id });
  const bin = await newBin('PHONE');
  await as(
    operator,
    async (page) => {
      await open(page, '/console/floor/receive');
      await settled(page);
      await wedge(page, order.order_no);
      await page.getByRole('heading', { name: order.order_no }).waitFor();
      await wedge(page, item.sku);
      await page.getByText(`${item.sku} +1`).waitFor();
      await page.getByRole('button', { name: 'All 4 came' }).click();
      await page.getByRole('button', { name: 'Take 1 line in' }).click();
      await page.getByRole('heading', { name: 'The goods are in' }).waitFor();
      await page.getByRole('link', { name: /Put away/ }).click();
      await page.getByPlaceholder('Scan the place').waitFor();
      await wedge(page, bin.code);
      assert.deepEqual(await violations(page, 'put away'), []);
      await page.getByRole('button', { name: `It is in ${bin.code}` }).click();
      await page.getByRole('heading', { name: 'Everything is in its place' }).waitFor();
      await open(page, '/console/floor/count');
      await wedge(page, bin.code);
      await page.getByRole('button', { name: 'Begin' }).click();
      await page.getByRole('heading', { name: `Count ${bin.code}` }).waitFor();
      // A scanner does not wait for an answer that takes its time.
      await page.route('**/rpc/scan', async (r) => {
        await new Promise((done) => setTimeout(done, 300));
        await r.continue();
      });
      for (let n = 0; n < 4; n++) await wedge(page, item.sku);
      const found = page.getByRole('group', { name: `Found: ${item.sku}` });
      await valueOf(found.getByRole('textbox'), '4');
      await page.getByRole('button', { name: 'That is all: 1 line' }).click();
      await page.getByRole('heading', { name: 'The count is booked' }).waitFor();
      // Who counts blind is not shown the books, so nothing is said of them.
      assert.equal(await page.getByText('Everything is as the books say').count(), 0);
    },
    phone,
  );
  const [level] = await api(manager, `/v1/stock_levels?select=quantity&zone_id=eq.${bin.id}&item_id=eq.${item.id}`);
  assert.equal(Number(level.quantity), 4);
  const [received] = await api(manager, `/v1/orders?select=status&id=eq.${order.id}`);
  assert.equal(received.status, 'completed');
});

test('goods moved between the look and the sending are no variance, also when the page was loaded again', async () => {
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `LOOKED-${Date.now()}`, name: 'Looked at' },
  });
  const [bin, other] = [await newBin('LOOKED'), await newBin('MOVED')];
  const move = (body) => api(manager, '/v1/stock_movements', { method: 'POST', body: { item_id: item.id, ...body } });
  await move({ type: 'receipt', to_zone_id: bin.id, quantity: 10 });
  const { count_task: task } = await rpc(manager, 'start_count', { zone_id: bin.id, item_id: item.id });
  await as(
    operator,
    async (page) => {
      await open(page, `/console/floor/count/${task.id}`);
      const found = page.getByRole('group', { name: `Found: ${item.sku}` }).getByRole('textbox');
      await found.fill('10');
      await move({ type: 'transfer', from_zone_id: bin.id, to_zone_id: other.id, quantity: 3 });
      await page.reload();
      await valueOf(found, '10');
      await page.getByRole('button', { name: 'That is all: 1 line' }).click();
      await page.getByRole('heading', { name: 'The count is booked' }).waitFor();
    },
    phone,
  );
  const [line] = await api(manager, `/v1/count_lines?select=counted,variance&count_task_id=eq.${task.id}`);
  assert.deepEqual([Number(line.counted), Number(line.variance)], [10, 0]);
  const levels = await api(manager, `/v1/stock_levels?select=zone_id,quantity&item_id=eq.${item.id}`);
  const left = (zone) => Number(levels.find((l) => l.zone_id === zone.id)?.quantity);
  assert.deepEqual([left(bin), left(other)], [7, 3]);
});

test('a number that goods moved under is sent again after another look', async () => {
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `AGAIN-${Date.now()}`, name: 'Looked at again' },
  });
  const [bin, other] = [await newBin('AGAIN'), await newBin('GONE')];
  const move = (body) => api(manager, '/v1/stock_movements', { method: 'POST', body: { item_id: item.id, ...body } });
  await move({ type: 'receipt', to_zone_id: bin.id, quantity: 10 });
  const { count_task: task } = await rpc(manager, 'start_count', { zone_id: bin.id, item_id: item.id });
  await as(
    operator,
    async (page) => {
      await open(page, `/console/floor/count/${task.id}`);
      await page
        .getByRole('group', { name: `Found: ${item.sku}` })
        .getByRole('textbox')
        .fill('2');
      await move({ type: 'transfer', from_zone_id: bin.id, to_zone_id: other.id, quantity: 3 });
      const send = page.getByRole('button', { name: 'That is all: 1 line' });
      await send.click();
      await page.getByText(/goods of this place were moved since/).waitFor();
      await send.click();
      await page.getByRole('heading', { name: /It waits for a second person|The count is booked/ }).waitFor();
    },
    phone,
  );
  const [line] = await api(manager, `/v1/count_lines?select=counted,variance&count_task_id=eq.${task.id}`);
  assert.deepEqual([Number(line.counted), Number(line.variance)], [2, -5]);
});

test('a scan says what a code is and what can be done with it, on the floor and in the search', async () => {
  const [zone] = await api(manager, '/v1/zones?select=id,code,name&kind=eq.bin&limit=1');
  await as(operator, async (page) => {
    await open(page, '/console/floor');
    await settled(page);
    await wedge(page, zone.code);
    await page.getByRole('heading', { name: new RegExp(`Zone: ${zone.code}`) }).waitFor();
    await page.getByRole('link', { name: 'Count what is here' }).waitFor();
    await wedge(page, 'no such code');
    await page.getByText(/nothing here has the code/).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('');
    await scanCode(page, zone.code);
    await page.getByRole('heading', { name: new RegExp(zone.code) }).waitFor();
    assert.equal(new URL(page.url()).pathname, `/console/c/zones/${zone.id}`);
  });
});

test('a serial number that was sold is a question on the dock, and is taken in as new when that is meant', async () => {
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `SOLD-${Date.now()}`, name: 'Sold once', tracking: 'serial' },
  });
  const place = await newBin('SOLD');
  for (const moved of [
    { type: 'receipt', to_zone_id: place.id },
    { type: 'ship', from_zone_id: place.id },
  ])
    await api(manager, '/v1/stock_movements', {
      method: 'POST',
      body: { ...moved, item_id: item.id, quantity: 1, serial: 'S-1' },
    });
  await as(
    operator,
    async (page) => {
      await open(page, `/console/floor/receive?item=${item.id}`);
      await page.getByLabel('Serial numbers *').fill('S-1');
      await page.getByRole('button', { name: 'Take 1 line in' }).click();
      await page.getByText('serial number S-1 of item').waitFor();
      assert.deepEqual(await violations(page, 'sold serial'), []);
      await page.getByRole('button', { name: 'Take it in as new all the same' }).click();
      await page.getByRole('heading', { name: 'The goods are in' }).waitFor();
    },
    phone,
  );
  const levels = await api(manager, `/v1/stock_levels?select=serial,quantity&item_id=eq.${item.id}&quantity=gt.0`);
  assert.deepEqual(
    levels.map((l) => l.serial),
    ['S-1'],
  );
});

test('another serial number at hand is picked, after one that lies elsewhere was refused', async () => {
  const mark = Date.now();
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `SWAP-${mark}`, name: 'Swapped at the shelf', tracking: 'serial' },
  });
  const [bin, elsewhere] = [await newBin('SWAP'), await newBin('AWAY')];
  for (const [n, zone] of [
    [1, bin],
    [2, bin],
    [3, elsewhere],
  ]) {
    await api(manager, '/v1/stock_movements', {
      method: 'POST',
      body: { type: 'receipt', item_id: item.id, to_zone_id: zone.id, quantity: 1, serial: `SN${n}-${mark}` },
    });
  }
  const [order] = await api(manager, '/v1/orders', {
    method: 'POST',
    body: { type: 'outbound', party_name: 'Wants one of them', priority: 1 },
  });
  await api(manager, '/v1/order_lines', {
    method: 'POST',
    body: { order_id: order.id, line_no: 10, item_id: item.id, qty_ordered: 1 },
  });
  await rpc(manager, 'confirm_order', { order_id: order.id });
  const {
    pick_lists: [list],
    lines: [line],
  } = await rpc(manager, 'release_picks', { order_ids: [order.id], method: 'single' });
  const [promised] = await api(manager, `/v1/pick_lines?select=serial,zone_id&id=eq.${line.id}`);
  assert.equal(promised.zone_id, bin.id, 'two lie there, and one elsewhere');
  const twin = promised.serial === `SN1-${mark}` ? `SN2-${mark}` : `SN1-${mark}`;
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
      await page.getByText('Go to the place', { exact: true }).waitFor();
      await wedge(page, `SN3-${mark}`);
      await page.getByText(`Right goods: ${item.sku}`).waitFor();
      await page.getByRole('button', { name: 'Take it' }).click();
      await page.locator('.scan-said.wrong').waitFor();
      await wedge(page, twin);
      await page.getByText(`Right goods: ${item.sku}`).waitFor();
      await page.getByRole('button', { name: 'Take it' }).click();
      await page.getByText('Everything on this list is picked').waitFor();
    },
    phone,
  );
  const [after] = await api(manager, `/v1/pick_lines?select=serial,status&id=eq.${line.id}`);
  assert.deepEqual(after, { serial: twin, status: 'picked' });
});
