// The page of a record begins with what it is opened for, in few requests and without a cut column; what the reader
// may not see is not in its figures, and the page says so.
import assert from 'node:assert/strict';
import { api, as, narrow, open, settled, test, wide } from './page.mjs';
import { misfits } from './layout.mjs';

const manager = 'manager@north.example';
const admin = 'admin@north.example';
const operator = 'operator@north.example';
const officer = 'safety@north.example';

const one = async (path, who = manager) => {
  const [row] = await api(who, `/v1/${path}&limit=1`);
  assert.ok(row?.id, path);
  return row.id;
};

// waiting is a count with a difference that a second person has to look at.
async function waiting() {
  const limit = async (value) => {
    await api(admin, '/v1/settings?key=eq.count_auto_approve', { method: 'DELETE' });
    if (value !== undefined)
      await api(admin, '/v1/settings', {
        method: 'POST',
        body: { section: 'stock', key: 'count_auto_approve', value },
      });
  };
  const mark = `PUR-${Date.now()}`;
  const [zone] = await api(manager, '/v1/zones', {
    method: 'POST',
    body: { code: mark, name: 'Bin of a test', kind: 'bin', x: 2, y: 2, z: 0 },
  });
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: mark, name: 'Is worth something', unit_cost: 100 },
  });
  const { count_task: task } = await api(manager, '/v1/rpc/start_count', {
    method: 'POST',
    body: { zone_id: zone.id },
  });
  await limit(0);
  try {
    await api(manager, '/v1/rpc/enter_count', {
      method: 'POST',
      body: { count_task_id: task.id, lines: [{ item_id: item.id, counted: 5 }] },
    });
  } finally {
    await limit();
  }
  return task.id;
}

// kinds are by collection the record that is opened and what stands on its page before its details.
async function kinds() {
  return {
    orders: [await one('orders?select=id&type=eq.outbound&status=eq.in_progress'), ['How far it is', 'Lines']],
    shipments: [await one('shipment_lines?select=id:shipment_id'), ['Lines', 'Packages']],
    pick_lists: [await one('pick_lines?select=id:pick_list_id'), ['Lines in walking order']],
    items: [
      await one('stock_movements?select=id:item_id&type=eq.ship'),
      ['Stock', 'How it moves', 'On its way', 'Last movements'],
    ],
    lots: [await one('stock_levels?select=id:lot_id&lot_id=not.is.null'), ['Where it lies', 'Who was sent it']],
    zones: [await one('stock_levels?select=id:zone_id&quantity=gt.0'), ['What lies here']],
    workers: [await one('training_assignments?select=id:worker_id&worker_id=not.is.null'), ['Certificates']],
    equipment: [await one('equipment?select=id'), ['Inspections', 'Open incidents', 'Open actions']],
    vehicles: [
      await one('shipments?select=id:vehicle_id&vehicle_id=not.is.null'),
      ['Next routes', 'Load', 'Inspections'],
    ],
    count_tasks: [await waiting(), ['Lines']],
  };
}

test('the page of a record begins with what it is opened for, in at most eight requests, at 1280, 1440 and 390 pixels', async () => {
  const wrong = [];
  const all = await kinds();
  await as(manager, async (page) => {
    // What every page asks for is asked for before.
    await open(page, '/console/c/sites');
    await settled(page);
    for (const [name, [id, wanted]] of Object.entries(all)) {
      const asked = [];
      const note = (r) =>
        /\/(v1|rest\/v1|functions\/v1)\//.test(r.url()) &&
        !/\/(events|permissions|members)\b/.test(r.url()) &&
        !r.url().includes('/auth/') &&
        asked.push(new URL(r.url()).pathname);
      page.on('request', note);
      await page.setViewportSize(wide);
      await open(page, `/console/c/${name}/${id}`);
      await page.getByRole('heading', { name: 'Details', exact: true }).waitFor();
      for (const heading of wanted) await page.getByRole('heading', { name: heading, exact: true }).first().waitFor();
      await settled(page);
      page.off('request', note);
      if (asked.length > 8) wrong.push(`${name}: ${asked.join()}`);
      const headings = await page.locator('main h2').allInnerTexts();
      const places = [...wanted, 'Details'].map((h) => headings.indexOf(h));
      if (places.some((n, i) => i && n < places[i - 1])) wrong.push(`${name}: ${headings}`);
      for (const size of [wide, { width: 1280, height: 800 }, narrow]) {
        await page.setViewportSize(size);
        await settled(page);
        for (const what of await page.evaluate(misfits, [])) wrong.push(`${name} at ${size.width}: ${what}`);
      }
    }
  });
  assert.deepEqual(wrong, []);
});

test('a count that waits for a second person says so on its page', async () => {
  const id = await waiting();
  await as(manager, async (page) => {
    await open(page, `/console/c/count_tasks/${id}`);
    await page.getByText('This count waits for a second person: nothing is booked yet.').waitFor();
    await page
      .getByRole('cell', { name: '€500.00' })
      .or(page.locator('.figures', { hasText: '€500.00' }))
      .first()
      .waitFor();
  });
  // Who counts is shown neither what was expected nor what that is worth.
  await as(operator, async (page) => {
    await open(page, `/console/c/count_tasks/${id}`);
    await page.getByText('This count waits for a second person: nothing is booked yet.').waitFor();
    await page.getByRole('columnheader', { name: 'Counted' }).waitFor();
    const text = await page.locator('main').innerText();
    assert.doesNotMatch(text, /Expected|Variance|€500/);
  });
});

test('the page of a machine shows what is open about it: reports that name it, and actions of these and of its failed inspections', async () => {
  const mark = `MACHINE-${Date.now()}`;
  const make = async (path, body) => (await api(officer, `/v1/${path}`, { method: 'POST', body }))[0];
  const [truck] = await api(admin, '/v1/equipment', {
    method: 'POST',
    body: { asset_no: mark, name: 'Truck of a test', kind: 'forklift' },
  });
  const occurred_at = new Date(Date.now() - 36e5).toISOString();
  const report = (title, entities) =>
    make('incidents', { kind: 'near_miss', severity: 'low', title, occurred_at, entities });
  const named = await report(`${mark} was too fast`, [
    { entity_type: 'equipment', entity_id: truck.id, role: 'involved' },
  ]);
  await report(`${mark} of another`, []);
  await make('actions', { title: `${mark} slower`, incident_id: named.id, source: 'incident' });
  const items = [{ key: 'horn', prompt: 'Does the horn work?', type: 'yes_no_na', required: true, on_fail: 'action' }];
  const template = await make('checklist_templates', {
    code: mark,
    title: `${mark} check`,
    sections: [{ title: 'Truck', items }],
  });
  await api(officer, `/v1/checklist_templates?id=eq.${template.id}`, {
    method: 'PATCH',
    body: { status: 'published' },
  });
  const due_at = new Date(Date.now() + 36e5).toISOString();
  const run = await make('checklist_runs', {
    template_id: template.id,
    title: `${mark} check`,
    due_at,
    equipment_id: truck.id,
  });
  await api(officer, `/v1/checklist_runs?id=eq.${run.id}`, { method: 'PATCH', body: { status: 'in_progress' } });
  await make('checklist_answers', { run_id: run.id, item_key: 'horn', value: 'no' });
  await api(officer, `/v1/checklist_runs?id=eq.${run.id}`, { method: 'PATCH', body: { status: 'completed' } });
  await as(officer, async (page) => {
    await open(page, `/console/c/equipment/${truck.id}`);
    const card = (title) => page.locator('.card', { has: page.getByRole('heading', { name: title, exact: true }) });
    await card('Open incidents').getByText(`${mark} was too fast`).waitFor();
    assert.equal(await card('Open incidents').getByText(`${mark} of another`).count(), 0);
    await card('Open actions').getByText(`${mark} slower`).waitFor();
    await card('Open actions').getByText(/horn/i).waitFor();
    await card('Open incidents').getByRole('link', { name: 'Show all' }).click();
    await page.getByRole('cell', { name: `${mark} was too fast` }).waitFor();
  });
});

test('a figure over rows that a role sees a part of says so, and one over all rows does not', async () => {
  const note = 'of what you may see';
  const list = await one('pick_lines?select=id:pick_list_id', operator);
  const fullest = await one('zones?select=id&utilization=gt.0');
  await as(operator, async (page) => {
    await open(page, '/console/c/incidents');
    await page.getByText(/of [\d,]+ records? that you may see/).waitFor();
    await open(page, '/console/c/items');
    await page.getByText(/of [\d,]+ records$/).waitFor();
    await open(page, `/console/c/pick_lists/${list}`);
    await page.locator('.figures + .body').getByText(note).waitFor();
    await open(page, `/console/c/zones/${fullest}`);
    await page.getByRole('heading', { name: 'What lies here' }).waitFor();
    const whole = page.locator('.card', { has: page.getByRole('heading', { name: 'What lies here' }) });
    assert.equal(await whole.getByText(note).count(), 0);
  });
  await as('driver@north.example', async (page) => {
    await open(page, '/console/c/shipments');
    await page
      .getByText(/of [\d,]+ records? that you may see|^0 of/)
      .first()
      .waitFor();
  });
  await as('viewer@north.example', async (page) => {
    await open(page, '/console/c/members');
    await page.getByText('of 1 record that you may see').waitFor();
  });
  await as(manager, async (page) => {
    await open(page, `/console/c/pick_lists/${list}`);
    await page.locator('.figures + .body').waitFor();
    await settled(page);
    assert.equal(await page.getByText(note).count(), 0);
  });
});

test('the value of the stock says its currency on the overview', async () => {
  await as(manager, async (page) => {
    await open(page, '/console/');
    await page
      .locator('a.tile', { hasText: 'Stock value' })
      .getByText(/^€[\d.,]+[kmbKMB]?$/)
      .waitFor();
  });
});
