// What a person typed is there again after whatever came between, until it is sent or dropped.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { api, as, open, password, person, settled, stocked, test } from './page.mjs';

const manager = 'manager@north.example';
const kept = 'What you typed here before was kept.';
const rpc = (verb, body) => api(manager, `/v1/rpc/${verb}`, { method: 'POST', body });

test('what was typed into a form is there after a way back, a reload and a session that was ended elsewhere', async () => {
  const email = await person('manager');
  const sku = `KEPT-${Date.now()}`;
  await as(email, async (page) => {
    await open(page, '/console/c/items');
    await page.getByRole('link', { name: 'New item' }).click();
    await page.getByLabel('SKU *').fill(sku);
    await page.getByLabel('Reorder point').fill('1,000');
    await page.goBack();
    await page.locator('tbody tr').first().waitFor();
    await page.goForward();
    await page.getByText(kept).waitFor();
    assert.equal(await page.getByLabel('SKU *').inputValue(), sku);
    await page.getByLabel('Name *').fill('Typed over a reload');
    await page.reload();
    await page.getByText(kept).waitFor();
    assert.equal(await page.getByLabel('Name *').inputValue(), 'Typed over a reload');
    await api(email, '/auth/v1/logout?scope=global', { method: 'POST' });
    // A list that the form still reads may be refused first, which takes the form away: the press is one step.
    await page.evaluate(() => [...document.querySelectorAll('button')].find((b) => b.textContent === 'Create')?.click());
    await page.getByText('Your session has ended').waitFor();
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText(kept).waitFor();
    assert.equal(await page.getByLabel('SKU *').inputValue(), sku);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: sku }).waitFor();
    const [item] = await api(manager, `/v1/items?select=name,reorder_point&sku=eq.${sku}`);
    assert.deepEqual([item.name, Number(item.reorder_point)], ['Typed over a reload', 1000]);
    await open(page, '/console/c/items/new');
    await page.getByLabel('SKU *').waitFor();
    assert.equal(await page.getByLabel('SKU *').inputValue(), '');
  });
});

test('a dialog keeps what was typed over Escape and a reload, begins anew when asked, and forgets on Cancel', async () => {
  const [item] = await stocked();
  await as(manager, async (page) => {
    const ask = async () => {
      await page.getByRole('button', { name: 'Move goods' }).click();
      await page.getByLabel('How much? *').waitFor();
    };
    const amount = () => page.getByLabel('How much? *').inputValue();
    // The field is drawn anew a moment after what stands above it.
    const isEmptied = async () => {
      for (let i = 0; i < 50 && (await amount()) !== ''; i++) await page.waitForTimeout(100);
      assert.equal(await amount(), '');
    };
    await open(page, `/console/c/items/${item.id}`);
    await ask();
    await page.getByLabel('How much? *').fill('3');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await ask();
    assert.equal(await amount(), '3');
    await page.reload();
    await ask();
    await page.getByText(kept).waitFor();
    assert.equal(await amount(), '3');
    await page.getByRole('button', { name: 'Begin anew' }).click();
    await page.getByText(kept).waitFor({ state: 'detached' });
    await isEmptied();
    await page.getByLabel('How much? *').fill('4');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await ask();
    await isEmptied();
  });
});

test('an edit that was left is held against what somebody else saved meanwhile', async () => {
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `LEFT-${Date.now()}`, name: 'First' },
  });
  await as(manager, async (page) => {
    await open(page, `/console/c/items/${item.id}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Name *').fill('Mine');
    await page.keyboard.press('Escape');
    await api(manager, `/v1/items?id=eq.${item.id}`, { method: 'PATCH', body: { name: 'Theirs' } });
    await page.reload();
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByText(kept).waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Somebody else changed this record while you were editing.').waitFor();
    assert.equal((await api(manager, `/v1/items?select=name&id=eq.${item.id}`))[0].name, 'Theirs');
  });
});

test('a kept choice of a record is shown by the name of what is sent', async () => {
  const carriers = await Promise.all(
    ['One', 'Two'].map((name) =>
      api(manager, '/v1/carriers', {
        method: 'POST',
        body: { name: `${name} ${Date.now()}`, code: `${name}${Date.now()}` },
      }).then(([c]) => c),
    ),
  );
  const [shipment] = await api(manager, '/v1/shipments', {
    method: 'POST',
    body: { direction: 'outbound', carrier_id: carriers[0].id },
  });
  await as(manager, async (page) => {
    await open(page, `/console/c/shipments/${shipment.id}`);
    // The carrier that is a record, beside the one that is a text.
    const carrier = page.locator('dialog .field', { hasText: 'Carrier' }).locator('input[list]');
    await page.getByRole('button', { name: 'Edit' }).click();
    await carrier.first().fill(carriers[1].code);
    await page.waitForFunction((id) => sessionStorage.getItem('holdfast.drafts')?.includes(id), carriers[1].id);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByText(kept).waitFor();
    await page.waitForFunction(
      (name) => [...document.querySelectorAll('dialog input')].some((i) => i.value.includes(name)),
      carriers[1].name,
    );
    assert.ok(!(await carrier.first().inputValue()).includes(carriers[0].name));
  });
});

test('what stands on the dock is there after a reload, and gone from the form once it is booked', async () => {
  const [item] = await stocked();
  const [order] = await api(manager, '/v1/orders', {
    method: 'POST',
    body: { type: 'inbound', party_name: 'Typed on the dock' },
  });
  await api(manager, '/v1/order_lines', {
    method: 'POST',
    body: { order_id: order.id, line_no: 10, item_id: item.id, qty_ordered: 7 },
  });
  await rpc('confirm_order', { order_id: order.id });
  await as(manager, async (page) => {
    await open(page, `/console/floor/receive?order=${order.id}`);
    const came = page.getByLabel(`Came: ${item.sku}`).getByRole('textbox');
    await came.fill('2');
    await page.reload();
    await page.getByText(kept).waitFor();
    assert.equal(await came.inputValue(), '2');
    await page.getByRole('button', { name: 'Take 1 line in' }).click();
    await page.getByText('The goods are in').waitFor();
    await open(page, `/console/floor/receive?order=${order.id}`);
    await page.getByText('5 expected').waitFor();
    assert.equal(await came.inputValue(), '0');
  });
});

test('nobody else finds it in the same tab, and the browser asks before it is lost', async () => {
  const [one, other] = [await person('manager'), await person('manager')];
  await as(one, async (page) => {
    const asked = [];
    page.on('dialog', (d) => {
      asked.push(d.type());
      void d.accept();
    });
    await open(page, '/console/c/items/new');
    await page.reload();
    await page.getByLabel('SKU *').pressSequentially('MINE');
    assert.deepEqual(asked, []);
    await page.reload();
    await page.getByText(kept).waitFor();
    assert.deepEqual(asked, ['beforeunload']);
    await page.locator('.foot button').first().click();
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    assert.equal(await page.getByText('Your session has ended').count(), 0);
    await page.getByLabel('E-mail address').fill(other);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByLabel('SKU *').waitFor();
    assert.equal(await page.getByLabel('SKU *').inputValue(), '');
    assert.equal(await page.getByText(kept).count(), 0);
  });
});

test('each question that takes words keeps them', () => {
  const root = new URL('../../console/src/', import.meta.url);
  const forgets = [];
  for (const f of readdirSync(root, { recursive: true }).filter((f) => f.endsWith('.tsx'))) {
    const source = readFileSync(new URL(f, root), 'utf8');
    for (const [ask] of source.matchAll(/<Ask\b[\s\S]*?(?:<\/Ask>|\n\s*\/>)/g)) {
      const typed = [...ask.matchAll(/<(?:Input|Area|NumberInput|Amount|Reference|Odometer)\b[\s\S]*?\/>/g)].map(
        ([x]) => x,
      );
      // A password and a code that is used once are kept nowhere.
      const words = typed.filter((x) => !/type="password"|autocomplete="one-time-code"|readOnly/.test(x));
      if (words.length && !ask.includes('draft={')) forgets.push(`${f}: ${ask.slice(0, 120)}`);
    }
  }
  assert.deepEqual(forgets, []);
});
