// What people do has a button where they look for it, for every role that may do it.
import assert from 'node:assert/strict';
import { api, as, narrow, newBin, open, settled, stocked, test } from './page.mjs';
import { leaving, ready } from './shipments.mjs';

const manager = 'manager@north.example';
const admin = 'admin@north.example';
const picker = 'operator@north.example';
const mark = `VERB-${Date.now()}`;
const say = (who, verb, body) => api(who, `/v1/rpc/${verb}`, { method: 'POST', body });
const make = async (who, collection, body) => [await api(who, `/v1/${collection}`, { method: 'POST', body })].flat()[0];

// order makes an order of two pieces and leads it as far as a stage.
async function order(stage, type = 'outbound') {
  const [item] = await stocked(1);
  const o = await make(manager, 'orders', { type, party_name: `${mark} ${stage}` });
  await make(manager, 'order_lines', { order_id: o.id, line_no: 10, item_id: item.id, qty_ordered: 2 });
  if (stage === 'draft') return o;
  await say(manager, 'confirm_order', { order_id: o.id });
  if (stage === 'allocated') return o;
  const {
    pick_lists: [list],
    lines,
  } = await say(manager, 'release_picks', { order_ids: [o.id] });
  if (stage === 'released') return { ...o, list };
  await say(picker, 'claim_pick_list', { pick_list_id: list.id });
  for (const l of lines) await say(picker, 'pick_line', { pick_line_id: l.id, quantity: l.qty });
  if (stage === 'picked') return { ...o, list, line: lines[0] };
  const [line] = await api(manager, `/v1/order_lines?select=id&order_id=eq.${o.id}`);
  const { package: box } = await say(manager, 'pack', {
    order_id: o.id,
    lines: [{ order_line_id: line.id, quantity: 1 }],
  });
  return { ...o, box };
}

test('a transfer has the buttons of an outbound order until it leaves, then that of receiving', async () => {
  const sites = [];
  for (const at of ['A', 'B']) sites.push(await make(admin, 'sites', { code: `${mark}-${at}`, name: at }));
  const item = await make(manager, 'items', { sku: `${mark}-MOVES`, name: 'Moves' });
  const zone = (code, kind, site) =>
    make(manager, 'zones', { code: `${mark}-${code}`, name: code, kind, site_id: site.id });
  const [bin, lane] = [await zone('TO-BIN', 'bin', sites[0]), await zone('TO-LANE', 'staging', sites[0])];
  await make(manager, 'stock_movements', { type: 'receipt', item_id: item.id, to_zone_id: bin.id, quantity: 2 });
  const o = await make(manager, 'orders', {
    type: 'transfer',
    site_id: sites[0].id,
    to_site_id: sites[1].id,
    party_name: mark,
  });
  const line = await make(manager, 'order_lines', { order_id: o.id, line_no: 10, item_id: item.id, qty_ordered: 2 });
  const shows = async (...names) => {
    await as(manager, async (page) => {
      await open(page, `/console/c/orders/${o.id}`);
      for (const name of names)
        await page
          .getByRole('button', { name, exact: true })
          .or(page.getByRole('link', { name, exact: true }))
          .first()
          .waitFor();
      const receives = await page.getByRole('link', { name: 'Receive', exact: true }).count();
      assert.equal(receives > 0, names.includes('Receive'), `${names} and a way to receive`);
    });
  };
  await say(manager, 'confirm_order', { order_id: o.id });
  await shows('Release to pick', 'Make a shipment', 'Give stock back');
  const {
    lines: [pick],
  } = await say(manager, 'release_picks', { order_ids: [o.id] });
  await say(manager, 'pick_line', { pick_line_id: pick.id, quantity: 2, to_zone_id: lane.id });
  await shows('Pack', 'Make a shipment');
  const { shipment } = await say(manager, 'create_shipment', {
    carrier: 'PARCEL',
    lines: [{ order_line_id: line.id, quantity: 2 }],
  });
  const { package: box } = await say(manager, 'pack', {
    shipment_id: shipment.id,
    lines: [{ order_line_id: line.id, quantity: 2 }],
  });
  await say(manager, 'close_package', { package_id: box.id });
  await say(manager, 'dispatch', { shipment_id: shipment.id });
  await shows('Receive', 'Close the rest');
});

test('a picked order is packed, shipped and delivered by its buttons', async () => {
  const o = await order('picked');
  const notice = (page, text) =>
    page.getByRole('status').filter({ hasText: text }).or(page.getByText(text)).first().waitFor();
  let shipment;
  await as(manager, async (page) => {
    await open(page, `/console/c/orders/${o.id}`);
    await page.getByRole('button', { name: 'Make a shipment' }).click();
    await page.getByRole('dialog').getByLabel('Carrier').fill('ALPENFRACHT');
    await page.locator('datalist option[value^="ALPENFRACHT"]').first().waitFor({ state: 'attached' });
    await page.getByRole('dialog').getByRole('button', { name: 'Make a shipment' }).click();
    await notice(page, /was made/);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const [line] = await api(manager, `/v1/shipment_lines?select=shipment_id&order_id=eq.${o.id}&limit=1`);
    shipment = { id: line.shipment_id };
    await open(page, `/console/c/shipments/${shipment.id}`);
    await page.getByRole('button', { name: 'Dispatch', exact: true }).click();
    const refused = page.getByRole('dialog');
    await refused.getByRole('button', { name: 'Dispatch', exact: true }).click();
    await refused
      .getByText(/may not leave/)
      .first()
      .waitFor();
    await refused.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Pack', exact: true }).click();
    const pack = page.getByRole('dialog');
    await pack.getByText('2 picked and not packed').waitFor();
    await pack.getByLabel('Weight').fill('2.5');
    await pack.getByRole('button', { name: 'Pack and close' }).click();
    await pack.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Dispatch', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Dispatch', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Delivered', exact: true }).click();
    await page.getByRole('dialog').getByLabel('Who took it? *').fill('R. Receiver');
    await page.getByRole('dialog').getByRole('button', { name: 'Say so' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
  const [after] = await api(manager, `/v1/shipments?select=status&id=eq.${shipment.id}`);
  assert.equal(after.status, 'delivered');
  const [box] = await api(manager, `/v1/packages?select=status,sscc,weight_kg&shipment_id=eq.${shipment.id}`);
  assert.deepEqual([box.status, Number(box.weight_kg), box.sscc.length], ['closed', 2.5, 18]);
});

test('goods are moved and adjusted from the page of the item, on a phone', async () => {
  const item = await make(manager, 'items', { sku: `${mark}-GOODS`, name: 'Is moved' });
  const [from, to] = [await newBin(`${mark}-A`), await newBin(`${mark}-B`)];
  await make(manager, 'stock_movements', { type: 'receipt', item_id: item.id, to_zone_id: from.id, quantity: 10 });
  await as(
    'operator@north.example',
    async (page) => {
      await open(page, `/console/c/items/${item.id}`);
      await page.getByRole('button', { name: 'Move goods' }).click();
      const form = page.getByRole('dialog');
      await form.getByLabel('How much? *').fill('4');
      await form.getByLabel('Into which place? *').fill(to.code);
      await page.locator(`datalist option[value^="${to.code}"]`).first().waitFor({ state: 'attached' });
      await form.getByRole('button', { name: 'Move goods' }).click();
      await form.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Adjust the stock' }).click();
      await form.getByLabel('Which goods?').selectOption({ index: 0 });
      await form.getByLabel('By how much? *').fill('1');
      await form.getByRole('button', { name: 'Adjust the stock' }).click();
      await form.waitFor({ state: 'detached' });
    },
    { viewport: narrow, hasTouch: true },
  );
  const levels = await api(manager, `/v1/stock_levels?select=zone_id,quantity&item_id=eq.${item.id}`);
  assert.equal(
    levels.reduce((sum, l) => sum + Number(l.quantity), 0),
    9,
  );
  assert.ok(levels.some((l) => l.zone_id === to.id));
});

test('a package is emptied by its button', async () => {
  const { box } = await order('packed');
  await as(manager, async (page) => {
    await open(page, record('packages', box.id));
    await page.getByRole('button', { name: 'Unpack', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Unpack' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
  const [after] = await api(manager, `/v1/packages?select=status&id=eq.${box.id}`);
  assert.equal(after.status, 'emptied');
});

// The button or the link of each verb: the page that it is on, and what it is called. A role's own record comes first.
const button = (name) => (page) => page.getByRole('button', { name, exact: true });
const link = (name) => (page) => page.getByRole('link', { name, exact: true });
const record = (collection, id) => `/console/c/${collection}/${id}`;

async function places() {
  const [item] = await stocked(1);
  const [draft, allocated, picked, packed] = [
    await order('draft'),
    await order('allocated'),
    await order('picked'),
    await order('packed'),
  ];
  const bare = await make(manager, 'items', { sku: `${mark}-NONE`, name: 'Is nowhere' });
  const lacking = await make(manager, 'orders', { type: 'outbound', party_name: mark });
  await make(manager, 'order_lines', { order_id: lacking.id, line_no: 10, item_id: bare.id, qty_ordered: 2 });
  await say(manager, 'confirm_order', { order_id: lacking.id });
  const held = await order('allocated');
  await say(manager, 'hold_order', { order_id: held.id, reason: 'A test' });
  const inbound = await order('allocated', 'inbound');
  const back = await order('allocated', 'return');
  const [waits, left] = await leaving(mark);
  const [lot] = await api(manager, '/v1/lots?select=id&status=eq.released&limit=1');
  const bin = await newBin(mark);
  const { count_task: count } = await say(manager, 'start_count', { zone_id: bin.id });
  await say(manager, 'receive', {
    order_id: inbound.id,
    zone_id: (await api(manager, '/v1/zones?select=id&code=eq.DOCK-1'))[0].id,
    lines: [{ item_id: item.id, quantity: 1, discrepancy: 'unannounced' }],
  });
  const [put] = await api(manager, '/v1/putaway_tasks?select=id&status=eq.open&order=id.desc&limit=1');
  // Nothing decides itself: what is adjusted or counted waits.
  for (const key of ['adjust_limit_value', 'count_auto_approve']) {
    await api(admin, `/v1/settings?key=eq.${key}`, { method: 'DELETE' });
    await make(admin, 'settings', { section: 'stock', key, value: 0 });
  }
  const dear = await make(manager, 'items', { sku: `${mark}-DEAR`, name: 'Is worth something', unit_cost: 100 });
  const { approval } = await say(manager, 'adjust_stock', {
    item_id: dear.id,
    zone_id: bin.id,
    quantity: 3,
    reason_code: 'found',
  });
  const other = await newBin(`${mark}-C`);
  const { count_task: differs } = await say(manager, 'start_count', { zone_id: other.id });
  await say(manager, 'enter_count', { count_task_id: differs.id, lines: [{ item_id: dear.id, counted: 5 }] });
  for (const key of ['adjust_limit_value', 'count_auto_approve'])
    await api(admin, `/v1/settings?key=eq.${key}`, { method: 'DELETE' });
  const client = await make(admin, 'goods_owners', { code: mark, name: 'A client' });
  const onPlate = { type: 'receipt', item_id: dear.id, to_zone_id: bin.id, quantity: 2, lpn: `${mark}-P` };
  await make(manager, 'stock_movements', onPlate);
  const [plate] = await api(manager, `/v1/stock_levels?select=id&lpn=eq.${mark}-P`);
  const order_ = (o) => record('orders', o.id);
  return {
    confirm_order: [order_(draft), button('Confirm')],
    allocate_order: [order_(lacking), button('Promise stock')],
    allocate_open: ['/console/plan?part=waves', button('Promise what is free')],
    move_plate: [record('stock_levels', plate.id), button('Move the plate')],
    deallocate_order: [order_(allocated), button('Give stock back')],
    hold_order: [order_(allocated), button('Put on hold')],
    resume_order: [order_(held), button('Let it go on')],
    cancel_order: [order_(allocated), button('Cancel')],
    close_order: [order_(inbound), button('Close the rest')],
    release_picks: [order_(allocated), button('Release to pick')],
    create_shipment: [order_(allocated), button('Make a shipment')],
    pack: [order_(picked), button('Pack')],
    close_package: [record('packages', packed.box.id), button('Close the package')],
    unpack: [record('packages', packed.box.id), button('Unpack')],
    plan_wave: ['/console/plan?part=waves', button('Plan a wave')],
    unpick: [record('pick_lines', picked.line.id), button('Put back')],
    dispatch: [record('shipments', waits.id), button('Dispatch')],
    return_shipment: [record('shipments', left.id), button('Take back')],
    deliver: [record('shipments', left.id), button('Delivered')],
    report_exception: [record('shipments', left.id), button('Problem')],
    plan_route: ['/console/shipments', button('Plan a route')],
    receive: [order_(inbound), link('Receive')],
    put_away: [record('putaway_tasks', put.id), link('Put away')],
    suggest_putaway: [record('putaway_tasks', put.id), link('Put away')],
    move_stock: [record('items', item.id), button('Move goods')],
    adjust_stock: [record('zones', bin.id), button('Adjust the stock')],
    plan_replenishment: ['/console/plan?part=replenish', button('Look what is due')],
    start_count: [record('zones', bin.id), link('Count this place')],
    enter_count: [record('count_tasks', count.id), link('Count')],
    approve_count: [record('count_tasks', differs.id), button('Approve')],
    recount: [record('count_tasks', differs.id), button('Count again')],
    approve_adjustment: [record('stock_adjustments', approval.id), button('Approve')],
    reject_adjustment: [record('stock_adjustments', approval.id), button('Reject')],
    recall_lot: [record('lots', lot.id), button('Recall')],
    receive_return: [order_(back), link('Take in')],
    owner_activity: [record('goods_owners', client.id), button('What was done')],
    owner_stock: [record('goods_owners', client.id), button('What lies here')],
    publish_register: ['/console/register', button('Publish')],
    next_task: ['/console/floor', button('Next task')],
    scan: ['/console/', (page) => page.getByRole('button', { name: /Search or scan/ })],
  };
}

// What is pressed where only some records or devices have it has its own tests: those of routes and of the floor.
const elsewhere = ['start_route', 'finish_route', 'replenish', 'pick_line', 'short_pick', 'claim_pick_list'];

// Rows of their own: a driver sees what the driver drives.
const own = { driver: ['deliver', 'report_exception', 'return_shipment'] };

test('every verb has its button for each role that may say it', async () => {
  const at = await places();
  const missing = [];
  for (const role of ['manager', 'operator', 'safety', 'driver', 'viewer']) {
    const who = `${role}@north.example`;
    const { verbs } = await api(who, '/v1/permissions');
    const may = Object.keys(verbs).filter((v) => verbs[v] && !elsewhere.includes(v));
    if (role === 'driver') {
      const [mine] = await ready(`${mark}-D`, 1, {
        carrier: 'DPD',
        driver_id: (await api(who, '/v1/drivers?select=id&limit=1'))[0].id,
      });
      await say(manager, 'dispatch', { shipment_id: mine.id });
      for (const v of own.driver) at[v] = [record('shipments', mine.id), at[v][1]];
    }
    assert.deepEqual(
      may.filter((v) => !at[v]),
      [],
      `${role}: verbs that the test does not know`,
    );
    await as(who, async (page) => {
      for (const path of new Set(may.map((v) => at[v][0]))) {
        await open(page, path);
        await settled(page);
        for (const v of may.filter((x) => at[x][0] === path))
          if (!(await at[v][1](page).first().isVisible())) missing.push(`${role}: ${v} on ${path}`);
      }
    });
  }
  assert.deepEqual(missing, []);
});

test('where a verb leads a record no bare state does', async () => {
  const [planned] = await ready(`${mark}-S`, 1, { carrier: 'DPD' });
  const { list } = await order('released');
  await as(manager, async (page) => {
    for (const [path, names] of [
      [record('shipments', planned.id), ['Mark as packed', 'Mark as ready', 'Mark as delivered']],
      [record('pick_lists', list.id), ['Start', 'Complete']],
    ]) {
      await open(page, path);
      await settled(page);
      for (const name of names) assert.equal(await page.getByRole('button', { name, exact: true }).count(), 0, name);
      await page.getByRole('button', { name: 'Cancel', exact: true }).waitFor();
    }
  });
});

test('a recalled lot says who was sent it, and with what words they are told', async () => {
  const item = await make(manager, 'items', { sku: `${mark}-LOT`, name: 'Is recalled', tracking: 'lot' });
  const lot = await make(manager, 'lots', { item_id: item.id, lot_no: `${mark}-L` });
  const bin = await newBin(`${mark}-R`);
  await make(manager, 'stock_movements', {
    type: 'receipt',
    item_id: item.id,
    lot_id: lot.id,
    to_zone_id: bin.id,
    quantity: 6,
  });
  await as('safety@north.example', async (page) => {
    await open(page, record('lots', lot.id));
    await page.getByRole('button', { name: 'Recall', exact: true }).click();
    await page.getByRole('dialog').getByLabel('Why? *').fill('Wrong glue');
    await page.getByRole('dialog').getByRole('button', { name: 'Recall', exact: true }).click();
    const told = page.getByRole('dialog', { name: /is recalled/ });
    await told.getByRole('link', { name: bin.code }).waitFor();
    await told.getByText('Nobody was sent it.').waitFor();
    await told.getByRole('button', { name: 'Close' }).last().click();
    await page.getByText('Recalled', { exact: true }).first().waitFor();
  });
});
