// Answers that are lost: what was done is done once, however often somebody presses, and nobody is told what is not known.
import assert from 'node:assert/strict';
import { api, as, narrow, newBin, open, scanCode, session, settled, stocked, test } from './page.mjs';
import { leaving } from './shipments.mjs';

const manager = 'manager@north.example';
const operator = 'operator@north.example';
const admin = 'admin@north.example';
const phone = { viewport: narrow, hasTouch: true };
const unknown = /It is not known whether this was done/;

const rpc = (who, verb, body) => api(who, `/v1/rpc/${verb}`, { method: 'POST', body });

// lossy lets each request that changes something reach the server and loses its answer, the first time that it is sent. It
// returns the Idempotency-Keys of what was sent, by what was sent.
async function lossy(page) {
  const keys = new Map();
  await page.route(/\/(v1|rest|functions)\//, async (route) => {
    const r = route.request();
    const asks = /\/rpc\/(scan|suggest_putaway)$/.test(r.url());
    if (['GET', 'HEAD', 'OPTIONS'].includes(r.method()) || r.url().includes('/auth/') || asks) return route.continue();
    const what = `${r.method()} ${new URL(r.url()).pathname}`;
    const sent = keys.get(what) ?? [];
    keys.set(what, [...sent, r.headers()['idempotency-key']]);
    if (sent.length) return route.continue();
    await route.fetch();
    await route.abort();
  });
  return keys;
}

// twice presses a button, reads that nobody knows what became of it, and presses it again.
async function twice(page, button) {
  await button.click();
  await page.getByText(unknown).first().waitFor();
  assert.equal(await page.getByText(/[Nn]othing was booked/).count(), 0);
  await button.click();
  await page.getByText(unknown).first().waitFor({ state: 'detached' });
}

// once asserts that what was sent twice had one key, and two things two.
function once(keys) {
  const drawn = [];
  for (const [what, list] of keys) {
    assert.ok(list.length > 1 && list[0], `${what} was sent ${list.length} times`);
    assert.equal(new Set(list.slice(0, 2)).size, 1, `${what}: its repeat has the key of the first`);
    drawn.push(list[0]);
  }
  assert.equal(new Set(drawn).size, drawn.length, 'different things have different keys');
}

async function wedge(page, code) {
  await page.getByPlaceholder(/^Scan /).waitFor();
  await page.evaluate(() => document.activeElement?.blur?.());
  await scanCode(page, code);
}

test('what is received, put away and counted while answers are lost is booked once', async () => {
  const [item] = await stocked(1);
  const [order] = await api(manager, '/v1/orders', {
    method: 'POST',
    body: { type: 'inbound', party_name: 'Came while the radio was gone' },
  });
  await api(manager, '/v1/order_lines', {
    method: 'POST',
    body: { order_id: order.id, line_no: 10, item_id: item.id, qty_ordered: 4 },
  });
  await rpc(manager, 'confirm_order', { order_id: order.id });
  const bin = await newBin('LOST');
  await as(
    operator,
    async (page) => {
      const keys = await lossy(page);
      await open(page, '/console/floor/receive');
      await settled(page);
      await wedge(page, order.order_no);
      await page.getByRole('heading', { name: order.order_no }).waitFor();
      await page.getByRole('button', { name: 'All 4 came' }).click();
      await twice(page, page.getByRole('button', { name: 'Take 1 line in' }));
      await page.getByRole('heading', { name: 'The goods are in' }).waitFor();
      await page.getByRole('link', { name: /Put away/ }).click();
      await wedge(page, bin.code);
      await twice(page, page.getByRole('button', { name: `It is in ${bin.code}` }));
      await page.getByRole('heading', { name: 'Everything is in its place' }).waitFor();
      await open(page, '/console/floor/count');
      await wedge(page, bin.code);
      await twice(page, page.getByRole('button', { name: 'Begin' }));
      await page.getByRole('heading', { name: `Count ${bin.code}` }).waitFor();
      for (let n = 0; n < 4; n++) await wedge(page, item.sku);
      await twice(page, page.getByRole('button', { name: 'That is all: 1 line' }));
      await page.getByRole('heading', { name: 'The count is booked' }).waitFor();
      once(keys);
      assert.deepEqual([...keys.keys()].map((k) => k.split('/').pop()).sort(), [
        'enter_count',
        'put_away',
        'receive',
        'start_count',
      ]);
    },
    phone,
  );
  const levels = await api(manager, `/v1/stock_levels?select=quantity&zone_id=eq.${bin.id}&item_id=eq.${item.id}`);
  assert.deepEqual(
    levels.map((l) => Number(l.quantity)),
    [4],
  );
  const moved = await api(
    manager,
    `/v1/stock_movements?select=quantity,type&item_id=eq.${item.id}&order=id.desc&limit=2`,
  );
  assert.deepEqual(
    moved.map((m) => Number(m.quantity)),
    [4, 4],
    'received once, put away once',
  );
});

test('what is picked while answers are lost is taken once, also after a reload', async () => {
  const items = await stocked(2);
  const [order] = await api(manager, '/v1/orders', {
    method: 'POST',
    body: { type: 'outbound', party_name: 'Picked without answers', priority: 1 },
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
  const [worker] = await api(manager, `/v1/workers?select=id&user_id=eq.${(await session(operator)).user.id}`);
  await api(manager, `/v1/pick_lists?id=eq.${list.id}`, { method: 'PATCH', body: { assigned_worker_id: worker.id } });
  const zones = await api(manager, `/v1/zones?select=id,code&id=in.(${lines.map((l) => l.zone_id).join()})`);
  const [first, second] = [...lines].sort((a, b) => a.seq - b.seq);
  const before = Number(
    (
      await api(
        manager,
        `/v1/stock_levels?select=quantity.sum()&zone_id=eq.${first.zone_id}&item_id=eq.${first.item_id}`,
      )
    )[0].sum,
  );
  await as(
    operator,
    async (page) => {
      const keys = await lossy(page);
      await open(page, `/console/floor/pick/${list.id}`);
      await twice(page, page.getByRole('button', { name: 'Start picking' }));
      await page.getByText('Go to the place', { exact: true }).waitFor();
      await wedge(page, zones.find((z) => z.id === first.zone_id).code);
      await wedge(page, items.find((i) => i.id === first.item_id).sku);
      await twice(page, page.getByRole('button', { name: 'Take it' }));
      await page.getByText('1 of 2 lines done').waitFor();
      await page.getByRole('button', { name: 'Not enough here' }).click();
      const short = page.getByRole('dialog', { name: 'Not enough here' });
      await short.getByLabel('Why?').selectOption('damaged');
      await twice(page, short.getByRole('button', { name: 'Say so' }));
      await short.waitFor({ state: 'detached' });
      once(keys);
    },
    phone,
  );
  const after = await api(manager, `/v1/pick_lines?select=id,status,qty_picked&pick_list_id=eq.${list.id}`);
  const told = (l) => after.find((x) => x.id === l.id);
  assert.deepEqual([told(first).status, Number(told(first).qty_picked), told(second).status], ['picked', 3, 'short']);
  const [left] = await api(
    manager,
    `/v1/stock_levels?select=quantity.sum()&zone_id=eq.${first.zone_id}&item_id=eq.${first.item_id}`,
  );
  assert.equal(Number(left.sum), before - 3);
});

test('goods that are moved and adjusted while answers are lost are booked once', async () => {
  const mark = `GOODS-${Date.now()}`;
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: mark, name: 'Moved without answers' },
  });
  const [from, to] = [await newBin(`${mark}-A`), await newBin(`${mark}-B`)];
  await api(manager, '/v1/stock_movements', {
    method: 'POST',
    body: { type: 'receipt', item_id: item.id, to_zone_id: from.id, quantity: 10 },
  });
  await as(
    operator,
    async (page) => {
      const keys = await lossy(page);
      await open(page, `/console/c/items/${item.id}`);
      await page.getByRole('button', { name: 'Move goods' }).click();
      const form = page.getByRole('dialog');
      await form.getByLabel('How much? *').fill('3');
      await form.getByLabel('Into which place? *').fill(to.code);
      await page.locator(`datalist option[value^="${to.code}"]`).first().waitFor({ state: 'attached' });
      await twice(page, form.getByRole('button', { name: 'Move goods' }));
      await form.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Adjust the stock' }).click();
      await form.getByLabel('Which goods?').selectOption({ index: 0 });
      await form.getByLabel('By how much? *').fill('1');
      await twice(page, form.getByRole('button', { name: 'Adjust the stock' }));
      await form.waitFor({ state: 'detached' });
      once(keys);
      assert.deepEqual([...keys.keys()].map((k) => k.split('/').pop()).sort(), ['adjust_stock', 'move_stock']);
    },
    phone,
  );
  const moved = await api(manager, `/v1/stock_movements?select=type,quantity&item_id=eq.${item.id}&order=id`);
  assert.deepEqual(
    moved.map((m) => `${m.type} ${Number(m.quantity)}`),
    ['receipt 10', 'transfer 3', 'adjust_loss 1'],
  );
});

test('a record, a webhook and a file are made once while answers are lost, and a shipment leaves once', async () => {
  const mark = `LOST-${Date.now()}`;
  const [ready] = await leaving('L');
  await as(admin, async (page) => {
    const keys = await lossy(page);
    await open(page, '/console/c/orders/new');
    await page.getByLabel('Party name').fill(mark);
    await twice(page, page.getByRole('button', { name: 'Create', exact: true }));
    await page.getByRole('button', { name: 'Edit' }).waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('dialog').getByLabel('Party name').fill(`${mark} changed`);
    await twice(page, page.getByRole('dialog').getByRole('button', { name: 'Save' }));
    await page.getByText(`${mark} changed`).first().waitFor();
    await open(page, '/console/imports/new?target=items');
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'lost.csv', mimeType: 'text/csv', buffer: Buffer.from(`sku,name\n${mark},Once\n`) });
    await page.getByText(unknown).first().waitFor();
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'lost.csv', mimeType: 'text/csv', buffer: Buffer.from(`sku,name\n${mark},Once\n`) });
    await page.waitForURL(/imports\/[0-9a-f-]{36}/);
    await page.getByRole('button', { name: 'Apply 1 row' }).click();
    await page.getByRole('button', { name: 'Roll back' }).click();
    const back = page.getByRole('dialog');
    await twice(page, back.getByRole('button', { name: 'Roll back' }));
    await back.waitFor({ state: 'detached' });
    await open(page, '/console/admin/webhooks');
    await page.getByRole('button', { name: 'New webhook' }).first().click();
    const hook = page.getByRole('dialog', { name: 'New webhook' });
    await hook.getByLabel('Address').fill(`https://93.184.216.34/${mark}`);
    await hook.getByLabel(/^Every event/).uncheck();
    await hook.getByLabel(/^order\.completed/).check();
    await hook.getByLabel(/^incident\.reported/).check();
    await twice(page, hook.getByRole('button', { name: 'Create', exact: true }));
    await hook.waitFor({ state: 'detached' });
    await open(page, '/console/shipments');
    await settled(page);
    const card = page.getByRole('listitem').filter({ hasText: ready.shipment_no });
    await card.getByRole('button', { name: 'Dispatch' }).click();
    await page.getByText(unknown).first().waitFor();
    await card.getByRole('button', { name: 'Dispatch' }).click();
    await page.getByText(`${ready.shipment_no} is on its way`).waitFor();
    assert.ok(keys.size >= 5);
  });
  assert.equal(
    (await api(admin, `/v1/orders?select=id&party_name=eq.${encodeURIComponent(`${mark} changed`)}`)).length,
    1,
  );
  const [imported, ...others] = await api(
    admin,
    '/v1/import_jobs?select=status,imported_count,rolled_back_count&file_name=eq.lost.csv',
  );
  assert.deepEqual([imported, others], [{ status: 'rolled_back', imported_count: 1, rolled_back_count: 1 }, []]);
  assert.equal((await api(admin, `/v1/items?select=id&sku=eq.${mark}`)).length, 0);
  assert.equal(
    (await api(admin, `/v1/webhooks?select=id&url=eq.${encodeURIComponent(`https://93.184.216.34/${mark}`)}`)).length,
    1,
  );
});

test('what was changed after a lost answer is done only if the first was not, and the person is told', async () => {
  const mark = `CHANGED-${Date.now()}`;
  await as(manager, async (page) => {
    for (const arrives of [true, false]) {
      await open(page, '/console/c/orders/new');
      await page.route(
        '**/rest/v1/orders?**',
        async (route) => {
          if (arrives) await route.fetch();
          await route.abort();
        },
        { times: 1 },
      );
      await page.getByLabel('Party name').fill(`${mark} first`);
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByText(unknown).waitFor();
      // A reload forgets nothing of it.
      await page.reload();
      await page.getByLabel('Party name').fill(`${mark} second`);
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      const said = page.getByText('What you sent before was done after all.');
      if (arrives) await said.waitFor();
      else await page.getByRole('button', { name: 'Edit' }).waitFor();
      const made = await api(manager, `/v1/orders?select=party_name&party_name=like.${mark}*&order=id`);
      assert.deepEqual(
        made.map((o) => o.party_name),
        arrives ? [`${mark} first`] : [`${mark} first`, `${mark} second`],
      );
    }
  });
});

test('a request that still runs is asked about until it is done', async () => {
  const mark = `RUNS-${Date.now()}`;
  await as(manager, async (page) => {
    let asked = 0;
    await page.route('**/rest/v1/orders?**', (route) =>
      route.request().method() !== 'POST' || asked++
        ? route.continue()
        : route.fulfill({
            status: 409,
            headers: { 'Retry-After': '1' },
            json: { code: 'HF015', message: 'the request with this Idempotency-Key is still running' },
          }),
    );
    await open(page, '/console/c/orders/new');
    await page.getByLabel('Party name').fill(mark);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('button', { name: 'Edit' }).waitFor();
    assert.equal(asked, 2);
  });
});
