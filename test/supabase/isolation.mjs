// A user of one tenant by no request reads, guesses or changes another's row.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { as, call, ok, service, tenantOf, unique } from './client.mjs';

const tables = [
  'zones',
  'items',
  'lots',
  'stock_levels',
  'stock_movements',
  'orders',
  'order_lines',
  'pick_lists',
  'shipments',
  'drivers',
  'workers',
  'incidents',
  'actions',
  'settings',
  'members',
];

describe('north and south', () => {
  let north, south, ids;

  before(async () => {
    north = await as('owner@north.example');
    south = await as('admin@south.example');
    ids = { north: await tenantOf(north), south: await tenantOf(south) };
    assert.notEqual(ids.north, ids.south);
  });

  for (const table of tables) {
    test(`${table}: each sees its own rows and none of the other's`, async () => {
      const theirs = ok(await north.from(table).select('*').limit(50));
      for (const row of theirs) assert.equal(row.tenant_id ?? ids.north, ids.north);
      for (const row of ok(await south.from(table).select('*').limit(50))) {
        assert.equal(row.tenant_id ?? ids.south, ids.south);
      }
      const keys = theirs.map((row) => row.id).filter(Boolean);
      if (keys.length > 0) {
        const { data, count } = await south.from(table).select('id', { count: 'exact' }).in('id', keys);
        assert.deepEqual([data, count], [[], 0]);
      }
      const asked = await south.from(table).select('*').eq('tenant_id', ids.north);
      assert.ok(asked.error || asked.data.length === 0);
    });
  }

  test('nor changes or deletes one', async () => {
    const zone = ok(await north.from('zones').select('id,name,version').limit(1).single());
    assert.deepEqual(ok(await south.from('zones').update({ name: 'Taken' }).eq('id', zone.id).select()), []);
    assert.deepEqual(ok(await south.from('zones').delete().eq('id', zone.id).select()), []);
    assert.deepEqual(ok(await north.from('zones').select('id,name,version').eq('id', zone.id).single()), zone);
  });

  test('nor writes one over by its id', async () => {
    const zone = ok(await north.from('zones').select('id,name,code').limit(1).single());
    const answer = await south
      .from('zones')
      .upsert({ id: zone.id, code: unique('S'), name: 'Taken' })
      .select();
    assert.ok(answer.error || answer.data[0].name === 'Taken'); // a new row of south's own, or refused
    assert.deepEqual(ok(await north.from('zones').select('id,name,code').eq('id', zone.id).single()), zone);
    await south.from('zones').delete().eq('id', zone.id);
    assert.deepEqual(ok(await north.from('zones').select('id,name,code').eq('id', zone.id).single()), zone);
  });

  test('nor puts one there', async () => {
    const { error, status } = await south
      .from('zones')
      .insert({ tenant_id: ids.north, code: unique('S'), name: 'Planted' });
    assert.equal(status, 403);
    assert.equal(error.code, '42501');
  });

  test('nor points at one', async () => {
    const zone = ok(await north.from('zones').select('id').limit(1).single());
    const missing = '01900000-0000-7000-8000-000000000000';
    const texts = [];
    for (const parent of [zone.id, missing]) {
      const { error, status } = await south
        .from('zones')
        .insert({ code: unique('S'), name: 'Child', parent_id: parent });
      assert.equal(status, 409);
      assert.equal(error.code, '23503');
      texts.push(error.message + (error.details ?? '').replaceAll(parent, 'ID'));
    }
    assert.equal(texts[0], texts[1], 'a foreign row must look like a missing one');
  });

  test('nor by headers or parameters', async () => {
    const own = (await call(south, '/functions/v1/safety-kpis')).body.tenant_id;
    assert.equal(own, ids.south);
    const asked = await call(south, `/functions/v1/safety-kpis?tenant_id=${ids.north}`, {
      headers: { 'X-Tenant-Id': ids.north },
    });
    assert.ok(asked.status >= 400 || asked.body.tenant_id === ids.south);
  });

  test('the service key sees both', async () => {
    for (const id of [ids.north, ids.south]) {
      assert.ok(ok(await service().from('zones').select('id').eq('tenant_id', id).limit(5)).length > 0);
    }
  });

  test('a user without a tenant sees nothing', async () => {
    const nobody = await as('nobody@none.example');
    const { data, error } = await nobody.from('zones').select('id');
    assert.ok(error || data.length === 0);
    assert.equal((await call(nobody, '/functions/v1/get-dashboard-snapshot-v2')).status, 403);
  });
});
