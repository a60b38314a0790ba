// Forms of "New", filled in as a person does: what is required, and the lists left empty or not.
import assert from 'node:assert/strict';
import { api, as, open, settled, test } from './page.mjs';

const admin = 'admin@north.example';
const mark = `FORM-${Date.now()}`;

// wanted is what a person enters for what a form requires, by its field.
const wanted = {
  code: mark,
  name: `Made by a form ${mark}`,
  title: `Made by a form ${mark}`,
  kind: { incidents: 'near_miss' },
  occurred_at: '2026-11-02T08:30',
  item_key: 'clear',
  value: 'yes',
  run_id: mark,
};

// given fills a form's required fields in and returns their names.
async function given(page, c, fields) {
  for (const f of fields.filter((x) => x.required && !x.default && x.format !== 'number')) {
    const value = wanted[f.name]?.[c] ?? wanted[f.name];
    assert.ok(value, `${c}: the form requires ${f.name}`);
    const control = page.getByLabel(`${f.label} *`, { exact: true });
    if (f.one_of) await control.selectOption(value);
    else await control.fill(value);
    // A record is chosen from what is found.
    if (f.ref) await page.locator(`datalist option[value*="${value}"]`).first().waitFor({ state: 'attached' });
    if (f.ref)
      await control.fill(await page.locator(`datalist option[value*="${value}"]`).first().getAttribute('value'));
  }
}

// Comments are made beside a record (evidence.mjs), invitations in a dialog of the members (keyboard-admin.mjs).
const elsewhere = ['comments', 'invitations'];

// listed are the collections with lists that an administrator makes records of, with the fields of their forms.
async function listed() {
  const { collections } = await api(admin, '/catalog.json');
  const { collections: may } = await api(admin, '/v1/permissions');
  return collections
    .filter((c) => may[c.name]?.create && !elsewhere.includes(c.name))
    .map((c) => [
      c.name,
      c.fields.filter(
        (f) =>
          !f.read_only &&
          !['tenant_id', 'id'].includes(f.name) &&
          (may[c.name].create.fields?.includes(f.name) ?? true),
      ),
    ])
    .filter(([, fields]) => fields.some((f) => f.type === 'array'));
}

// inspection is a running inspection that an answer can be given to.
async function inspection() {
  const sections = [{ title: 'Aisles', items: [{ key: 'clear', prompt: 'Are they clear?', type: 'yes_no_na' }] }];
  const [template] = await api(admin, '/v1/checklist_templates', {
    method: 'POST',
    body: { code: `${mark}-ASKED`, title: 'Asked', sections },
  });
  await api(admin, `/v1/checklist_templates?id=eq.${template.id}`, { method: 'PATCH', body: { status: 'published' } });
  await api(admin, '/v1/checklist_runs', { method: 'POST', body: { template_id: template.id, title: mark } });
}

async function create(page, c, fill) {
  await open(page, `/console/c/${c}/new`);
  await settled(page);
  await fill();
  const answer = page.waitForResponse((r) => r.request().method() === 'POST' && r.url().includes(`/rest/v1/${c}?`));
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const r = await answer;
  assert.equal(r.status(), 201, `${c}: ${await r.text()}`);
  return r.json();
}

test('every form with lists is saved with its lists left empty, and they are read back empty', async () => {
  await inspection();
  const forms = await listed();
  assert.ok(forms.length >= 8, forms.map(([c]) => c).join());
  await as(admin, async (page) => {
    for (const [c, fields] of forms) {
      const made = await create(page, c, () => given(page, c, fields));
      const [row] = await api(admin, `/v1/${c}?id=eq.${made.id}`);
      for (const f of fields.filter((x) => x.type === 'array')) assert.deepEqual(row[f.name], [], `${c}.${f.name}`);
    }
  });
});

test('what is ticked, typed and found for a list is read back, and changed again', async () => {
  const [order] = await api(admin, '/v1/orders', { method: 'POST', body: { party_name: mark } });
  await as(admin, async (page) => {
    const course = await create(page, 'courses', async () => {
      await page.getByLabel('Code *').fill(`${mark}-LISTS`);
      await page.getByLabel('Title *').fill('With lists');
      const about = page.getByRole('group', { name: 'Entity types' });
      await about.getByLabel('Driver').check();
      await about.getByLabel('Zone').check();
      await page.getByLabel('Categories').fill('lifting, traffic');
      await page.getByLabel('Required for').fill('forklift');
    });
    assert.deepEqual(
      [course.entity_types, course.categories, course.required_for],
      [['driver', 'zone'], ['lifting', 'traffic'], ['forklift']],
    );
    await page.getByRole('button', { name: 'Edit' }).click();
    const edit = page.getByRole('dialog');
    await edit.getByRole('button', { name: 'Take out lifting' }).click();
    await edit.getByLabel('Driver').uncheck();
    await edit.getByRole('button', { name: 'Save' }).click();
    await edit.waitFor({ state: 'detached' });
    const [after] = await api(admin, `/v1/courses?id=eq.${course.id}`);
    assert.deepEqual([after.entity_types, after.categories, after.required_for], [['zone'], ['traffic'], ['forklift']]);
    const shipment = await create(page, 'shipments', async () => {
      const orders = page.getByRole('combobox', { name: /^Order/ }).first();
      await orders.fill(order.order_no);
      const found = page.locator(`datalist option[value*="${order.order_no}"]`).first();
      await found.waitFor({ state: 'attached' });
      await orders.fill(await found.getAttribute('value'));
      await page.locator('.chip', { hasText: order.order_no }).waitFor();
    });
    assert.deepEqual(shipment.order_ids, [order.id]);
  });
});
