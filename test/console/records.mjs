// Lists, records and forms of any collection.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { api, as, open, settled, test } from './page.mjs';

const manager = 'manager@north.example';

test('pages of a list go on past ties and into the rows without a value, each row once, either way', async () => {
  const tag = `PAGES-${Date.now()}`;
  const sku = (n) => `${tag}-${String(n).padStart(3, '0')}`;
  const named = Array.from({ length: 120 }, (_, n) => ({
    sku: sku(n),
    name: tag,
    category: n < 70 ? `${tag} ${n % 7}` : null,
  }));
  await api(manager, '/v1/items', { method: 'POST', body: named });
  for (const way of ['asc', 'desc']) {
    await as(manager, async (page) => {
      await open(page, `/console/c/items?f=name.eq.${tag}&cols=sku,category&order=category.${way}`);
      const seen = [];
      for (const from of [1, 51, 101]) {
        await page.getByText(new RegExp(`^${from}–`)).waitFor();
        await settled(page);
        const rows = await page.locator('tbody tr').allInnerTexts();
        seen.push(
          ...rows.map((text) => [
            new RegExp(`${tag}-\\d+`).exec(text)[0],
            new RegExp(`${tag} \\d`).exec(text)?.[0] ?? '',
          ]),
        );
        if (from < 101) await page.getByRole('button', { name: 'Next' }).click();
      }
      assert.deepEqual(
        seen.map(([s]) => s).sort(),
        named.map((x) => x.sku),
        way,
      );
      const having = seen.map(([, category]) => category).filter(Boolean);
      assert.deepEqual(having, way === 'asc' ? having.toSorted() : having.toSorted().reverse(), way);
      assert.ok(
        seen.slice(70).every(([, category]) => !category),
        'those without a value come last',
      );
    });
  }
});

test('a list is searched, filtered, sorted and paged, and its address says so', async () => {
  await as(manager, async (page) => {
    await open(page, '/console/c/orders');
    await settled(page);
    await page.getByRole('combobox', { name: 'Status' }).selectOption('completed');
    await page.waitForURL(/f=status\.eq\.completed/);
    await page.getByRole('button', { name: 'Order no' }).click();
    await page.waitForURL(/order=order_no\.asc/);
    await settled(page);
    const first = await page.locator('tbody tr a').first().innerText();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.waitForURL(/after=/);
    await page.getByText(/^51–/).waitFor();
    await settled(page);
    const second = await page.locator('tbody tr a').first().innerText();
    assert.ok(second > first, `${second} after ${first}`);
    await page.goBack();
    await page.getByText(/^1–50/).waitFor();
    await page.getByRole('button', { name: /Remove the filter/ }).click();
    await page.waitForURL((u) => !u.search.includes('f='));
  });
});

test('what is saved as CSV is what the search shows', async () => {
  const mark = `CSV${Date.now()}`;
  await api(manager, '/v1/items', {
    method: 'POST',
    body: [
      { sku: `${mark}-1`, name: 'One' },
      { sku: `${mark}-2`, name: 'Two' },
    ],
  });
  await as(manager, async (page) => {
    await open(page, '/console/c/items');
    await page.getByRole('searchbox', { name: 'Search in this list' }).fill(mark);
    await page.getByText('of 2 records').waitFor();
    await page.locator('.filters').getByRole('button', { name: 'More' }).click();
    const file = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as CSV' }).click();
    const lines = readFileSync(await (await file).path(), 'utf8')
      .trim()
      .split('\n');
    assert.equal(lines.length, 3, lines.slice(0, 5).join('\n'));
  });
});

test('the stock value of a day is saved from the list of items, and is not offered to who carries them', async () => {
  const button = { name: 'Stock value of a day' };
  await as(manager, async (page) => {
    await open(page, '/console/c/items');
    await page.getByRole('button', button).click();
    const dialog = page.getByRole('dialog', button);
    await dialog.getByLabel('Day').fill('2001-02-03');
    const file = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Save as CSV' }).click();
    const saved = await file;
    assert.equal(saved.suggestedFilename(), 'stock-value-2001-02-03.csv');
    const [, row] = readFileSync(await saved.path(), 'utf8').split('\n');
    assert.match(row, /^2001-02-03,,no stock at the end of this day,/);
  });
  await as('operator@north.example', async (page) => {
    await open(page, '/console/c/items');
    await page.locator('tbody tr').first().waitFor();
    assert.equal(await page.getByRole('button', button).count(), 0);
  });
});

test('labels and papers are saved from the record, and a shipment that comes in has none', async () => {
  const [zone] = await api(manager, '/v1/zones?select=id,code&kind=eq.bin&order=code&limit=1');
  const [out] = await api(manager, '/v1/shipments?select=id,shipment_no&direction=eq.outbound&order=id.desc&limit=1');
  const [list] = await api(manager, '/v1/pick_lists?select=id,pick_no&order=id.desc&limit=1');
  await as(manager, async (page) => {
    const saved = async (button, name, begins) => {
      const file = page.waitForEvent('download');
      await page.getByRole('button', { name: button, exact: true }).click();
      const got = await file;
      assert.ok(
        got.suggestedFilename().includes(name.split('.')[0]) && got.suggestedFilename().endsWith(name.slice(-4)),
        `${got.suggestedFilename()}, not ${name}`,
      );
      assert.ok(readFileSync(await got.path(), 'utf8').startsWith(begins), name);
    };
    await open(page, `/console/c/zones/${zone.id}`);
    await saved('Print label', `${zone.code}.pdf`, '%PDF-');
    await page.getByRole('button', { name: 'More' }).click();
    await saved('Label in ZPL', `${zone.code}.zpl`, '^XA');
    await open(page, `/console/c/zones?q=${zone.code}`);
    await page.getByText(/of \d+ records?/).waitFor();
    await page.locator('.filters').getByRole('button', { name: 'More' }).click();
    await saved('Print labels', 'zones-labels.pdf', '%PDF-');
    await open(page, `/console/c/shipments/${out.id}`);
    await saved('Delivery note', `${out.shipment_no}.pdf`, '%PDF-');
    await open(page, `/console/c/pick_lists/${list.id}`);
    await saved('Print', `${list.pick_no}.pdf`, '%PDF-');
    const [inbound] = await api(manager, '/v1/shipments', {
      method: 'POST',
      body: { direction: 'inbound' },
      headers: { Prefer: 'return=representation' },
    });
    await open(page, `/console/c/shipments/${inbound.id}`);
    await page.getByRole('heading', { name: new RegExp(inbound.shipment_no) }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Delivery note' }).count(), 0);
  });
});

test('a record is made, refused at the field, opened and changed with the keyboard alone', async () => {
  const sku = `KEY-${Date.now()}`;
  await as(manager, async (page) => {
    await open(page, '/console/c/items');
    await settled(page);
    await page.keyboard.press('n');
    await page.getByRole('heading', { name: 'New item' }).waitFor();
    await page.getByLabel('Name', { exact: false }).first().focus();
    await page.keyboard.type('Made by keys');
    await page.keyboard.press('Enter');
    await page.locator('.wrong', { hasText: 'This is needed.' }).waitFor();
    await page.locator('input[aria-invalid=true]').focus();
    await page.keyboard.type(sku);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: new RegExp(sku) }).waitFor();
    await page.keyboard.press('e');
    await page.getByRole('dialog').getByLabel('Name', { exact: false }).first().focus();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('Changed by keys');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /Changed by keys/ }).waitFor();
  });
});

test('when somebody else was faster the form asks field by field', async () => {
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `RACE-${Date.now()}`, name: 'At first', description: 'old' },
  });
  await as(manager, async (page) => {
    await open(page, `/console/c/items/${item.id}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Name *').fill('Mine');
    await api(manager, `/v1/items/${item.id}`, { method: 'PATCH', body: { name: 'Theirs' } });
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByText('Somebody else changed this record while you were editing.').waitFor();
    await form.getByRole('cell', { name: 'Mine' }).waitFor();
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: /Mine/ }).waitFor();
  });
});

test('the history says who changed what', async () => {
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `WHO-${Date.now()}`, name: 'Before' },
  });
  await api(manager, `/v1/items/${item.id}`, { method: 'PATCH', body: { name: 'After' } });
  await as('admin@north.example', async (page) => {
    await open(page, `/console/c/items/${item.id}`);
    const history = page.locator('.card', { has: page.getByRole('heading', { name: 'History' }) });
    await history.getByText('manager@north.example').first().waitFor();
    await history.getByText('After').waitFor();
  });
});

test('hostile text is shown, never run', async () => {
  const hostile = '"><img src=x onerror=alert(1)><script>alert(2)</script>';
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `BAD-${Date.now()}`, name: hostile.slice(0, 190) },
  });
  await as(manager, async (page) => {
    page.on('dialog', () => assert.fail('a script ran'));
    await open(page, `/console/c/items/${item.id}`);
    await page.getByRole('heading', { name: /onerror/ }).waitFor();
    assert.equal(await page.locator('main img').count(), 0);
  });
});

test('a viewer is offered nothing that the role may not do', async () => {
  await as('viewer@north.example', async (page) => {
    await open(page, '/console/c/orders');
    await settled(page);
    assert.equal(await page.getByRole('link', { name: /New order|Import/ }).count(), 0);
    await page.locator('tbody tr a').first().click();
    await page.getByRole('heading', { name: 'Details' }).waitFor();
    assert.equal(await page.getByRole('button', { name: /Edit|Confirm|Put on hold/ }).count(), 0);
  });
});

test('the palette finds a record by its number and goes there', async () => {
  const [order] = await api(manager, '/v1/orders?select=id,order_no&limit=1');
  await as(manager, async (page) => {
    await open(page, '/console/');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('');
    await page.keyboard.type(order.order_no);
    await page.getByRole('option', { name: new RegExp(order.order_no) }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: new RegExp(order.order_no) }).waitFor();
  });
});
