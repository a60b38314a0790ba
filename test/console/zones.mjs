// Times are those of the site, else of the organisation, wherever the device is.
import assert from 'node:assert/strict';
import { api, as, open, test } from './page.mjs';

const admin = 'admin@north.example';
const manager = 'manager@north.example';
const mark = `ZONE-${Date.now()}`;

// A site's zone, what a person types there, and the moment that it is. Where a night has a time twice it is the first,
// and a time that a night leaves out is as much later.
const typed = [
  ['', '2026-11-20T10:00', '2026-11-20T09:00:00', 'Berlin (CET)'],
  ['', '2026-07-20T10:00', '2026-07-20T08:00:00', 'Berlin (CEST)'],
  ['', '2026-03-29T02:30', '2026-03-29T01:30:00', 'Berlin (CEST)'],
  ['', '2026-10-25T02:30', '2026-10-25T00:30:00', 'Berlin (CEST)'],
  ['Asia/Tokyo', '2026-11-20T10:00', '2026-11-20T01:00:00', 'Tokyo (GMT+9)'],
  ['America/St_Johns', '2026-11-20T00:10', '2026-11-20T03:40:00', 'St Johns (GMT-3:30)'],
  ['Pacific/Kiritimati', '2026-12-31T23:59', '2026-12-31T09:59:00', 'Kiritimati (GMT+14)'],
];

test('a time is typed and read in the zone of its site, which is said, whatever zone the device is in', async () => {
  const sites = new Map([['', null]]);
  for (const [zone] of typed) {
    if (sites.has(zone)) continue;
    const body = { code: `${mark}${sites.size}`, name: `Far ${zone}`, timezone: zone };
    sites.set(zone, (await api(admin, '/v1/sites', { method: 'POST', body }))[0].id);
  }
  const [order] = await api(manager, '/v1/orders', {
    method: 'POST',
    body: { type: 'outbound', party_name: 'In another zone' },
  });
  await as(
    manager,
    async (page) => {
      for (const [zone, wall, moment, said] of typed) {
        await api(manager, `/v1/orders?id=eq.${order.id}`, {
          method: 'PATCH',
          body: { site_id: sites.get(zone), promised_at: null },
        });
        await open(page, `/console/c/orders/${order.id}`);
        await page.getByRole('button', { name: 'Edit', exact: true }).click();
        const form = page.getByRole('dialog');
        await form.getByLabel('Promised at', { exact: true }).fill(wall);
        await form.getByText(`Time in ${said}`).first().waitFor();
        await form.getByRole('button', { name: 'Save' }).click();
        await form.waitFor({ state: 'detached' });
        const [now] = await api(manager, `/v1/orders?select=promised_at&id=eq.${order.id}`);
        assert.ok(now.promised_at.startsWith(moment), `${wall} in ${said}: ${now.promised_at}`);
      }
      // What is read is in the same zone, and says so, and the form begins with what was typed.
      await page
        .getByText(/31 Dec 2026, 23:59 GMT\+14/)
        .first()
        .waitFor();
      await page.getByRole('button', { name: 'Edit', exact: true }).click();
      assert.equal(
        await page.getByRole('dialog').getByLabel('Promised at', { exact: true }).inputValue(),
        '2026-12-31T23:59',
      );
      // Another site, chosen in the form, has another clock: what is not typed stays the same moment.
      await api(manager, `/v1/orders?id=eq.${order.id}`, { method: 'PATCH', body: { site_id: null } });
      await open(page, `/console/c/orders/${order.id}`);
      await page
        .getByText(/31 Dec 2026, 10:59 CET/)
        .first()
        .waitFor();
    },
    { timezoneId: 'America/New_York' },
  );
});

test('a record of a place is told in the zone of the site of the place', async () => {
  const body = { code: `${mark}P`, name: 'Far place', timezone: 'Asia/Tokyo' };
  const [site] = await api(admin, '/v1/sites', { method: 'POST', body });
  const place = { code: `${mark}P`, name: 'Dock in Tokyo', kind: 'dock', x: 1, y: 1, z: 0, site_id: site.id };
  const [zone] = await api(admin, '/v1/zones', { method: 'POST', body: place });
  const report = {
    kind: 'hazard',
    severity: 'low',
    title: `${mark} wet`,
    zone_id: zone.id,
    occurred_at: '2026-11-20T01:00:00Z',
  };
  const [incident] = await api('safety@north.example', '/v1/incidents', { method: 'POST', body: report });
  await as('safety@north.example', async (page) => {
    await open(page, `/console/c/incidents/${incident.id}`);
    await page
      .getByText(/20 Nov 2026, 10:00 GMT\+9/)
      .first()
      .waitFor();
    assert.doesNotMatch(await page.locator('main').innerText(), /20 Nov 2026, 02:00/);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    const form = page.getByRole('dialog');
    await form.getByText('Time in Tokyo (GMT+9)').first().waitFor();
    assert.equal(await form.getByLabel('Occurred at *', { exact: true }).inputValue(), '2026-11-20T10:00');
  });
});

test('a device in the zone of the organisation is not told of the zone beside each time', async () => {
  const body = { type: 'outbound', party_name: 'In this zone', promised_at: '2026-12-01T09:00:00Z' };
  const [order] = await api(manager, '/v1/orders', { method: 'POST', body });
  await as(manager, async (page) => {
    await open(page, `/console/c/orders/${order.id}`);
    await page
      .getByText(/1 Dec 2026, 10:00(?! (CET|GMT))/)
      .first()
      .waitFor();
  });
});

test('a filter by a time, and the day of a plan, are of the organisation', async () => {
  await as(
    manager,
    async (page) => {
      await open(page, '/console/c/orders');
      await page.getByRole('button', { name: 'Filter' }).click();
      const ask = page.getByRole('dialog');
      await ask.getByLabel('Field', { exact: true }).selectOption('promised_at');
      await ask.getByText('Time in Berlin').waitFor();
      await ask.getByLabel('Value *').fill('2026-11-20T10:00');
      await ask.getByRole('button', { name: 'Add the filter' }).click();
      await page.waitForURL(/promised_at\.gte\.2026-11-20T09%3A00/);
    },
    { timezoneId: 'Asia/Tokyo' },
  );
});
