import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { as, call, claims, ok, service, sleep, tenantOf, token, unique, url } from './client.mjs';

const numbers = (object, ...names) => {
  for (const name of names) assert.equal(typeof object[name], 'number', name);
};

describe('functions', () => {
  let c, tenant;

  before(async () => {
    c = await as('manager@north.example');
    tenant = await tenantOf(c);
  });

  const get = async (name, options = {}) => ok(await c.functions.invoke(name, { method: 'GET', ...options }));

  test("a verb's answer is chosen from by the client's own methods", async () => {
    const { code } = ok(await c.from('zones').select('code').limit(1).single());
    const scan = () => c.rpc('scan', { code });
    assert.deepEqual(ok(await scan().select('what:kind').eq('kind', 'zone').order('kind').limit(1)), { what: 'zone' });
    assert.equal(ok(await scan().select('kind').neq('kind', 'zone')), null);
    assert.deepEqual(ok(await c.rpc('scan', { code }, { get: true }).select('kind').in('kind', ['lot', 'zone'])), {
      kind: 'zone',
    });
    const { error } = await scan().select('kinds');
    assert.deepEqual([error.code, error.hint], ['42703', 'did you mean kind?']);
  });

  test('get-dashboard-snapshot-v2', async () => {
    const d = await get('get-dashboard-snapshot-v2');
    assert.equal(d.tenant_id, tenant);
    assert.ok(Math.abs(Date.parse(d.timestamp) - Date.now()) < 61_000);
    assert.equal(typeof d.cached, 'boolean');
    numbers(d.zones, 'total');
    assert.ok(d.zones.total > 0 && d.zones.items.length > 0);
    const zone = d.zones.items[0];
    assert.equal(typeof zone.code + typeof zone.name, 'stringstring');
    numbers(zone, 'x', 'y', 'z', 'max_capacity');
    numbers(d.inventory.metrics, 'total_items', 'low_stock_count', 'total_stock_value');
    assert.ok(d.inventory.metrics.total_items > 0 && d.inventory.metrics.total_stock_value > 0);
    assert.ok(d.inventory.items.length > 0);
    numbers(d.inventory.stock_levels[0], 'quantity');
    assert.match(d.inventory.stock_levels[0].item_id, /^[0-9a-f-]{36}$/);
    for (const list of ['pick_lists', 'shipments', 'drivers']) {
      numbers(d[list], 'active');
      assert.ok(Array.isArray(d[list].items), list);
    }
    numbers(d.safety.metrics, 'total_incidents', 'critical_incidents', 'open_incidents');
    const kinds = Object.values(d.safety.metrics.incidents_by_category);
    assert.equal(
      kinds.reduce((a, b) => a + b, 0),
      d.safety.metrics.total_incidents,
    );
    assert.ok(d.safety.recent_incidents.length <= 10);
    numbers(d.import.metrics, 'total_jobs', 'completed_jobs', 'failed_jobs', 'total_imported');
    assert.ok(Array.isArray(d.import.recent_jobs));
    assert.equal(d.pagination.page, 1);
    assert.equal(d.pagination.pageSize, 50);
    assert.equal(typeof d.pagination.hasMore, 'boolean');
  });

  test('its lightweight form', async () => {
    const d = await get('get-dashboard-snapshot-v2?lightweight=true');
    assert.deepEqual(Object.keys(d.zones), ['total']);
    assert.deepEqual(Object.keys(d.inventory), ['metrics']);
    for (const list of ['pick_lists', 'shipments', 'drivers']) assert.deepEqual(Object.keys(d[list]), ['active']);
    assert.deepEqual(Object.keys(d.safety), ['metrics']);
    assert.deepEqual(d.safety.metrics.incidents_by_category, {});
    assert.deepEqual(Object.keys(d.import), ['metrics']);
    assert.ok(d.pagination);
  });

  test('its pages', async () => {
    const one = await get('get-dashboard-snapshot-v2?page=1&pageSize=3');
    const two = await get('get-dashboard-snapshot-v2?page=2&pageSize=3');
    assert.equal(one.inventory.items.length, 3);
    assert.equal(one.pagination.hasMore, true);
    const ids = new Set([...one.inventory.items, ...two.inventory.items].map((i) => i.id));
    assert.equal(ids.size, 6);
    const wide = await get('get-dashboard-snapshot-v2?pageSize=5000');
    assert.equal(wide.pagination.pageSize, 200);
    for (const query of ['page=0', 'pageSize=0', 'page=x', 'pageSize=1.5']) {
      const { status, body } = await call(c, `/functions/v1/get-dashboard-snapshot-v2?${query}`);
      assert.equal(status, 400, query);
      assert.equal(typeof body.error + typeof body.details, 'stringstring');
    }
  });

  test('is cached, says so, and sees a write at once', async () => {
    const path = '/functions/v1/get-dashboard-snapshot-v2?lightweight=true';
    const first = await call(c, path, { headers: { 'Cache-Control': 'no-cache' } });
    assert.deepEqual([first.headers.get('x-cache'), first.body.cached], ['MISS', false]);
    const second = await call(c, path);
    assert.deepEqual([second.headers.get('x-cache'), second.body.cached], ['HIT', true]);
    assert.equal(second.body.timestamp, first.body.timestamp);
    const code = unique('F');
    ok(await c.from('zones').insert({ code, name: 'Fresh' }));
    const third = await call(c, path);
    assert.equal(third.headers.get('x-cache'), 'MISS');
    assert.equal(third.body.zones.total, first.body.zones.total + 1);
    ok(await c.from('zones').delete().eq('code', code));
    assert.equal((await call(c, path)).body.zones.total, first.body.zones.total);
  });

  test('admin-dashboard-summary', async () => {
    const d = await get('admin-dashboard-summary');
    assert.equal(d.tenant_id, tenant);
    assert.ok(d.zones.length > 0 && d.inventory.items.length > 0);
    numbers(d.inventory, 'total_items');
    numbers(d.inventory.health, 'score', 'fast_movers', 'slow_stock', 'dead_stock', 'critical_items');
    numbers(d.pick_lists, 'active_count');
    assert.ok(Array.isArray(d.pick_lists.active) && Array.isArray(d.shipments.recent));
    numbers(d.shipments.stats, 'total', 'active', 'in_transit', 'completed_today');
    assert.equal(typeof d.settings, 'object');
  });

  test('safety-kpis', async () => {
    const d = await get('safety-kpis?days=90');
    assert.equal(d.tenant_id, tenant);
    assert.equal(d.date_range_days, 90);
    numbers(d.kpis, 'tsr', 'critical_incidents', 'open_actions', 'overdue_actions', 'checklist_compliance');
    const sum = (o) => Object.values(o).reduce((a, b) => a + b, 0);
    assert.ok(d.kpis.tsr > 0);
    assert.equal(sum(d.distribution.by_category), d.kpis.tsr);
    assert.equal(sum(d.distribution.by_severity), d.kpis.tsr);
    assert.ok(d.recent_incidents.length > 0 && d.recent_incidents.length <= 10);
    assert.equal((await get('safety-kpis')).date_range_days, 30);
    for (const days of ['0', '366', 'x', '-1']) {
      assert.equal((await call(c, `/functions/v1/safety-kpis?days=${days}`)).status, 400, days);
    }
  });

  test('405, then 401, then 403', async () => {
    const wrong = await call(null, '/functions/v1/safety-kpis', { method: 'DELETE' });
    assert.equal(wrong.status, 405);
    assert.match(wrong.headers.get('allow'), /GET/);
    const nobody = await as('nobody@none.example');
    for (const [who, status] of [
      [null, 401],
      [nobody, 403],
    ]) {
      const answer = await call(who, '/functions/v1/safety-kpis');
      assert.equal(answer.status, status);
      assert.deepEqual(Object.keys(answer.body).sort(), ['details', 'error']);
    }
    const { error } = await nobody.functions.invoke('safety-kpis', { method: 'GET' });
    assert.equal(error.name, 'FunctionsHttpError');
    assert.equal(error.context.status, 403);
  });

  test('the service key names the tenant', async () => {
    const one = await service().functions.invoke(`safety-kpis?tenant_id=${tenant}`, { method: 'GET' });
    assert.equal(ok(one).tenant_id, tenant);
    const { error } = await service().functions.invoke('safety-kpis', { method: 'GET' });
    assert.equal(error.context.status, 400);
  });

  test('rate limits are told', async () => {
    const { headers } = await call(c, '/functions/v1/safety-kpis');
    assert.equal(headers.get('x-ratelimit-limit'), '1000');
    const used = Number(headers.get('x-ratelimit-used'));
    assert.equal(Number(headers.get('x-ratelimit-remaining')), 1000 - used);
    assert.ok(Number(headers.get('x-ratelimit-reset')) >= Math.floor(Date.now() / 1000));
    const { body } = await call(c, '/v1/rate-limit/status');
    for (const [name, limit] of [
      ['api', 1000],
      ['database', 5000],
    ]) {
      assert.equal(body[name].limit, limit);
      assert.ok(body[name].remaining < limit);
      assert.match(body[name].reset_at, /^\d{4}-\d\d-\d\dT/);
    }
  });

  test('more than a burst is refused, and the wait is true', async (t) => {
    const both = await as('both@both.example'); // on south by now, whose limit nobody else here needs
    const jwt = await token(both);
    const ask = () => fetch(`${url}/v1/rate-limit/status`, { headers: { Authorization: `Bearer ${jwt}` } });
    const limits = (set) => service().from('tenants').update(set).eq('id', claims(jwt).tenant_id);
    ok(await limits({ plan: 'custom', limits: { api: { minute: 1000, burst: 20 } } }));
    t.after(async () => ok(await limits({ plan: 'standard', limits: null })));
    const answers = await Promise.all(Array.from({ length: 230 }, ask));
    const refused = answers.filter((a) => a.status === 429);
    assert.ok(refused.length > 0);
    assert.ok(answers.filter((a) => a.status === 200).length > 0);
    const body = await refused[0].json();
    assert.equal(body.error, 'rate_limit_exceeded');
    assert.equal(body.limit, 20);
    assert.equal(body.remaining, 0);
    assert.equal(body.retry_after, Number(refused[0].headers.get('retry-after')));
    assert.match(body.reset_at, /^\d{4}-\d\d-\d\dT/);
    assert.ok(body.message);
    const last = await ask();
    if (last.status === 429) await sleep(1000 * Number(last.headers.get('retry-after')));
    assert.equal((await ask()).status, 200, 'one wait was enough');
  });
});
