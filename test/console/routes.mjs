// A route from the shipments that are chosen for it to the vehicle that is back: planned at a desk, driven with a phone.
import assert from 'node:assert/strict';
import { api, as, narrow, open, person, picture, settled, test, violations } from './page.mjs';
import { hands } from './hands.mjs';
import { ready } from './shipments.mjs';

const manager = 'manager@north.example';

const make = async (path, body) => {
  const made = await api(manager, `/v1/${path}`, { method: 'POST', body });
  return Array.isArray(made) ? made[0] : made;
};

// crew is somebody new who drives, with an account, and a vehicle.
async function crew(name, plate) {
  const mark = `${Date.now().toString(36)}${Math.round(Math.random() * 1e4)}`;
  const email = await person('driver');
  const me = await api(email, '/auth/v1/user');
  const worker = await make('workers', { employee_no: `R-${mark}`, name: name ?? `Route ${mark}` });
  await api('admin@north.example', `/v1/members?user_id=eq.${me.id}`, {
    method: 'PATCH',
    body: { worker_id: worker.id },
  });
  const driver = await make('drivers', { worker_id: worker.id });
  const vehicle = await make('vehicles', { plate: plate ?? `RT ${mark}`, payload_kg: 3000, odometer_km: 1000 });
  return { email, worker, driver, vehicle, mark };
}

const state = async (name, id, fields) => (await api(manager, `/v1/${name}?select=${fields}&id=eq.${id}`))[0];

test('a route is planned from chosen shipments, driven with a phone stop by stop, and finished', async () => {
  const c = await crew();
  const [near, far] = await ready(c.mark, 2);
  let id = '';
  await as(manager, async (page) => {
    await open(page, '/console/routes');
    await page.getByRole('link', { name: 'Plan a route' }).click();
    await page.getByRole('heading', { name: 'Shipment board', level: 1 }).waitFor();
    await settled(page);
    const plan = page.getByRole('button', { name: 'Plan the route' });
    assert.equal(await plan.isDisabled(), true);
    // The farther one first: the order is the server's.
    for (const s of [far, near]) await page.getByLabel(`Choose ${s.shipment_no}`, { exact: true }).check();
    await page.getByText('2 shipments are chosen').waitFor();
    await picture(page, 'route-choose');
    await plan.click();
    const ask = page.getByRole('dialog', { name: 'Plan a route with 2 stops' });
    await ask.getByLabel('Who drives? *').selectOption({ label: c.worker.name });
    await ask.getByLabel('With which vehicle? *').selectOption(c.vehicle.id);
    assert.deepEqual(await violations(page, 'plan a route'), []);
    await ask.getByRole('button', { name: 'Plan the route' }).click();
    await page.waitForURL(/console\/routes\/[0-9a-f-]{36}$/);
    id = page.url().split('/').pop();
    await page.getByRole('heading', { name: 'Stops' }).waitFor();
    assert.deepEqual(await page.locator('ol.stops a').allInnerTexts(), [near.shipment_no, far.shipment_no]);
    assert.deepEqual(await violations(page, 'a planned route'), []);
  });
  const { route_no: no } = await state('routes', id, 'route_no');
  await as(
    c.email,
    async (page) => {
      await open(page, '/console/');
      const card = page.locator('.card', { has: page.getByRole('heading', { name: 'To drive' }) });
      await card.getByText(`next: ${near.destination.name}`).waitFor();
      await card.getByRole('link', { name: no }).click();
      await page.getByRole('button', { name: 'Start the route' }).click();
      const ask = page.getByRole('dialog');
      await ask.getByText('It showed 1,000 km last.').waitFor();
      await ask.getByLabel('What does the odometer show? *').fill('1010');
      await ask.getByRole('button', { name: 'Start the route' }).click();
      const stop = page.getByRole('region', { name: 'Next stop' });
      await stop.getByText(near.destination.name).waitFor();
      await stop.getByRole('button', { name: 'I am there' }).click();
      await stop.getByText(/^Arrived /).waitFor();
      assert.deepEqual(await violations(page, 'a route on the road'), []);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
      await picture(page, 'route-phone');
      await stop.getByRole('button', { name: 'Delivered' }).click();
      await page.getByRole('dialog').getByLabel('Who took it? *').fill('B. Klein');
      await page.getByRole('dialog').getByRole('button', { name: 'Say so' }).click();
      await stop.getByText(far.destination.name).waitFor();
      // Not everything is done: the server says so, at the dialog.
      await page.getByRole('button', { name: 'Finish the route' }).click();
      await page.getByRole('dialog').getByLabel('What does the odometer show? *').fill('1100');
      await page.getByRole('dialog').getByRole('button', { name: 'Finish the route' }).click();
      await page.getByRole('dialog').getByRole('alert').filter({ hasText: far.shipment_no }).waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
      await stop.getByRole('button', { name: 'Problem' }).click();
      await page.getByRole('dialog').getByLabel('What happened?').selectOption('NOBODY_THERE');
      await page.getByRole('dialog').getByRole('button', { name: 'Say so' }).click();
      await page.getByText('Every stop is done. Finish the route when the vehicle is back.').waitFor();
      await page.getByRole('button', { name: 'Finish the route' }).click();
      await page.getByRole('dialog').getByLabel('What does the odometer show? *').fill('1100');
      await page.getByRole('dialog').getByRole('button', { name: 'Finish the route' }).click();
      await page.getByText('90 km').waitFor();
      assert.equal(await page.getByRole('button', { name: 'Finish the route' }).count(), 0);
    },
    { viewport: narrow, hasTouch: true },
  );
  const over = await state('routes', id, 'status,distance_km,odometer_start_km,odometer_end_km');
  assert.deepEqual(
    [over.status, ...['distance_km', 'odometer_start_km', 'odometer_end_km'].map((f) => Number(over[f]))],
    ['finished', 90, 1010, 1100],
  );
  const first = await state('shipments', near.id, 'status,arrived_at,proof');
  assert.deepEqual([first.status, !!first.arrived_at, first.proof.name], ['delivered', true, 'B. Klein']);
  assert.deepEqual(await state('shipments', far.id, 'status,exception_code'), {
    status: 'exception',
    exception_code: 'NOBODY_THERE',
  });
});

test('the way of a route is drawn to scale, its stops numbered in their order', async () => {
  const c = await crew('Jonas Weber', 'F-HF 204');
  const towns = [
    ['Marburg', 50.81, 8.77],
    ['Fulda', 50.55, 9.68],
    ['Kassel', 51.31, 9.49],
    ['Gießen', 50.58, 8.68],
  ];
  const ids = [];
  for (const [city, lat, lon] of towns) {
    const made = await make('shipments', {
      direction: 'outbound',
      origin: { name: 'Depot', city: 'Frankfurt', lat: 50.11, lon: 8.68 },
      destination: { name: `Handel ${city}`, city, lat, lon },
    });
    ids.push(made.id);
  }
  const { route } = await make('rpc/plan_route', {
    date: new Date(Date.now() + 86_400_000).toISOString().slice(0, 10),
    driver_id: c.driver.id,
    vehicle_id: c.vehicle.id,
    shipment_ids: ids,
  });
  const stops = await api(manager, `/v1/shipments?select=stop_seq,destination&route_id=eq.${route.id}&order=stop_seq`);
  await as(manager, async (page) => {
    await open(page, `/console/routes/${route.id}`);
    await page.getByText('0 of 4 stops done').waitFor();
    const map = page.getByRole('img', { name: `The way of ${route.route_no}, to scale, without roads` });
    await map.waitFor();
    assert.deepEqual(await map.locator('text.seq').allTextContents(), ['1', '2', '3', '4']);
    const names = await map.locator('text:not(.seq)').allTextContents();
    assert.deepEqual(names, ['Frankfurt', ...stops.map((s) => s.destination.city)]);
    const spots = await map
      .locator('circle')
      .evaluateAll((all) => all.map((x) => [Number(x.getAttribute('cx')), Number(x.getAttribute('cy'))]));
    const [east, north] = [0, 1].map((axis) =>
      stops
        .map((s, i) => [spots[i][axis], axis ? -s.destination.lat : s.destination.lon])
        .sort((a, b) => a[1] - b[1])
        .map((x) => x[0]),
    );
    for (const axis of [east, north])
      assert.deepEqual(
        axis,
        [...axis].sort((a, b) => a - b),
        'north is above and east to the right',
      );
    await picture(page, 'route');
    assert.deepEqual(await violations(page, 'the way of a route'), []);
  });
});

test('by keys: a planned route is opened from the list and cancelled, and its shipments are free again', async () => {
  const c = await crew();
  const list = await ready(c.mark, 1);
  const { route } = await make('rpc/plan_route', {
    date: new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10),
    driver_id: c.driver.id,
    vehicle_id: c.vehicle.id,
    shipment_ids: [list[0].id],
  });
  await as(manager, async (page) => {
    const keys = hands(page);
    await open(page, '/console/');
    await settled(page);
    await keys.press('g', 't');
    await page.getByRole('heading', { name: 'Routes', level: 1 }).waitFor();
    await keys.use(page.getByRole('link', { name: route.route_no }), { most: 200 });
    await page.getByRole('heading', { name: new RegExp(route.route_no), level: 1 }).waitFor();
    await keys.use(page.getByRole('button', { name: 'Cancel the route' }));
    const ask = page.getByRole('dialog', { name: `Cancel ${route.route_no}?` });
    await keys.use(ask.getByRole('button', { name: 'Cancel the route' }));
    await page.getByText('It was cancelled; its shipments can go on another route.').waitFor();
  });
  assert.equal((await state('routes', route.id, 'status')).status, 'cancelled');
  assert.equal((await state('shipments', list[0].id, 'route_id')).route_id, null);
});

test('another driver does not see a route, and finds no way to start it', async () => {
  const [mine, other] = [await crew(), await crew()];
  const [s] = await ready(mine.mark, 1);
  const { route } = await make('rpc/plan_route', {
    date: new Date(Date.now() + 86_400_000).toISOString().slice(0, 10),
    driver_id: mine.driver.id,
    vehicle_id: mine.vehicle.id,
    shipment_ids: [s.id],
  });
  await as(
    other.email,
    async (page) => {
      await page.goto(`${process.env.HOLDFAST_URL}/console/routes/${route.id}`);
      await page.getByText('This route is not there').waitFor();
      assert.equal(await page.getByRole('button', { name: 'Start the route' }).count(), 0);
      await open(page, '/console/routes');
      await page.getByText('No route is planned').waitFor();
      assert.equal(await page.getByRole('link', { name: 'Plan a route' }).count(), 0);
    },
    { viewport: narrow, hasTouch: true },
  );
});

test('a phone whose clock is half an hour fast still tells when it arrived', async () => {
  const c = await crew();
  const [s] = await ready(c.mark, 1);
  const { route } = await make('rpc/plan_route', {
    date: new Date(Date.now() + 86_400_000).toISOString().slice(0, 10),
    driver_id: c.driver.id,
    vehicle_id: c.vehicle.id,
    shipment_ids: [s.id],
  });
  await api(c.email, '/v1/rpc/start_route', {
    method: 'POST',
    body: { route_id: route.id, vehicle_id: c.vehicle.id, odometer_km: 1000 },
  });
  await as(
    c.email,
    async (page) => {
      await page.addInitScript(() => {
        const now = Date.now;
        const Real = Date;
        window.Date = class extends Real {
          constructor(...at) {
            super(...(at.length ? at : [now() + 1_800_000]));
          }
          static now() {
            return now() + 1_800_000;
          }
        };
      });
      await open(page, `/console/routes/${route.id}`);
      await page.getByRole('button', { name: 'I am there' }).click();
      await page.getByText(/^Arrived /).waitFor();
    },
    { viewport: narrow, hasTouch: true },
  );
  assert.ok(Math.abs(Date.parse((await state('shipments', s.id, 'arrived_at')).arrived_at) - Date.now()) < 15 * 60_000);
});
