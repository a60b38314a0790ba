// Every form of "New" is walked as a person would: opened, filled with what is required, made, changed and read back.
import assert from 'node:assert/strict';
import { api, as, chosen, newBin, open, settled, test } from './page.mjs';
import { speak, wordsIn } from './languages.mjs';

const admin = 'admin@north.example';
const mark = `WALK-${Date.now()}`;
const languages = ['en', 'de', 'fr'];
const make = async (collection, body) => [await api(admin, `/v1/${collection}`, { method: 'POST', body })].flat()[0];

// What is made on pages of its own, by uploads, or by whoever runs the server.
const elsewhere = [
  'import_jobs',
  'settings',
  'invitations',
  'members',
  'webhooks',
  'incident_photos',
  'checklist_photos',
  'tenants',
  'comments',
];

// referred are records for the forms to refer to, by what a person types for them.
async function referred(mark) {
  const item = await make('items', { sku: `${mark}-I`, name: 'Of the walk' });
  const tracked = await make('items', { sku: `${mark}-T`, name: 'With lots', tracking: 'lot' });
  const kit = await make('items', { sku: `${mark}-K`, name: 'Kit of the walk' });
  const bin = await newBin(`${mark}-Z`);
  const order = await make('orders', { party_name: mark });
  const site = await make('sites', { code: `${mark}-S`.slice(0, 40), name: 'Site of the walk' });
  const worker = await make('workers', { employee_no: `${mark}-W`, name: 'Walker' });
  const second = await make('workers', { employee_no: `${mark}-D`, name: 'Drives' });
  const course = await make('courses', { code: `${mark}-C`, title: 'Course of the walk' });
  const incident = await make('incidents', {
    kind: 'near_miss',
    title: `${mark} incident`,
    occurred_at: '2026-11-02T08:30:00Z',
    site_id: site.id,
  });
  const talk = await make('toolbox_talks', { topic: `${mark} talk`, held_at: '2026-11-02T08:30:00Z' });
  const sections = [{ title: 'Aisles', items: [{ key: 'clear', prompt: 'Are they clear?', type: 'yes_no_na' }] }];
  const template = await make('checklist_templates', { code: `${mark}-L`, title: 'List of the walk', sections });
  await api(admin, `/v1/checklist_templates?id=eq.${template.id}`, { method: 'PATCH', body: { status: 'published' } });
  const run = await make('checklist_runs', { template_id: template.id, title: `${mark} run` });
  const list = await make('pick_lists', { strategy: 'single' });
  const unit = await make('work_units', { code: `${mark}-U`, name: 'Unit of the walk' });
  return {
    items: item.sku,
    zones: bin.code,
    orders: order.order_no,
    sites: site.code,
    workers: worker.employee_no,
    courses: course.code,
    incidents: incident.incident_no,
    toolbox_talks: talk.topic,
    checklist_templates: template.code,
    checklist_runs: run.title,
    pick_lists: list.pick_no,
    work_units: unit.code,
    lots: { items: tracked.sku },
    drivers: { workers: second.employee_no },
    'item_components.kit_id': kit.sku,
  };
}

// What a field wants that its type does not say, by the field or by collection and field.
const wanted = {
  line_no: '20',
  seq: '5',
  year: '2025',
  rrule: 'FREQ=WEEKLY',
  uom: 'CS',
  email: 'walker@people.example',
  item_key: 'clear',
  value: 'yes',
  min_qty: '1',
  max_qty: '9',
  locale: 'de',
  'mail_templates.text': 'Go to {{.Link}} or enter {{.Code}}',
  'stock_movements.type': 'receipt',
  'shifts.source': 'manual',
  'orders.type': 'outbound',
};

// What only one record may have, by the turn of the walk.
const single = {
  'uoms.code': ['WLA', 'WLB', 'WLC'],
  'badges.code': ['A', 'B', 'C'].map((turn) => `${mark}-${turn}`),
  'mail_templates.kind': ['confirmation', 'recovery', 'invite'],
};

// What is given beside what is required, because the record makes no sense without.
const beside = {
  stock_movements: ['to_zone_id'],
  training_assignments: ['worker_id'],
  pick_lines: [],
  sites: ['timezone'],
};

// The number comes first: what is cut to a field's length stays the only one of its kind.
const plainText = (n) => `${n}-${mark}`;

const textFor = (c, f, n) => {
  const given = single[`${c}.${f.name}`]?.[n % languages.length] ?? wanted[`${c}.${f.name}`] ?? wanted[f.name];
  if (given) return given;
  if (['integer', 'decimal', 'float'].includes(f.type)) return String(3 + n);
  if (f.type === 'timestamp') return '2026-11-02T08:30';
  if (f.type === 'date') return '2026-11-02';
  if (f.format === 'timezone') return 'Europe/Berlin';
  return plainText(n).slice(0, f.max_len || 60);
};

// The fields of a form, as the console offers them.
function asked(c, may) {
  return c.fields.filter(
    (f) =>
      !f.read_only &&
      !['tenant_id', 'id', 'archived_at', c.states?.field].includes(f.name) &&
      f.format !== 'number' &&
      (!may.fields || may.fields.includes(f.name)),
  );
}

const needed = (f) => f.required && !f.default && f.type !== 'boolean';

async function fillDocument(page, c, said) {
  const part = (label) => page.getByLabel(said(label), { exact: true });
  if (c.name === 'badges') {
    await part('Metric')
      .or(page.getByLabel(`${said('Metric')} *`, { exact: true }))
      .selectOption('reports');
    await page.getByLabel(new RegExp(`^${said('At least')}`)).fill('2');
  }
  if (c.name === 'regulations') {
    await page.getByLabel(said('Zone'), { exact: true }).first().check();
    await page.getByLabel(`${said('Metric')} *`, { exact: true }).fill('incident_count');
    const evidence = page.getByRole('group', { name: said('Evidence') });
    await evidence.getByLabel(new RegExp(`^${said('Of')}`)).fill('incidents');
    await evidence.getByLabel(new RegExp(`^${said('Absence')}`)).selectOption('insufficient_data');
    await page
      .getByRole('group', { name: said('Breach') })
      .getByLabel(new RegExp(`^${said('Op')}`))
      .selectOption('>');
    await page
      .getByRole('group', { name: said('Breach') })
      .getByLabel(new RegExp(`^${said('Value')}`))
      .fill('5');
  }
}

async function walk(page, c, may, refs, said, n) {
  await open(page, `/console/c/${c.name}/new`);
  await settled(page);
  assert.doesNotMatch(
    await page
      .locator('main form')
      .evaluate((form) => [...form.querySelectorAll('input, textarea')].map((i) => i.value).join(' ')),
    /[[{]|[0-9a-f]{8}-[0-9a-f]{4}-/,
    `${c.name}: JSON or an id is shown`,
  );
  for (const f of asked(c, may).filter((x) => needed(x) || beside[c.name]?.includes(x.name))) {
    if (f.type === 'json' && f.parts) {
      await fillDocument(page, c, said);
      continue;
    }
    const control = page.getByLabel(needed(f) ? `${said(f.label)} *` : said(f.label), { exact: true }).first();
    if (f.names === 'members') continue; // the person of the form stands there already
    if (f.one_of)
      await control.selectOption(
        textFor(c.name, f, n) === plainText(n) ? f.one_of.filter(Boolean)[0] : textFor(c.name, f, n),
      );
    else if (f.ref) {
      const text = refs[`${c.name}.${f.name}`] ?? refs[c.name]?.[f.ref] ?? refs[f.ref];
      assert.ok(text, `${c.name}.${f.name}: what is referred to of ${f.ref}?`);
      await control.fill(text);
      await page.locator(`datalist option[value*="${text}"]`).first().waitFor({ state: 'attached' });
    } else await control.fill(textFor(c.name, f, n));
  }
  await chosen(page);
  const answer = page.waitForResponse(
    (r) => r.request().method() === 'POST' && r.url().includes(`/rest/v1/${c.name}?`),
    { timeout: 30_000 },
  );
  await page.getByRole('button', { name: said('Create'), exact: true }).click();
  const r = await answer;
  assert.equal(r.status(), 201, `${c.name}: ${r.status() === 201 ? '' : await r.text()}`);
  const made = await r.json();
  await page.getByRole('heading', { level: 1 }).filter({ hasNotText: /^$/ }).first().waitFor();
  return made;
}

// changed finds a field of plain text or a number that may be changed, changes it and reads it back.
async function change(page, c, may, made, said) {
  const f = asked(c, may ?? {}).find(
    (x) =>
      !x.fixed &&
      !x.required &&
      !x.one_of &&
      !x.ref &&
      !x.names &&
      x.type === 'text' &&
      ['', 'name'].includes(x.format ?? '') &&
      !/reason|ref|url|hash|gln|html/.test(x.name),
  );
  if (!may || !f) return;
  const text = `${mark}-${made.id.slice(-6)}`.slice(0, f.max_len || 60);
  await page.getByRole('button', { name: said('Edit'), exact: true }).click();
  const form = page.getByRole('dialog');
  await form.getByLabel(said(f.label), { exact: true }).first().fill(text);
  await form.getByRole('button', { name: said('Save'), exact: true }).click();
  await form.waitFor({ state: 'detached' });
  const [row] = await api(admin, `/v1/${c.name}?select=id,${f.name}&id=eq.${made.id}`);
  assert.equal(row[f.name], text, `${c.name}.${f.name}`);
}

languages.forEach((language, turn) => {
  test(`every form is walked in ${language}: opened, filled, made, changed and read back`, async () => {
    const { collections } = await api(admin, '/catalog.json');
    const { collections: may } = await api(admin, '/v1/permissions');
    const forms = collections.filter((c) => may[c.name]?.create && !elsewhere.includes(c.name));
    assert.ok(forms.length > 25, `${forms.length} forms`);
    const refs = await referred(`${mark}${language}`);
    const said = wordsIn(language);
    const wrong = [];
    await as(
      admin,
      async (page, context) => {
        await speak(language, context);
        context.setDefaultTimeout(30_000);
        for (const [n, c] of forms.entries()) {
          try {
            const made = await walk(page, c, may[c.name].create, refs, said, n * languages.length + turn);
            await change(page, c, may[c.name].update, made, said);
          } catch (e) {
            wrong.push(`${c.name}: ${String(e.message).slice(0, 400)}`);
          }
        }
      },
      { locale: language === 'en' ? 'de-DE' : 'en-GB' },
    );
    assert.deepEqual(wrong, []);
  }, 900_000);
});
