// The overview: figures that lead to what they count, and change by themselves.
import assert from 'node:assert/strict';
import { api, as, open, settled, test } from './page.mjs';

const manager = 'manager@north.example';

test('each tile says what the server counts and leads to the list of the same records', async () => {
  const snapshot = await api(manager, '/functions/v1/get-dashboard-snapshot-v2?lightweight=true');
  await as(manager, async (page) => {
    for (const name of [
      'Low stock',
      'Pick lists under way',
      'Shipments under way',
      'Open incidents',
      'Critical incidents',
      'Overdue actions',
    ]) {
      await open(page, '/console/');
      await settled(page);
      const tile = page.getByRole('link', { name: new RegExp(`^${name}`) });
      const said = await tile.locator('.value').innerText();
      if (name === 'Low stock') assert.equal(said, String(snapshot.inventory.metrics.low_stock_count));
      await tile.click();
      await page.getByText(new RegExp(`of ${said} record`)).waitFor();
    }
    await open(page, '/console/');
    await page.getByRole('link', { name: 'All late orders' }).click();
    await settled(page);
    const late = await api(
      manager,
      `/v1/orders?select=id&type=in.(outbound,transfer)&status=in.(confirmed,in_progress,on_hold)&promised_at=lt.${new Date().toISOString()}`,
    );
    await page.getByText(new RegExp(`of ${late.length} record`)).waitFor();
  });
});

// The frame of every page asks for what the person may see, the names of things, the organisations and the events; the
// overview itself is one answer.
const frame = [
  '/v1/permissions',
  '/catalog.json',
  '/v1/events',
  '/auth/v1/tenants',
  '/auth/v1/invitations',
  '/console/settings.json',
];

test('the overview is one request, among the first of the page, and none for a worker', async () => {
  for (const [who, times] of [
    [manager, 1],
    ['operator@north.example', 0],
  ]) {
    await as(who, async (page) => {
      const asked = [];
      page.on('request', (r) => asked.push(new URL(r.url()).pathname));
      await open(page, '/console/');
      await settled(page);
      const figures = '/functions/v1/site-overview';
      assert.equal(asked.filter((path) => path === figures).length, times, asked.join(' '));
      if (!times) return;
      assert.ok(asked.indexOf(figures) < asked.indexOf('/v1/permissions'), asked.join(' '));
      const own = asked.filter((path) => !path.startsWith('/console/') && !frame.includes(path));
      assert.deepEqual(own, [figures]);
    });
  }
});

test('what somebody else changes appears by itself', async () => {
  await as(manager, async (page) => {
    await open(page, '/console/');
    await settled(page);
    await page.getByText('Live', { exact: true }).waitFor();
    const title = `Oil on the floor ${Date.now()}`;
    await api('safety@north.example', '/v1/incidents', {
      method: 'POST',
      body: { kind: 'hazard', severity: 'low', title, occurred_at: new Date().toISOString() },
    });
    await page.getByText(title).waitFor();
  });
});

test('a worker finds own work and the report of something unsafe first', async () => {
  await as('operator@north.example', async (page) => {
    await open(page, '/console/');
    await page.getByRole('heading', { name: 'To pick', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Report something unsafe' }).click();
    await page.getByRole('heading', { name: 'What happened?' }).waitFor();
  });
});
