import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { as, call, client, ok, unique } from './client.mjs';

const mark = unique('T');
const codes = ['A', 'B', 'C', 'D', 'E'].map((s) => `${mark}-${s}`);
let c;

const mine = (columns) => c.from('zones').select(columns, { count: 'exact' }).like('code', `${mark}-%`);
const names = (rows) => rows.map((r) => r.code.slice(-1)).join('');

before(async () => {
  c = await as('manager@north.example');
  ok(
    await c.from('zones').insert(
      codes.map((code, i) => ({
        code,
        name: `Zone ${i}`,
        kind: i < 3 ? 'bin' : 'dock',
        x: i,
        y: i / 2,
        max_capacity: 10 * i,
        parent_id: null,
      })),
    ),
  );
});

after(async () => {
  ok(await c.from('zones').delete().like('code', `${mark}-%`));
});

describe('reading', () => {
  test('the columns asked for, with their types', async () => {
    const [zone] = ok(await c.from('zones').select('id,code,name,x,y,z,max_capacity,utilization').eq('code', codes[1]));
    assert.deepEqual(Object.keys(zone), ['id', 'code', 'name', 'x', 'y', 'z', 'max_capacity', 'utilization']);
    assert.deepEqual([zone.code, zone.x, zone.y, zone.z, zone.max_capacity], [codes[1], 1, 0.5, 0, 10]);
  });

  test('all columns and an alias', async () => {
    const [all] = ok(await mine('*').order('code').limit(1));
    assert.equal(all.kind, 'bin');
    assert.match(all.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|\+00:00)$/);
    const [alias] = ok(await mine('place:code').order('code').limit(1));
    assert.deepEqual(alias, { place: codes[0] });
  });

  const filters = {
    eq: [(q) => q.eq('kind', 'dock'), 'DE'],
    neq: [(q) => q.neq('kind', 'dock'), 'ABC'],
    'gt, lte': [(q) => q.gt('x', 0).lte('x', 3), 'BCD'],
    'gte, lt of decimals': [(q) => q.gte('y', 0.5).lt('y', 1.5), 'BC'],
    in: [(q) => q.in('code', [codes[0], codes[4], 'a,b(c)', 'd"e']), 'AE'],
    'not in': [(q) => q.not('code', 'in', `(${codes[0]},${codes[4]})`), 'BCD'],
    'like is case-sensitive': [(q) => q.like('name', 'zone%'), ''],
    ilike: [(q) => q.ilike('name', 'zONE _'), 'ABCDE'],
    'is null': [(q) => q.is('utilization', null), 'A'],
    'not is null': [(q) => q.not('utilization', 'is', null), 'BCDE'],
    or: [(q) => q.or('x.eq.0,and(kind.eq.dock,y.gt.1.5)'), 'AE'],
    match: [(q) => q.match({ kind: 'bin', x: 2 }), 'C'],
  };
  for (const [name, [filter, want]] of Object.entries(filters)) {
    test(`filter: ${name}`, async () => {
      const answer = await filter(mine('code')).order('code');
      assert.equal(names(ok(answer)), want);
      assert.equal(answer.count, want.length);
    });
  }

  test('order, range and count', async () => {
    const answer = await mine('code').order('kind', { ascending: false }).order('x', { ascending: false }).range(1, 2);
    assert.equal(names(ok(answer)), 'DC');
    assert.equal(answer.count, 5);
    assert.equal(answer.status, 206);
  });

  test('nulls first and last', async () => {
    assert.equal(names(ok(await mine('code').order('utilization', { nullsFirst: true }).order('code'))).at(0), 'A');
    assert.equal(names(ok(await mine('code').order('utilization', { nullsFirst: false }).order('code'))).at(-1), 'A');
  });

  test('groups with counts, sums and means', async () => {
    // Of some weekdays there are more than a page of 1,000, most of them completed.
    const of = (columns) => c.from('orders').select(columns).neq('status', 'completed');
    const orders = ok(await of('status, line_count'));
    const groups = ok(await of('status, n:count(), line_count.sum(), line_count.avg()').order('status'));
    assert.ok(orders.length < 1000);
    assert.ok(groups.length > 1);
    for (const group of groups) {
      const counts = orders.filter((order) => order.status === group.status).map((order) => order.line_count);
      const sum = counts.reduce((a, b) => a + b, 0);
      assert.deepEqual([group.n, group.sum], [counts.length, sum]);
      assert.ok(Math.abs(group.avg - sum / counts.length) < 1e-9);
    }
    const [order] = ok(
      await c.from('orders').select('line_count, order_lines(count(), qty_ordered.max())').gt('line_count', 0).limit(1),
    );
    assert.equal(order.order_lines[0].count, order.line_count);
  });

  test('count without rows', async () => {
    const { data, count, error } = await c
      .from('zones')
      .select('*', { count: 'exact', head: true })
      .like('code', `${mark}-%`);
    assert.equal(error, null);
    assert.equal(count, 5);
    assert.ok(!data);
  });

  test('a page behind the last', async () => {
    const { error, status } = await mine('code').range(100, 110);
    assert.equal(status, 416);
    assert.equal(error.code, 'PGRST103');
  });

  test('single and maybeSingle', async () => {
    assert.equal(ok(await mine('code').eq('x', 2).single()).code, codes[2]);
    assert.equal(ok(await mine('code').eq('x', 99).maybeSingle()), null);
    for (const filter of [(q) => q, (q) => q.eq('x', 99)]) {
      const { error, status } = await filter(mine('code')).single();
      assert.equal(status, 406);
      assert.equal(error.code, 'PGRST116');
      assert.match(error.details, /The result contains \d+ rows/);
    }
  });

  test('csv', async () => {
    const text = ok(await mine('code,name,utilization').order('code').limit(2).csv());
    assert.deepEqual(text.trimEnd().split('\n'), [
      'code,name,utilization',
      `${codes[0]},Zone 0,`,
      `${codes[1]},Zone 1,0`,
    ]);
  });

  test('/v1 is the same as /rest/v1', async () => {
    const query = `zones?select=code&code=like.${mark}-*&order=code`;
    const [v1, rest] = await Promise.all([call(c, `/v1/${query}`), call(c, `/rest/v1/${query}`)]);
    assert.deepEqual(v1.body, rest.body);
    assert.equal(names(v1.body), 'ABCDE');
    const orders = await call(c, '/v1/orders?limit=2');
    assert.equal(orders.status, 200);
    assert.equal(orders.body.length, 2);
    assert.ok(orders.headers.get('x-ratelimit-limit'));
  });
});

describe('embedding', () => {
  test('to many, to one and back', async () => {
    const orders = ok(
      await c
        .from('orders')
        .select('order_no,status,order_lines(line_no,qty_ordered,items(sku,name))')
        .gt('line_count', 0)
        .order('order_no')
        .limit(3),
    );
    assert.equal(orders.length, 3);
    for (const o of orders) {
      assert.ok(Array.isArray(o.order_lines) && o.order_lines.length > 0);
      assert.equal(typeof o.order_lines[0].items.sku, 'string');
    }
  });

  test('filters inside thin the inner rows, !inner the outer ones', async () => {
    const item = ok(await c.from('stock_levels').select('item_id').gt('quantity', 0).limit(1).single()).item_id;
    const outer = ok(
      await c.from('zones').select('code,stock_levels(item_id)').eq('stock_levels.item_id', item).limit(1000),
    );
    const inner = ok(
      await c.from('zones').select('code,stock_levels!inner(item_id)').eq('stock_levels.item_id', item).limit(1000),
    );
    assert.ok(inner.length > 0 && inner.length < outer.length, `${inner.length} of ${outer.length}`);
    for (const z of inner) for (const level of z.stock_levels) assert.equal(level.item_id, item);
  });

  test('order and limit of the embedded rows', async () => {
    const [order] = ok(
      await c
        .from('orders')
        .select('order_lines(line_no)')
        .gt('line_count', 1)
        .order('line_no', { referencedTable: 'order_lines', ascending: false })
        .limit(1, { referencedTable: 'order_lines' })
        .limit(1),
    );
    assert.equal(order.order_lines.length, 1);
    assert.ok(order.order_lines[0].line_no > 1);
  });

  test('no such relation', async () => {
    const { error, status } = await c.from('zones').select('code,drivers(id)');
    assert.equal(status, 400);
    assert.equal(error.code, 'PGRST200');
  });
});

describe('writing', () => {
  const code = `${mark}-W`;

  test('insert, with and without the row back', async () => {
    const answer = await c.from('zones').insert({ code, name: 'Written', max_capacity: 12.5 });
    assert.equal(answer.status, 201);
    assert.equal(ok(answer), null);
    const zone = ok(await c.from('zones').select().eq('code', code).single());
    assert.equal(zone.max_capacity, 12.5);
    assert.equal(zone.version, 1);
  });

  test('the same code again', async () => {
    const { error, status } = await c.from('zones').insert({ code, name: 'Twice' });
    assert.equal(status, 409);
    assert.equal(error.code, '23505');
  });

  test('a bad row leaves none of its request', async () => {
    const { error, status } = await c.from('zones').insert([
      { code: `${mark}-X`, name: 'Good' },
      { code: `${mark}-Y`, name: 'Bad', max_capacity: -1 },
    ]);
    assert.equal(status, 400);
    assert.equal(error.code, '23514');
    assert.deepEqual(ok(await c.from('zones').select('id').eq('code', `${mark}-X`)), []);
  });

  test('update gives back what changed', async () => {
    const rows = ok(await c.from('zones').update({ name: 'Renamed' }).eq('code', code).select('name,version'));
    assert.deepEqual(rows, [{ name: 'Renamed', version: 2 }]);
    assert.deepEqual(ok(await c.from('zones').update({ name: 'None' }).eq('code', 'NO-SUCH').select()), []);
  });

  test('upsert on the code', async () => {
    const rows = ok(
      await c
        .from('zones')
        .upsert(
          [
            { code, name: 'Upserted' },
            { code: `${mark}-U`, name: 'New' },
          ],
          { onConflict: 'code' },
        )
        .select('code,name,max_capacity'),
    );
    assert.deepEqual(
      rows.sort((a, b) => a.code.localeCompare(b.code)),
      [
        { code: `${mark}-U`, name: 'New', max_capacity: 0 },
        { code, name: 'Upserted', max_capacity: 12.5 },
      ],
    );
    assert.deepEqual(
      ok(
        await c
          .from('zones')
          .upsert({ code, name: 'Ignored' }, { onConflict: 'code', ignoreDuplicates: true })
          .select(),
      ),
      [],
    );
  });

  test('an insert whose answer was lost is asked again, not done again', async () => {
    const key = crypto.randomUUID();
    const lost = unique('L');
    const insert = (name) =>
      c.from('zones').insert({ code: lost, name }).select('id,code').single().setHeader('Idempotency-Key', key);
    const first = ok(await insert('Lost'));
    assert.deepEqual(ok(await insert('Lost')), first);
    const other = await insert('Another');
    assert.equal(other.status, 422);
    assert.equal(other.error.code, 'HF014');
    assert.equal(ok(await c.from('zones').select('id').eq('code', lost)).length, 1);
    const compute = () =>
      c.functions.invoke('assign-risk-clusters', {
        body: { entity_type: 'zone' },
        headers: { 'Idempotency-Key': key },
      });
    assert.deepEqual(ok(await compute()), ok(await compute()));
  });

  test('update and delete want a filter', async () => {
    for (const answer of [await c.from('zones').update({ name: 'All' }), await c.from('zones').delete()]) {
      assert.equal(answer.status, 400);
      assert.equal(answer.error.code, '21000');
    }
  });

  test('delete', async () => {
    const rows = ok(await c.from('zones').delete().eq('code', code).select('code'));
    assert.deepEqual(rows, [{ code }]);
    assert.deepEqual(ok(await c.from('zones').select('id').eq('code', code)), []);
  });
});

describe('bad requests name the place', () => {
  const rows = {
    'unknown collection': [(c) => c.from('zonez').select(), 404, 'PGRST205'],
    'unknown column': [(c) => c.from('zones').select('colour'), 400, '42703'],
    'unknown filter column': [(c) => c.from('zones').select().eq('colour', 1), 400, '42703'],
    'not a number': [(c) => c.from('zones').select().eq('x', 'far'), 400, '22P02'],
    'not a uuid': [(c) => c.from('zones').select().eq('id', '1'), 400, '22P02'],
    'unknown operator': [(c) => c.from('zones').select().filter('x', 'near', 1), 400, 'PGRST100'],
    'unknown field of a body': [
      (c) => c.from('zones').insert({ code: 'Z', name: 'Z', colour: 'red' }),
      400,
      'PGRST204',
    ],
    'a required field left out': [(c) => c.from('zones').insert({ name: 'Z' }), 400, '23502'],
    'another profile': [(c) => c.schema('private').from('zones').select(), 406, 'PGRST106'],
  };
  for (const [name, [request, status, code]] of Object.entries(rows)) {
    test(name, async () => {
      const answer = await request(c);
      assert.equal(answer.status, status);
      assert.equal(answer.error.code, code);
      assert.ok(answer.error.message);
      assert.deepEqual(Object.keys(answer.error).sort(), ['code', 'details', 'hint', 'message']);
    });
  }
});

describe('roles', () => {
  test('a viewer reads and does not write', async () => {
    const viewer = await as('viewer@north.example');
    assert.equal(ok(await viewer.from('zones').select('code').eq('code', codes[0])).length, 1);
    const { error, status } = await viewer.from('zones').insert({ code: unique('V'), name: 'V' });
    assert.equal(status, 403);
    assert.equal(error.code, '42501');
  });

  test('nobody reads without signing in', async () => {
    for (const path of ['/rest/v1/zones', '/v1/zones', '/v1/orders', '/v1/rate-limit/status']) {
      assert.equal((await call(null, path)).status, 401, path);
    }
    const { data, error, status } = await client().from('zones').select();
    assert.equal(data, null);
    assert.equal(status, 401);
    assert.ok(error.message);
  });
});
