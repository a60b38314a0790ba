import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, describe, test } from 'node:test';
import { as, call, ok, signUpFounder, unique } from './client.mjs';

const real = (name) => readFile(new URL(`./testdata/${name}`, import.meta.url));
const invoke = (c, name, job_id) => c.functions.invoke(name, { body: { job_id } });
const metrics = async (c) =>
  ok(await c.functions.invoke('get-dashboard-snapshot-v2?lightweight=true', { method: 'GET' }));

async function upload(c, file, fields = {}) {
  const form = new FormData();
  form.set('target', 'items');
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set('file', new Blob([file], { type: 'text/csv' }), 'stock.csv');
  return call(c, '/v1/import-jobs', { method: 'POST', body: form });
}

async function created(c, file, fields) {
  const { status, body } = await upload(c, file, fields);
  assert.equal(status, 201, JSON.stringify(body));
  assert.match(body.id, /^[0-9a-f-]{36}$/);
  return body.id;
}

// Side by side, so that they wait for the limits of their tenants together.
describe('importing', { concurrency: true }, () => {
  describe('imports', { concurrency: 1 }, () => {
    const mark = unique('IMP');
    let admin, manager;

    before(async () => {
      admin = await as('admin@north.example');
      manager = await as('manager@north.example');
    });

    const found = async () =>
      ok(await manager.from('items').select('sku,name,description,unit_cost').like('sku', `${mark}-%`).order('sku'));

    test('a file is processed, applied and rolled back', async () => {
      const file =
        `\uFEFFProduct code;Product name;Description;Unit cost\r\n${mark}-1;"Bolt; M8";;0,25\r\n` +
        `${mark}-2;Nut;"Box of 100\nzinc";0,10\r\n${mark}-3;Washer;;cheap\r\n`;
      const job = await created(admin, file);

      const processed = ok(await invoke(admin, 'process-import-job', job));
      assert.equal(processed.success, true);
      assert.equal(processed.job_id, job);
      assert.equal(processed.file_type, 'csv');
      assert.deepEqual(processed.stats, { total_rows: 3, valid_rows: 2, invalid_rows: 1 });
      assert.equal(typeof processed.message, 'string');
      assert.deepEqual(
        processed.errors.map((e) => [e.line, e.column]),
        [[5, 'Unit cost']],
        'lines of the file, not rows',
      );
      assert.deepEqual(await found(), [], 'processing writes no records');

      const before = await metrics(admin);
      const applied = ok(await invoke(admin, 'apply-import-job', job));
      assert.deepEqual([applied.success, applied.imported_count, typeof applied.message], [true, 2, 'string']);
      assert.deepEqual(
        (await found()).map((r) => [r.sku, r.name, r.description, r.unit_cost]),
        [
          [`${mark}-1`, 'Bolt; M8', null, 0.25],
          [`${mark}-2`, 'Nut', 'Box of 100\nzinc', 0.1],
        ],
      );

      const after = await metrics(admin);
      assert.equal(after.inventory.metrics.total_items, before.inventory.metrics.total_items + 2);
      assert.equal(after.import.metrics.total_imported, before.import.metrics.total_imported + 2);

      const refused = await invoke(manager, 'rollback-import-job', job);
      assert.equal(refused.error.context.status, 403);
      const undone = ok(await invoke(admin, 'rollback-import-job', job));
      assert.deepEqual([undone.success, undone.rolled_back], [true, 2]);
      assert.deepEqual(await found(), []);
      const state = ok(await admin.from('import_jobs').select('status').eq('id', job).single());
      assert.equal(state.status, 'rolled_back');
    });

    test('a rollback does not overwrite a later edit', async () => {
      const job = await created(admin, `sku,name\n${mark}-8,Imported too\n${mark}-9,Imported\n`);
      ok(await invoke(admin, 'process-import-job', job));
      ok(await invoke(admin, 'apply-import-job', job));
      ok(await manager.from('items').update({ name: 'Edited' }).eq('sku', `${mark}-9`));
      const { error } = await invoke(admin, 'rollback-import-job', job);
      assert.equal(error.context.status, 409);
      const body = await error.context.json();
      assert.equal(typeof body.error, 'string');
      assert.ok(body.details.includes(`${mark}-9`), JSON.stringify(body));
      assert.ok(!body.details.includes(`${mark}-8`), 'only what stands against it is named');
      assert.deepEqual(
        (await found()).map((r) => r.name),
        ['Imported too', 'Edited'],
        'all or nothing',
      );
      ok(await manager.from('items').delete().like('sku', `${mark}-%`));
    });

    test('errors name line and column, page by page', async () => {
      const job = await created(admin, `sku,name,unit_cost\n${mark}-5,Good,1\n,Nameless,2\n${mark}-6,Bad,-3\n`);
      const { stats, errors } = ok(await invoke(admin, 'process-import-job', job));
      assert.deepEqual(stats, { total_rows: 3, valid_rows: 1, invalid_rows: 2 });
      assert.deepEqual(
        errors.map((e) => [e.line, e.column]),
        [
          [3, 'sku'],
          [4, 'unit_cost'],
        ],
      );
      for (const e of errors) assert.ok(e.code && e.message, JSON.stringify(e));
      const { status, body } = await call(admin, `/v1/import-jobs/${job}/errors?page=2&pageSize=1`);
      assert.equal(status, 200);
      assert.deepEqual(body, { errors: [errors[1]], page: 2, pageSize: 1, total: 2, hasMore: false });
      assert.equal((await call(await as('admin@south.example'), `/v1/import-jobs/${job}/errors`)).status, 404);
    });

    test('what cannot be imported is refused', async () => {
      assert.equal((await upload(admin, 'sku,name\n', { target: 'secrets' })).status, 400);
      assert.equal((await upload(await as('viewer@north.example'), 'sku,name\nA,B\n')).status, 403);
      assert.equal((await upload(null, 'sku,name\nA,B\n')).status, 401);
      const south = await as('admin@south.example');
      const job = await created(admin, `sku,name\n${mark}-7,B\n`);
      for (const step of ['process', 'apply', 'rollback']) {
        assert.equal((await invoke(south, `${step}-import-job`, job)).error.context.status, 404, step);
      }
      for (const [job_id, status] of [
        ['1', 400],
        ['', 400],
        [null, 400],
        ['01900000-0000-7000-8000-000000000000', 404],
      ]) {
        const { error } = await admin.functions.invoke('process-import-job', { body: { job_id } });
        assert.equal(error.context.status, status, String(job_id));
      }
    });
  });

  // In tenants that the tests found, so that every figure is known.
  describe('real files', { concurrency: true }, () => {
    async function load(c, name, target) {
      const job = await created(c, await real(name), { target });
      const processed = ok(await invoke(c, 'process-import-job', job));
      const { total_rows, valid_rows, invalid_rows } = processed.stats;
      const applied = ok(await invoke(c, 'apply-import-job', job));
      return { job, errors: processed.errors, counts: [total_rows, valid_rows, invalid_rows, applied.imported_count] };
    }

    const count = async (c, table) => {
      const answer = await c.from(table).select('id', { count: 'exact', head: true });
      ok(answer);
      return answer.count;
    };

    test('a warehouse: places, products and the stock that was counted', async () => {
      const c = await signUpFounder();
      const zones = await load(c, 'openboxes_binLocations.csv', 'zones');
      assert.deepEqual(zones.counts, [40, 40, 0, 40]);
      const items = await load(c, 'openboxes_inventoryLevels.csv', 'items');
      assert.deepEqual(items.counts, [52, 52, 0, 52]);
      const untouched = ok(await c.from('items').select('*').order('sku'));

      const stock = await load(c, 'openboxes_mainWarehouseInventory.csv', 'stock_movements');
      assert.deepEqual(stock.counts, [57, 43, 14, 43]);
      assert.deepEqual(
        [...new Set(stock.errors.map((e) => e.line))],
        [4, 8, 9, 12, 17, 18, 28, 31, 32, 33, 44, 45, 54, 57],
      );
      assert.deepEqual(
        stock.errors.filter((e) => e.line === 45).map((e) => e.column),
        ['Product code', 'Physical QOH'],
      );

      const d = ok(await c.functions.invoke('get-dashboard-snapshot-v2?pageSize=200', { method: 'GET' }));
      assert.deepEqual([d.zones.total, d.zones.items.length], [40, 40]);
      assert.equal(d.inventory.metrics.total_items, 52);
      assert.deepEqual(
        [d.import.metrics.total_jobs, d.import.metrics.completed_jobs, d.import.metrics.total_imported],
        [3, 3, 135],
      );
      const [level] = ok(await c.from('items').select('sku,on_hand').eq('sku', 'TS894'));
      assert.equal(level.on_hand, 2000);

      const kept = await invoke(c, 'rollback-import-job', items.job);
      assert.equal(kept.error.context.status, 409, 'stock points at these items');
      assert.equal(ok(await invoke(c, 'rollback-import-job', stock.job)).rolled_back, 43);
      const restored = ok(await c.from('items').select('*').order('sku'));
      const figures = (rows) => rows.map(({ version, updated_at, ...rest }) => rest);
      assert.deepEqual(figures(restored), figures(untouched));
    });

    test('a register of incidents', async () => {
      const c = await signUpFounder();
      const { job, counts } = await load(c, 'ihm_incidents.csv', 'incidents');
      assert.deepEqual(counts, [439, 439, 0, 439]);
      const severities = Object.fromEntries(
        await Promise.all(
          ['low', 'medium', 'high', 'critical'].map(async (s) => {
            const answer = await c.from('incidents').select('id', { count: 'exact', head: true }).eq('severity', s);
            return [s, answer.count];
          }),
        ),
      );
      assert.deepEqual(severities, { low: 368, medium: 31, high: 31, critical: 9 });
      const { safety } = await metrics(c);
      assert.deepEqual(
        [safety.metrics.total_incidents, safety.metrics.critical_incidents, safety.metrics.open_incidents],
        [439, 9, 439],
      );
      const { kpis } = ok(await c.functions.invoke('safety-kpis?days=365', { method: 'GET' }));
      assert.equal(kpis.tsr, 439, 'reported by this import');
      assert.equal(ok(await invoke(c, 'rollback-import-job', job)).rolled_back, 439);
      assert.equal(await count(c, 'incidents'), 0);
      assert.equal((await metrics(c)).safety.metrics.total_incidents, 0);
    });

    test('products without a code are each named, and none is written', async () => {
      const south = await as('admin@south.example');
      const job = await created(south, await real('openboxes_WHO_products.csv'));
      const { stats, errors } = ok(await invoke(south, 'process-import-job', job));
      assert.deepEqual(stats, { total_rows: 729, valid_rows: 0, invalid_rows: 729 });
      assert.deepEqual([errors.length, errors[0].line, errors[0].column], [100, 2, 'ProductCode']);
      const last = (await call(south, `/v1/import-jobs/${job}/errors?page=8&pageSize=100`)).body;
      assert.deepEqual([last.total, last.errors.at(-1).line, last.hasMore], [729, 730, false]);
      assert.equal(ok(await invoke(south, 'apply-import-job', job)).imported_count, 0);
    });
  });
});
