// What goes wrong around a person: hostile text, a server that is away, sessions and records that end.
import assert from 'node:assert/strict';
import { api, as, open, person, session, settled, test, url, visit } from './page.mjs';

const manager = 'manager@north.example';

// Texts that have run as scripts elsewhere, or broken what showed them.
const hostile = [
  '<script>alert(1)</script>',
  '"><script>alert(1)</script>',
  "'><script>alert(1)</script>",
  '</title><script>alert(1)</script>',
  '</textarea><script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '"><img src=x onerror=alert(1)>',
  '<svg onload=alert(1)>',
  '<svg><script>alert(1)</script></svg>',
  '<body onload=alert(1)>',
  '<iframe src="javascript:alert(1)"></iframe>',
  '<a href="javascript:alert(1)">x</a>',
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  '<details open ontoggle=alert(1)>',
  '<input autofocus onfocus=alert(1)>',
  '<video><source onerror=alert(1)>',
  '<math><mtext></table><mglyph><style><img src=x onerror=alert(1)>',
  '<style>*{display:none}</style>',
  '<link rel=stylesheet href=//example.com/x.css>',
  '<meta http-equiv=refresh content="0;url=//example.com">',
  '<base href=//example.com/>',
  '<object data="javascript:alert(1)">',
  '<embed src="javascript:alert(1)">',
  '<form action="javascript:alert(1)"><button>x</button></form>',
  '{{constructor.constructor("alert(1)")()}}',
  '${alert(1)}',
  '#{alert(1)}',
  '<%= alert(1) %>',
  '`;alert(1);//',
  "';alert(1);//",
  '\\";alert(1);//',
  '--><script>alert(1)</script><!--',
  ']]><script>alert(1)</script>',
  '%3Cscript%3Ealert(1)%3C/script%3E',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '\u202Etxt.exe <b>rtl</b>',
  "Robert'); DROP TABLE items;--",
  '=HYPERLINK("http://example.com","x")',
];

test('forty hostile texts are shown as they are, in lists, records, forms, search and map, and none runs', async () => {
  assert.equal(hostile.length, 40);
  const mark = `HOST${Date.now()}`;
  const items = await api(manager, '/v1/items', {
    method: 'POST',
    body: hostile.map((name, n) => ({
      sku: `${mark}-${String(n).padStart(2, '0')}`,
      name,
      description: name,
      category: name.slice(0, 60),
    })),
  });
  const [zone] = await api(manager, '/v1/zones', {
    method: 'POST',
    body: { code: `${mark}-Z`, name: hostile[6], kind: 'bin', x: 2, y: 2, z: 0 },
  });
  const [order] = await api(manager, '/v1/orders', {
    method: 'POST',
    body: { type: 'outbound', party_name: hostile[7], notes: hostile[0] },
  });
  await as(manager, async (page) => {
    page.on('dialog', () => assert.fail('a script ran'));
    const grown = () =>
      page.evaluate(
        () =>
          document.querySelectorAll(
            'main script, main img, main iframe, main style, main link, main base, main object, main embed, main video, main math, main [onerror], main [onload], a[href^="javascript" i]',
          ).length,
      );
    await open(page, `/console/c/items?q=${mark}&order=sku.asc&cols=sku,name,description,category`);
    await page.getByText('of 40 records').waitFor();
    for (const [n, text] of hostile.entries())
      assert.equal(await page.locator('tbody tr').nth(n).locator('td').nth(1).innerText(), text.trim());
    assert.equal(await grown(), 0);
    for (const i of [0, 6, 12, 18, 37]) {
      await open(page, `/console/c/items/${items[i].id}`);
      await settled(page);
      assert.equal(await grown(), 0);
      await page.getByRole('button', { name: 'Edit' }).click();
      assert.equal(await page.getByRole('dialog').getByLabel('Name *').inputValue(), hostile[i]);
      await page.keyboard.press('Escape');
    }
    await open(page, `/console/c/orders/${order.id}`);
    await settled(page);
    await open(page, `/console/map?at=${zone.id}`);
    await page.getByRole('dialog', { name: zone.code }).getByText(hostile[6]).waitFor();
    assert.equal(await grown(), 0);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or go to' }).fill(`${mark}-06`);
    await page.getByRole('option', { name: /onerror/ }).waitFor();
    await page.getByRole('combobox', { name: 'Search or go to' }).fill(hostile[6]);
    await page.waitForTimeout(400);
    await page.goto(
      `${url}/console/c/items?q=${encodeURIComponent(hostile[6])}&f=name.eq.${encodeURIComponent(hostile[0])}&order=<script>.asc&cols=<b>`,
    );
    await page.locator('main h1').waitFor();
    assert.equal(await grown(), 0);
  });
});

test('while the server is away the page says so and keeps what was typed', async () => {
  const sku = `AWAY-${Date.now()}`;
  await as(manager, async (page, context) => {
    await open(page, '/console/c/items/new');
    await page.getByLabel('SKU *').fill(sku);
    await page.getByLabel('Name *').fill('Typed before');
    await context.setOffline(true);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('The server does not answer.').waitFor();
    await page.getByText('No answer came from the server.').first().waitFor();
    assert.equal(await page.getByLabel('Name *').inputValue(), 'Typed before');
    await context.setOffline(false);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: new RegExp(sku) }).waitFor();
    await page.getByText('The server does not answer.').waitFor({ state: 'detached' });
  });
});

test('a session that is ended in one tab is ended in the other', async () => {
  const email = await person('viewer');
  await as(email, async (page, context) => {
    await open(page, '/console/');
    const other = await context.newPage();
    await open(other, '/console/c/orders');
    await other.locator('.foot button').first().click();
    await other.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });
});

test('a session that was ended elsewhere, or is no session, leads to the sign-in when the page is opened', async () => {
  const email = await person('viewer');
  await api(email, '/auth/v1/logout?scope=global', { method: 'POST' });
  await as(email, async (page) => {
    await page.goto(`${url}/console/`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });
  for (const text of ['no session', '{}', JSON.stringify({ access_token: 'x.y.z', expires_at: 4e9 })]) {
    await visit(async (page, context) => {
      await context.addInitScript((kept) => localStorage.setItem('holdfast.session', kept), text);
      await page.goto(`${url}/console/`);
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    });
  }
});

test('who loses a permission while a form is open is told so, keeps what was typed, and is offered it no more', async () => {
  const email = await person('manager');
  const [member] = await api(
    'admin@north.example',
    `/v1/members?select=id&user_id=eq.${(await session(email)).user.id}`,
  );
  const sku = `LOST-${Date.now()}`;
  await as(email, async (page) => {
    await open(page, '/console/c/items/new');
    await page.getByLabel('SKU *').fill(sku);
    await page.getByLabel('Name *').fill('Typed before');
    await api('admin@north.example', `/v1/members?id=eq.${member.id}`, { method: 'PATCH', body: { role: 'viewer' } });
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('alert').first().waitFor();
    assert.equal(await page.getByLabel('Name *').inputValue(), 'Typed before');
    assert.deepEqual(await api(manager, `/v1/items?sku=eq.${sku}`), []);
    await open(page, '/console/c/items');
    await page.reload();
    await settled(page);
    await page.locator('tbody tr').first().waitFor();
    assert.equal(await page.getByRole('link', { name: 'New item' }).count(), 0);
  });
});

test('a form that is open over a change of the program says so, and after a reload has what was typed', async () => {
  const sku = `CHANGED-${Date.now()}`;
  const older = async (route) => {
    const now = await (await route.fetch()).json();
    const items = now.collections.find((c) => c.name === 'items');
    items.fields.splice(2, 0, { name: 'shelf_colour', type: 'text', label: 'Shelf colour' });
    items.fields = items.fields.filter((f) => f.name !== 'unit_cost');
    await route.fulfill({ json: now });
  };
  await as(manager, async (page) => {
    await page.route('**/catalog.json', older);
    await open(page, '/console/c/items/new');
    await page.getByLabel('SKU *').fill(sku);
    await page.getByLabel('Name *').fill('Typed over a change');
    await page.getByLabel('Shelf colour').fill('ultramarine');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const alert = page.getByRole('alert').first();
    await alert
      .getByText('Shelf colour is no longer kept: this form is from before a change of the program.')
      .waitFor();
    await alert.getByText('Load the page again: what you typed is kept.').waitFor();
    assert.deepEqual(await api(manager, `/v1/items?sku=eq.${sku}`), []);
    await page.unroute('**/catalog.json', older);
    await page.reload();
    await page.getByText('These records no longer have what you typed here: Shelf colour: ultramarine').waitFor();
    assert.equal(await page.getByLabel('Name *').inputValue(), 'Typed over a change');
    await page.getByLabel('Unit cost').fill('3.5');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: 'Details', exact: true }).waitFor();
    const [made] = await api(manager, `/v1/items?select=name,unit_cost&sku=eq.${sku}`);
    assert.deepEqual(made, { name: 'Typed over a change', unit_cost: 3.5 });
  });
});

test('a number that another record has is refused at its field, and what was typed stays', async () => {
  const sku = `TWICE-${Date.now()}`;
  await api(manager, '/v1/items', { method: 'POST', body: { sku, name: 'The first' } });
  await as(manager, async (page) => {
    await open(page, '/console/c/items/new');
    await page.getByLabel('SKU *').fill(sku);
    await page.getByLabel('Name *').fill('The second');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.locator('.wrong', { hasText: 'sku' }).or(page.getByRole('alert')).first().waitFor();
    assert.equal(await page.getByLabel('SKU *').inputValue(), sku);
    assert.equal(await page.getByLabel('Name *').inputValue(), 'The second');
  });
});

test('a record of another organisation looks like one that is not there, and so does one that goes', async () => {
  const [theirs] = await api('admin@south.example', '/v1/items?select=id&limit=1');
  const [mine] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `GONE-${Date.now()}`, name: 'Soon gone' },
  });
  await as(manager, async (page) => {
    await open(page, '/console/');
    await page.goto(`${url}/console/c/items/${theirs.id}`);
    await page.getByText('This record is not there').waitFor();
    await open(page, `/console/c/items/${mine.id}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('dialog').getByLabel('Name *').fill('Too late');
    await api(manager, `/v1/items?id=eq.${mine.id}`, { method: 'DELETE' });
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page
      .getByText(/This record is not there|no such|not found|is gone|0 rows|does not exist/i)
      .first()
      .waitFor();
  });
});

test('who asks too often reads how long to wait, and the page goes on by itself', async () => {
  await as(manager, async (page) => {
    let shut = true;
    await page.route('**/rest/v1/orders?**', (route) =>
      !shut
        ? route.continue()
        : route.fulfill({
            status: 429,
            headers: { 'Retry-After': '20', 'X-Request-Id': 'abcdef0123' },
            json: {
              error: 'rate_limit_exceeded',
              message: 'Too many requests: wait 20 seconds, then try again',
              retry_after: 20,
            },
          }),
    );
    await page.goto(`${url}/console/c/orders`);
    await page.getByText('Try again in 20 seconds.').waitFor();
    shut = false;
    await page.getByText(/^1–50/).waitFor({ timeout: 60_000 });
    assert.equal(await page.getByText('Try again in 20 seconds.').count(), 0);
  });
});

test('a limit that was passed for a second costs the page that second, and no error', async () => {
  await as(manager, async (page) => {
    let refused = 0;
    await page.route('**/rest/v1/orders?**', (route) =>
      refused++
        ? route.continue()
        : route.fulfill({
            status: 429,
            headers: { 'Retry-After': '1' },
            json: {
              error: 'rate_limit_exceeded',
              message: 'Too many requests: wait 1 seconds, then try again',
              retry_after: 1,
            },
          }),
    );
    await open(page, '/console/c/orders');
    await page.getByText(/^1–50/).waitFor();
    assert.ok(refused > 1, 'the list was asked for once more');
    assert.equal(await page.getByText('Too many requests').count(), 0);
  });
});

test('what is saved while a limit is passed for a second is saved after it, once', async () => {
  await as(manager, async (page) => {
    const keys = [];
    await page.route('**/rest/v1/items?**', (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      keys.push(route.request().headers()['idempotency-key']);
      return keys.length > 1
        ? route.continue()
        : route.fulfill({
            status: 429,
            headers: { 'Retry-After': '1' },
            json: {
              error: 'rate_limit_exceeded',
              message: 'Too many requests: wait 1 seconds, then try again',
              retry_after: 1,
            },
          });
    });
    const sku = `WAITED-${Date.now()}`;
    await open(page, '/console/c/items/new');
    await page.getByLabel('SKU *').fill(sku);
    await page.getByLabel('Name *').fill('Saved after a second');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: sku }).waitFor();
    assert.equal(keys.length, 2);
    assert.equal(keys[0], keys[1]);
    const made = await api(manager, `/v1/items?select=id&sku=eq.${sku}`);
    assert.equal(made.length, 1);
  });
});

// What the server says is English; what to do about it is not, where its code tells.
test('beside a refusal stands in the language of the person what to do', async () => {
  const said = [
    [
      403,
      '42501',
      'permission denied for table orders',
      'Bitte einen Administrator deiner Organisation um dieses Recht.',
      undefined,
      'Deine Rolle darf das nicht.',
    ],
    [409, 'HF001', 'orders cannot move to "packed"', 'Lade die Seite neu: sie zeigt, was jetzt möglich ist.'],
    [
      409,
      'HF002',
      'not enough stock',
      'Gib eine kleinere Menge ein, oder wähle einen anderen Platz oder eine andere Charge.',
    ],
    [
      409,
      'HF002',
      'the goods were not there then',
      'Wähle ein späteres Datum, oder buche zuerst, was davor hereinkam.',
      'occurred_at: is before the goods came',
    ],
    [
      412,
      'HF008',
      'the record was changed by somebody else',
      'Lade den Datensatz neu und ändere ihn dann noch einmal.',
    ],
    [
      422,
      'HF012',
      'the document does not fit',
      'Berichtige, was die Meldung nennt: Der angeführte Paragraf verlangt es.',
    ],
    [422, 'PT422', 'the document does not fit, either', 'Berichtige, was die Meldung nennt, und sende es noch einmal.'],
    [429, 'rate_limit_exceeded', 'Too many requests', 'In 7 Sekunden noch einmal.'],
    [403, '42501', 'rows of orders are never changed or deleted', ''],
  ];
  await as(manager, async (page, context) => {
    await context.addInitScript(() => localStorage.setItem('holdfast.language', '"de"'));
    let answer;
    await page.route('**/rest/v1/orders?**', (route) => route.fulfill(answer));
    for (const [status, code, message, advice, details, shown = message] of said) {
      answer = { status, headers: status === 429 ? { 'Retry-After': '7' } : {}, json: { code, message, details } };
      await page.goto(`${url}/console/c/orders`);
      const alert = page.getByRole('alert').filter({ hasText: shown });
      await alert.waitFor();
      if (advice) await alert.getByText(advice).waitFor();
      else assert.equal(await alert.locator('.small').count(), 0);
    }
  });
});

// Integrators read the sentences of SQL; a person reads what they mean.
test('no word of the database reaches a person', async () => {
  const said = [
    [
      '23505',
      'duplicate key value violates unique constraint "items_sku_key"',
      'Key (sku)=(BOLT) already exists.',
      'BOLT is taken already.',
    ],
    [
      '23502',
      'null value in column "due_on" of relation "actions" violates not-null constraint',
      '',
      'Due on is needed.',
    ],
    [
      '23503',
      'insert or update on table "order_lines" violates foreign key constraint "x_fkey"',
      'Key (item_id)=(1) is not present in table "items".',
      'Item: this record is not there.',
    ],
    [
      '23503',
      'update or delete on table "items" violates foreign key constraint "x_fkey" on table "order_lines"',
      'Key (id)=(1) is still referenced from table "order_lines".',
      'Other records still refer to it: Order lines.',
    ],
    [
      '23514',
      'new row for relation "items" violates a check constraint',
      '',
      'A value is not one that the record takes.',
    ],
    ['22001', 'value too long for column "name": at most 200 characters', '', 'Name: at most 200 characters.'],
    [
      '22003',
      '"quantity" takes a number of at most 15 digits before the decimal point and 4 after it: "99999999999999999" is none',
      '',
      'Quantity: this is too large, or has too many digits.',
    ],
    ['23514', '"sort_order" must be at most 99', '', 'Sort order: 99 or less.'],
    ['22P02', 'invalid input syntax for type uuid: "abc"', '', '"abc" cannot be read here.'],
    ['42501', 'permission denied for column "unit_cost" of table items', '', 'Your role may not do this.'],
    ['42501', 'new row violates row-level security policy for table "items"', '', 'Your role may not do this.'],
  ];
  await as(manager, async (page) => {
    let answer;
    await page.route('**/rest/v1/orders?**', (route) => route.fulfill(answer));
    for (const [code, message, details, shown] of said) {
      answer = { status: 400, json: { code, message, details } };
      await page.goto(`${url}/console/c/orders`);
      const alert = page.getByRole('alert').filter({ hasText: shown });
      await alert.waitFor();
      assert.doesNotMatch(await alert.innerText(), /violates|constraint|relation|column|syntax|row-level|Key \(/);
    }
  });
});

test('a file of a wrong kind is refused in words', async () => {
  await as('admin@north.example', async (page) => {
    await open(page, '/console/imports/new?target=items');
    await page
      .locator('input[type=file]')
      .setInputFiles({
        name: 'photo.csv',
        mimeType: 'text/csv',
        buffer: Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex'),
      });
    await page.getByRole('alert').waitFor();
  });
  assert.ok(await session(manager));
});
