// A planner's morning: a wave, goods brought forward, and what came back.
import assert from 'node:assert/strict';
import { api, as, newBin, newReserve, open, picture, settled, stocked, test, violations } from './page.mjs';

const manager = 'manager@north.example';
const rpc = (verb, body) => api(manager, `/v1/rpc/${verb}`, { method: 'POST', body });

// ordered is an order over some of an item, confirmed.
async function ordered(type, item, quantity) {
  const [order] = await api(manager, '/v1/orders', {
    method: 'POST',
    body: { type, party_name: 'Planned in the morning', promised_at: new Date(Date.now() - 3_600_000).toISOString() },
  });
  await api(manager, '/v1/order_lines', {
    method: 'POST',
    body: { order_id: order.id, line_no: 10, item_id: item.id, qty_ordered: quantity },
  });
  await rpc('confirm_order', { order_id: order.id });
  return order;
}

test('orders become a wave and the wave pick lists, with the keyboard alone', async () => {
  const order = await ordered('outbound', (await stocked())[0], 2);
  await as(manager, async (page) => {
    await open(page, '/console/');
    await settled(page);
    await page.keyboard.press('g');
    await page.keyboard.press('l');
    await page.getByRole('heading', { name: 'Planning' }).waitFor();
    await settled(page);
    await page.getByLabel(`Choose ${order.order_no}`).focus();
    await page.keyboard.press('Space');
    await page.getByRole('button', { name: 'Plan a wave of 1 order' }).press('Enter');
    await page.getByLabel(`Choose ${order.order_no}`).waitFor({ state: 'detached' });
    const [wave] = await api(manager, `/v1/waves?select=wave_no,status&order=id.desc&limit=1`);
    assert.equal(wave.status, 'planned');
    assert.deepEqual(await violations(page, 'waves'), []);
    await picture(page, 'plan');
    await page.getByRole('button', { name: `Release ${wave.wave_no}` }).press('Enter');
    await page.getByRole('list', { name: 'Released' }).getByRole('link', { name: wave.wave_no }).press('Enter');
    await page.getByText('of 1 record').waitFor();
    await page.goBack();
    await settled(page);
    assert.equal(
      await page.getByLabel(`Choose ${order.order_no}`).count(),
      0,
      'an order that is being fetched waits no more',
    );
    const lists = await api(
      manager,
      `/v1/pick_lists?select=status,pick_lines(order_line:order_line_id(order_id))&wave_no=eq.${wave.wave_no}`,
    );
    assert.deepEqual(
      [lists.length, lists[0].status, lists[0].pick_lines[0].order_line.order_id],
      [1, 'released', order.id],
    );
  });
});

test('what a pick face lacks is found by its rule, brought, and booked', async () => {
  const item = await newReserve('FACE');
  const face = await newBin('FACE');
  await api(manager, '/v1/replenish_rules', {
    method: 'POST',
    body: { item_id: item.id, pick_zone_id: face.id, min_qty: 5, max_qty: 8 },
  });
  await as(manager, async (page) => {
    await open(page, '/console/plan?part=replenish');
    await settled(page);
    await page.getByRole('button', { name: 'Look what is due' }).click();
    const line = page
      .getByRole('list', { name: 'Tasks' })
      .getByRole('listitem')
      .filter({ hasText: `to ${face.code}` });
    await line.first().waitFor();
    assert.deepEqual(await violations(page, 'replenishment'), []);
    for (let left = await line.count(); left; left--) {
      await line
        .first()
        .getByRole('button', { name: /^Brought: / })
        .click();
      const ask = page.getByRole('dialog');
      await ask.getByRole('button', { name: 'Say so' }).click();
      await ask.waitFor({ state: 'detached' });
      await page.waitForFunction(
        ([code, n]) =>
          [...document.querySelectorAll('ul[aria-label=Tasks] li')].filter((l) => l.textContent.includes(`to ${code}`))
            .length === n,
        [face.code, left - 1],
      );
    }
  });
  const levels = await api(
    manager,
    `/v1/stock_levels?select=quantity.sum()&zone_id=eq.${face.id}&item_id=eq.${item.id}`,
  );
  assert.equal(Number(levels[0].sum), 8);
});

test('what a customer sent back is judged and put in a place, and refused without one', async () => {
  const place = await newBin('BACK');
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `BACK-${Date.now()}`, name: 'Comes back' },
  });
  for (const moved of [
    { type: 'receipt', to_zone_id: place.id },
    { type: 'ship', from_zone_id: place.id },
  ])
    await api(manager, '/v1/stock_movements', { method: 'POST', body: { ...moved, item_id: item.id, quantity: 3 } });
  const order = await ordered('return', item, 3);
  await as(manager, async (page) => {
    await open(page, '/console/plan?part=returns');
    await settled(page);
    await page.getByRole('button', { name: `Take ${order.order_no} in` }).click();
    const ask = page.getByRole('dialog', { name: `${order.order_no}: what came back` });
    await ask.getByLabel('What becomes of it?').selectOption('restock');
    await ask.getByLabel('Into which place? *').fill('no such place');
    await ask.getByRole('button', { name: 'Take in' }).click();
    await ask
      .getByRole('alert')
      .getByText(/zone_id|where the goods are put/)
      .first()
      .waitFor();
    await ask.getByLabel('Into which place? *').fill(place.code.toLowerCase());
    assert.deepEqual(await violations(page, 'return'), []);
    await ask.getByRole('button', { name: 'Take in' }).click();
    await ask.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: `Take ${order.order_no} in` }).waitFor({ state: 'detached' });
  });
  const [level] = await api(
    manager,
    `/v1/stock_levels?select=quantity,stock_status&zone_id=eq.${place.id}&item_id=eq.${item.id}`,
  );
  assert.deepEqual([Number(level.quantity), level.stock_status], [3, 'available']);
  const [after] = await api(manager, `/v1/orders?select=status&id=eq.${order.id}`);
  assert.equal(after.status, 'completed');
});
