import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { as, call, ok, unique } from './client.mjs';

describe('imports', () => {
  const mark = unique('IMP');
  let admin, manager;

  before(async () => {
    admin = await as('admin@north.example');
    manager = await as('manager@north.example');
  });

  async function upload(c, text, fields = {}) {
    const form = new FormData();
    form.set('target', 'items');
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    form.set('file', new Blob([text], { type: 'text/csv' }), 'stock.csv');
    return call(c, '/v1/import-jobs', { method: 'POST', body: form });
  }

  const found = async () => ok(await manager.from('items').select('sku,name,unit_cost,version').like('sku', `${mark}-%`).order('sku'));
  const invoke = (c, name, job_id) => c.functions.invoke(name, { body: { job_id } });

  test('a file is processed, applied and rolled back', async () => {
    const file = `\uFEFFProduct code;Product name;Unit cost\r\n${mark}-1;"Bolt; M8";0,25\r\n${mark}-2;"Nut\nM8";0,10\r\n${mark}-3;Washer;cheap\r\n`;
    const created = await upload(admin, file);
    assert.equal(created.status, 201, JSON.stringify(created.body));
    const job = created.body.id ?? created.body.job_id;
    assert.match(job, /^[0-9a-f-]{36}$/);

    const processed = ok(await invoke(admin, 'process-import-job', job));
    assert.equal(processed.success, true);
    assert.equal(processed.job_id, job);
    assert.equal(processed.file_type, 'csv');
    assert.deepEqual(processed.stats, { total_rows: 3, valid_rows: 2, invalid_rows: 1 });
    assert.equal(typeof processed.message, 'string');
    assert.deepEqual(await found(), [], 'processing writes no records');

    const before = ok(await admin.functions.invoke('get-dashboard-snapshot-v2?lightweight=true', { method: 'GET' }));
    const applied = ok(await invoke(admin, 'apply-import-job', job));
    assert.deepEqual([applied.success, applied.imported_count], [true, 2]);
    const rows = await found();
    assert.deepEqual(rows.map((r) => [r.sku, r.name, r.unit_cost]), [[`${mark}-1`, 'Bolt; M8', 0.25], [`${mark}-2`, 'Nut\nM8', 0.1]]);

    const after = ok(await admin.functions.invoke('get-dashboard-snapshot-v2?lightweight=true', { method: 'GET' }));
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
    const created = await upload(admin, `sku,name\n${mark}-9,Imported\n`);
    const job = created.body.id ?? created.body.job_id;
    ok(await invoke(admin, 'process-import-job', job));
    ok(await invoke(admin, 'apply-import-job', job));
    ok(await manager.from('items').update({ name: 'Edited' }).eq('sku', `${mark}-9`));
    const { error } = await invoke(admin, 'rollback-import-job', job);
    assert.equal(error.context.status, 409);
    const body = await error.context.json();
    assert.equal(typeof body.error, 'string');
    assert.ok(JSON.stringify(body).includes(`${mark}-9`) || JSON.stringify(body).includes('version'), JSON.stringify(body));
    assert.equal((await found())[0].name, 'Edited');
    ok(await manager.from('items').delete().eq('sku', `${mark}-9`));
  });

  test('errors name line and column', async () => {
    const created = await upload(admin, `sku,name,unit_cost\n${mark}-5,Good,1\n,Nameless,2\n${mark}-6,Bad,-3\n`);
    const job = created.body.id ?? created.body.job_id;
    const { stats } = ok(await invoke(admin, 'process-import-job', job));
    assert.deepEqual(stats, { total_rows: 3, valid_rows: 1, invalid_rows: 2 });
    const rows = ok(await admin.from('import_rows').select('line_no,status,errors').eq('job_id', job).eq('status', 'invalid').order('line_no'));
    assert.deepEqual(rows.map((r) => [r.line_no, r.errors[0].column]), [[3, 'sku'], [4, 'unit_cost']]);
  });

  test('what cannot be imported is refused', async () => {
    assert.ok((await upload(admin, 'sku,name\n', { target: 'secrets' })).status in { 400: 1, 422: 1 });
    assert.equal((await upload(await as('viewer@north.example'), 'sku,name\nA,B\n')).status, 403);
    assert.equal((await upload(null, 'sku,name\nA,B\n')).status, 401);
    const south = await as('admin@south.example');
    const created = await upload(admin, `sku,name\n${mark}-7,B\n`);
    const theirs = await invoke(south, 'process-import-job', created.body.id ?? created.body.job_id);
    assert.equal(theirs.error.context.status, 404);
    for (const job_id of ['1', '', null, '01900000-0000-7000-8000-000000000000']) {
      const { error } = await admin.functions.invoke('process-import-job', { body: { job_id } });
      assert.ok([400, 404].includes(error.context.status), String(job_id));
    }
  });
});
