// What a list speaks of has a name there, and the page that comes before a scan says what to do.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { api, as, narrow, open, settled, test, url, violations } from './page.mjs';

const manager = 'manager@north.example';
const safety = 'safety@north.example';

const source = (name) => readFileSync(new URL(`../../console/src/${name}`, import.meta.url), 'utf8');

test('every column, state, collection and setting of the catalog, and what it is, has its words in each language', async () => {
  const { collections, settings, events } = await (await fetch(`${url}/catalog.json`)).json();
  const acronyms = Object.fromEntries(
    [.../acronyms[^{]*\{(.*?)\}/s.exec(source('lib/catalog.ts'))[1].matchAll(/(\w+): '([^']+)'/g)].map(
      ([, w, words]) => [w, words],
    ),
  );
  const words = (name) => {
    const text = name
      .split(/[_.]/)
      .map((w) => acronyms[w] ?? w)
      .join(' ')
      .trim();
    return text.charAt(0).toUpperCase() + text.slice(1);
  };
  // What only programs write in a document is not shown.
  const unasked = /^(key|photo_id|filter|show_when|item|all|any)$/;
  const called = (f) => [
    f.label || words(f.name),
    ...(f.one_of ?? []).filter((v) => /[a-z]/.test(v)).map((v) => words(String(v))),
    ...(f.parts ?? []).filter((x) => !unasked.test(x.name)).flatMap(called),
  ];
  const said = (f) => [f.doc ?? '', ...called(f)];
  const wanted = [
    ...collections.flatMap((c) => [words(c.name), c.doc, ...c.fields.flatMap(said)]),
    ...settings.flatMap((s) => [words(s.section), words(s.key), s.doc, s.wants, ...called(s.value)]),
    ...events.flatMap((e) => [words(e.name.split('.')[0]), e.doc]),
  ];
  assert.ok(wanted.length > 2000, `${wanted.length} words`);
  for (const language of ['de', 'fr']) {
    const [first, pages, catalog] = [language, `${language}-pages`, `${language}-catalog`].map((name) => {
      const text = source(`texts/${name}.ts`);
      return new Function(`return ${text.slice(text.indexOf('= {') + 2).replace(/;\s*$/, '')}`)();
    });
    const all = [first, pages, catalog].flatMap((table) => Object.keys(table));
    assert.deepEqual(
      all.filter((w, at) => all.indexOf(w) !== at),
      [],
      `${language}: said twice`,
    );
    const table = { ...catalog, ...pages, ...first };
    assert.deepEqual(
      [...new Set(wanted)].filter((w) => w.length > 1 && table[w] === undefined),
      [],
      `${language}: add them to console/src/texts/${language}-catalog.ts`,
    );
  }
});

test('a form in German speaks German: its columns, its choices and the way back', async () => {
  await as(
    'manager@north.example',
    async (page) => {
      await open(page, '/console/c/actions/new');
      await page.getByLabel('Maßnahmennr.').or(page.getByLabel('Titel *')).first().waitFor();
      await page.getByRole('option', { name: 'Vorbeugung', exact: true }).waitFor({ state: 'attached' });
      await page.getByLabel('Fällig am', { exact: false }).first().waitFor();
    },
    { locale: 'de-DE' },
  );
});

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
    const link = page
      .locator('tbody')
      .getByRole('link', { name: `${code} · ${name}` })
      .first();
    await link.waitFor();
    assert.equal(await link.getAttribute('href'), `/console/c/zones/${zone.entity_id}`);
    // The names of another kind may come later.
    await page
      .locator('tbody td[data-label="Entity"], tbody td:nth-child(2)')
      .filter({ hasText: /^[0-9a-f]{8}$/ })
      .first()
      .waitFor({ state: 'detached' });
    assert.equal(asked.length, kinds.size, asked.join());
  });
});

test('the audit log names the records that it speaks of', async () => {
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `NAMED-${Date.now()}`, name: 'Has a name' },
  });
  await as('admin@north.example', async (page) => {
    await open(page, '/console/admin/audit?what=items');
    await settled(page);
    const link = page.locator('tbody').getByRole('link', { name: `${item.sku} · Has a name` });
    assert.equal(await link.getAttribute('href'), `/console/c/items/${item.id}`);
  });
});

test('before a place is scanned the count says what to do and which counts wait', async () => {
  const [zone] = await api(manager, '/v1/zones', {
    method: 'POST',
    body: { code: `WAITS-${Date.now()}`, name: 'Bin of a test', kind: 'bin', x: 1, y: 1, z: 0 },
  });
  const { count_task: task } = await api(manager, '/v1/rpc/start_count', {
    method: 'POST',
    body: { zone_id: zone.id },
  });
  await as(
    'operator@north.example',
    async (page) => {
      await open(page, '/console/floor/count');
      await page.getByText('Scan the label of the place').waitFor();
      const waits = page.getByRole('link', { name: new RegExp(zone.code) });
      await waits.waitFor();
      assert.deepEqual(await violations(page, 'count'), []);
      await waits.click();
      await page.getByRole('heading', { name: `Count ${zone.code}` }).waitFor();
      assert.equal(new URL(page.url()).pathname, `/console/floor/count/${task.id}`);
    },
    { viewport: narrow, hasTouch: true },
  );
});

test('the title of the window names the page: its heading, the list that it is of, and the product', async () => {
  const [order] = await api(manager, '/v1/orders?select=id,order_no,party_name&party_name=not.is.null&limit=1');
  const titles = {
    '/console/c/orders': 'Orders · Holdfast',
    [`/console/c/orders/${order.id}`]: `${order.order_no} · ${order.party_name} · Orders · Holdfast`,
    '/console/c/items/new': 'New item · Items · Holdfast',
    '/console/floor/receive': 'Receive · Holdfast',
    '/console/nothing-here': 'There is no such page · Holdfast',
  };
  await as(manager, async (page) => {
    for (const [path, title] of Object.entries(titles)) {
      await page.goto(`${url}${path}`);
      await page
        .waitForFunction((wanted) => document.title === wanted, title)
        .catch(async () => assert.equal(await page.title(), title, path));
    }
  });
});

test('every code that the documentation lists has advice in each language', async () => {
  const listed = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8').matchAll(
    /^\| ((?:HF\d+|\d\w{4})[^|]*) \|/gm,
  );
  const codes = [...listed].flatMap(([, cell]) =>
    cell.split(', ').flatMap((part) => {
      const [first, last] = part.split(' - ');
      const from = Number(first.slice(2));
      return last
        ? Array.from({ length: Number(last.slice(2)) - from + 1 }, (_, n) => `HF${String(from + n).padStart(3, '0')}`)
        : [first];
    }),
  );
  assert.ok(codes.length > 25, `${codes.length} codes`);
  // Two have sentences of their own: a stale record, and what was done after all.
  const own = ['HF008', 'HF014'];
  const advice = Object.fromEntries(
    [...source('lib/fault.ts').matchAll(/^  '?(\w+)'?: \(\) => _\('(.+)'\),$/gm)].map(([, code, words]) => [
      code,
      words,
    ]),
  );
  assert.deepEqual(
    codes.filter((code) => !own.includes(code) && !advice[code]),
    [],
    'without advice',
  );
  for (const language of ['de', 'fr']) {
    const table = source(`texts/${language}.ts`);
    assert.deepEqual(
      Object.values(advice).filter((words) => !table.includes(`'${words}': '`)),
      [],
      language,
    );
  }
});

test('no list and no record shows an account as an id: people are named, or said to be somebody', async () => {
  const admin = 'admin@north.example';
  const people = await api(admin, '/v1/members?select=user_id,worker:worker_id(name)');
  const ids = new Set(people.map((m) => m.user_id));
  const { collections } = await api(admin, '/catalog.json');
  const told = collections
    .map((c) => [c.name, c.fields.filter((f) => f.names === 'members' && f.type === 'uuid').map((f) => f.name)])
    .filter(([, fields]) => fields.length);
  assert.ok(told.length > 30, `${told.length} collections name people`);
  await as(admin, async (page) => {
    const shown = [];
    const look = async (where) => {
      await settled(page);
      for (const id of await page.locator('main code[title]').evaluateAll((list) => list.map((e) => e.title)))
        if (ids.has(id)) shown.push(`${where}: ${id}`);
    };
    for (const [name, fields] of told) {
      const [row] = await api(
        admin,
        `/v1/${name}?select=*&or=(${fields.map((f) => `${f}.not.is.null`).join(',')})&limit=1`,
      );
      if (!row) continue;
      await open(page, `/console/c/${name}?cols=${fields.join(',')}`);
      await look(name);
      if (!row.id) continue;
      await open(page, `/console/c/${name}/${row.id}`);
      await look(`${name}/${row.id}`);
    }
    assert.deepEqual(shown, []);

    // Who completed an action is said by name.
    const done = (await api(admin, '/v1/actions?select=id,completed_by&completed_by=not.is.null')).find((a) =>
      people.some((m) => m.user_id === a.completed_by && m.worker),
    );
    assert.ok(done, 'a member with a name has done an action');
    await open(page, `/console/c/actions/${done.id}`);
    await settled(page);
    await page
      .getByText(people.find((m) => m.user_id === done.completed_by).worker.name)
      .first()
      .waitFor();
  });
}, 900_000);

// Ids that stand for nothing that a person can open.
const ofNothing = {
  'audit.session_id': 'a session ends, and its id is what programs compare',
  'audit.entity_id': 'the log names its record by kind',
  'compliance_states.event_id': 'the verdict that the page shows itself',
  'point_events.source_id': 'of a kind that only the points know',
  'stock_movements.ref_id': 'of the program that booked it',
  'webhook_deliveries.event_id': 'of the event as its receiver has it',
  'webhook_deliveries.replay_of': 'of the delivery that was sent again',
};

test('what an id without a reference means is shown by its name', async () => {
  const admin = 'admin@north.example';
  const { collections } = await api(admin, '/catalog.json');
  const bare = (f) => f.type === 'uuid' && !f.ref && !f.names && !['id', 'tenant_id', 'user_id'].includes(f.name);
  const told = collections
    .flatMap((c) => c.fields.filter(bare).map((f) => [c.name, f.name]))
    .filter(([c, f]) => !ofNothing[`${c}.${f}`]);
  assert.ok(told.length >= 12, told.join(' '));
  const shown = [];
  await as(admin, async (page) => {
    for (const [name, field] of told) {
      const [row] = await api(admin, `/v1/${name}?select=*&${field}=not.is.null&limit=1`);
      if (!row?.id) continue;
      await open(page, `/console/c/${name}/${row.id}`);
      await page.getByRole('heading', { name: 'Details', exact: true }).waitFor();
      await settled(page);
      if (await page.locator(`main code[title="${row[field]}"]`).count()) shown.push(`${name}.${field}`);
    }
  });
  assert.deepEqual(shown, []);
}, 300_000);
