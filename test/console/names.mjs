// What a list speaks of has a name there, and the page that comes before a scan says what to do.
import assert from 'node:assert/strict';
import { api, as, narrow, open, settled, test, violations } from './page.mjs';

const manager = 'manager@north.example';
const safety = 'safety@north.example';

test('an id of several kinds is shown in a list by its name, leads there, and a page of them asks once for each kind', async () => {
  const rows = await api(safety, '/v1/predictive_scores?select=entity_type,entity_id&order=id.desc&limit=50');
  const kinds = new Set(rows.map((r) => r.entity_type));
  const zone = rows.find((r) => r.entity_type === 'zone');
  assert.ok(zone, [...kinds].join());
  const [{ code, name }] = await api(safety, `/v1/zones?select=code,name&id=eq.${zone.entity_id}`);
  await as(safety, async (page) => {
    const asked = [];
    page.on('request', (r) => {
      const m = /\/rest\/v1\/(\w+)\?.*id=in\./.exec(r.url());
      if (m) asked.push(m[1]);
    });
    await open(page, '/console/c/predictive_scores');
    await settled(page);
    const link = page.locator('tbody').getByRole('link', { name: `${code} · ${name}` }).first();
    await link.waitFor();
    assert.equal(await link.getAttribute('href'), `/console/c/zones/${zone.entity_id}`);
    const cells = await page.locator('tbody td[data-label="Entity"], tbody td:nth-child(2)').allInnerTexts();
    assert.deepEqual(cells.filter((t) => /^[0-9a-f]{8}$/.test(t)), []);
    assert.equal(asked.length, kinds.size, asked.join());
  });
});

test('the audit log names the records that it speaks of', async () => {
  const [item] = await api(manager, '/v1/items', { method: 'POST', body: { sku: `NAMED-${Date.now()}`, name: 'Has a name' } });
  await as('admin@north.example', async (page) => {
    await open(page, '/console/admin/audit?what=items');
    await settled(page);
    const link = page.locator('tbody').getByRole('link', { name: `${item.sku} · Has a name` });
    assert.equal(await link.getAttribute('href'), `/console/c/items/${item.id}`);
  });
});

test('before a place is scanned the count says what to do and which counts wait', async () => {
  const [zone] = await api(manager, '/v1/zones', { method: 'POST', body: { code: `WAITS-${Date.now()}`, name: 'Bin of a test', kind: 'bin', x: 1, y: 1, z: 0 } });
  const { count_task: task } = await api(manager, '/v1/rpc/start_count', { method: 'POST', body: { zone_id: zone.id } });
  await as('operator@north.example', async (page) => {
    await open(page, '/console/floor/count');
    await page.getByText('Scan the label of the place').waitFor();
    const waits = page.getByRole('link', { name: new RegExp(zone.code) });
    await waits.waitFor();
    assert.deepEqual(await violations(page, 'count'), []);
    await waits.click();
    await page.getByRole('heading', { name: `Count ${zone.code}` }).waitFor();
    assert.equal(new URL(page.url()).pathname, `/console/floor/count/${task.id}`);
  }, { viewport: narrow, hasTouch: true });
});
