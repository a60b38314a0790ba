// Fields as people fill them: numbers of their language, colleagues by name, and nothing that the server knows better.
import assert from 'node:assert/strict';
import { speak, wordsIn } from './languages.mjs';
import { api, as, chosen, narrow, newBin, open, person, session, settled, test } from './page.mjs';

const admin = 'admin@north.example';
const manager = 'manager@north.example';
const mark = `FIELD-${Date.now()}`;

// What is typed for a unit cost and a reorder point, which answer is pressed where the console asks, and what is stored.
const typed = {
  en: [
    ['9.99', '', 9.99],
    ['9,99', '', 9.99],
    ['1,000', '', 1000],
    ['1.000', '1,000', 1000],
    ['1.000', '1', 1],
    ['1,234.5', '', 1234.5],
    ['1 234', '', 1234],
  ],
  de: [
    ['9,99', '', 9.99],
    ['9.99', '', 9.99],
    ['1.000', '', 1000],
    ['1,000', '1.000', 1000],
    ['1,000', '1', 1],
    ['1.234,5', '', 1234.5],
    ["1'234", '', 1234],
  ],
  fr: [
    ['9,99', '', 9.99],
    ['9.99', '', 9.99],
    ['1 000', '', 1000],
    ['1.000', '1 000', 1000],
    ['1.000', '1', 1],
    ['1 234,5', '', 1234.5],
    ['1.234.567', '', 1234567],
  ],
};

for (const language of Object.keys(typed)) {
  test(`a number typed in ${language} is stored as it is meant, whatever the browser speaks, and a doubtful one is asked about`, async () => {
    const said = wordsIn(language);
    const [item] = await api(manager, '/v1/items', {
      method: 'POST',
      body: { sku: `${mark}-${language}`, name: 'Has numbers' },
    });
    await as(
      manager,
      async (page, context) => {
        await speak(language, context);
        await open(page, `/console/c/items/${item.id}`);
        for (const [text, answer, stored] of typed[language]) {
          await page.getByRole('button', { name: said('Edit'), exact: true }).click();
          const form = page.getByRole('dialog');
          const cost = form.getByLabel(said('Reorder point'), { exact: true });
          await cost.fill(text);
          if (answer) {
            await form.getByRole('button', { name: said('Save') }).click();
            await form.getByText(said('Which number is meant?')).waitFor();
            await form
              .getByRole('button', { name: new RegExp(`^${answer.replace(' ', '\\s').replace('.', '\\.')}$`) })
              .click();
          }
          await form.getByRole('button', { name: said('Save') }).click();
          await form.waitFor({ state: 'detached' });
          const [after] = await api(manager, `/v1/items?select=reorder_point&id=eq.${item.id}`);
          assert.equal(Number(after.reorder_point), stored, `${text} in ${language}`);
          await api(manager, `/v1/items?id=eq.${item.id}`, { method: 'PATCH', body: { reorder_point: 7 } });
          await page.reload();
        }
        await page.getByRole('button', { name: said('Edit'), exact: true }).click();
        const form = page.getByRole('dialog');
        await form.getByLabel(said('Reorder point'), { exact: true }).fill('seven');
        await form.getByRole('button', { name: said('Save') }).click();
        await form.getByText(said('This is not a number.')).waitFor();
      },
      { locale: language === 'en' ? 'de-DE' : 'en-US' },
    );
  });
}

test('a count of 1.000 typed in German on a phone is a thousand, and one of 1,000 waits until it is known', async () => {
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `${mark}-COUNT`, name: 'Counted in German' },
  });
  const bin = await newBin(`${mark}-BIN`);
  const { count_task: task } = await api(manager, '/v1/rpc/start_count', {
    method: 'POST',
    body: { zone_id: bin.id, item_id: item.id },
  });
  await as(
    'operator@north.example',
    async (page) => {
      await open(page, `/console/floor/count/${task.id}`);
      const amount = page.getByRole('group', { name: `Gefunden: ${item.sku}` });
      const all = page.getByRole('button', { name: 'Das ist alles: 1 Zeile' });
      await amount.getByRole('textbox').fill('1,000');
      assert.ok(await all.isDisabled());
      await amount.getByText('Welche Zahl ist gemeint?').waitFor();
      await amount.getByRole('textbox').fill('1.000');
      await all.click();
      await page.getByRole('heading', { name: bin.code }).waitFor();
      await all.waitFor({ state: 'detached' });
    },
    { viewport: narrow, hasTouch: true, locale: 'de-DE' },
  );
  const [line] = await api(manager, `/v1/count_lines?select=counted&count_task_id=eq.${task.id}`);
  assert.equal(Number(line.counted), 1000);
});

test('a colleague is chosen by name or address, and what is no colleague is not sent', async () => {
  const [lead] = await api(admin, '/v1/members?select=user_id,email&email=eq.safety@north.example');
  await as(admin, async (page) => {
    await open(page, '/console/c/toolbox_talks/new');
    await settled(page);
    const leader = page.getByLabel('Leader user *');
    await page.waitForFunction(() =>
      /admin@north\.example/.test([...document.querySelectorAll('input')].map((i) => i.value).join()),
    );
    await page.getByLabel('Topic *').fill(mark);
    await page.getByLabel('Held at *').fill('2026-11-02T08:30');
    await leader.fill('nobody here');
    const sent = [];
    page.on('request', (r) => r.method() === 'POST' && r.url().includes('toolbox_talks') && sent.push(r.url()));
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('Choose one of those that are found').waitFor();
    assert.deepEqual(sent, []);
    await leader.fill('safety@north.example');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: mark }).waitFor();
  });
  const [talk] = await api(admin, `/v1/toolbox_talks?select=leader_user_id&topic=eq.${mark}`);
  assert.equal(talk.leader_user_id, lead.user_id);
});

test('a record is chosen by its exact code, typed or scanned, and a form begun from a record names it', async () => {
  const bin = await newBin(`${mark}-CODE`);
  const [order] = await api(manager, '/v1/orders', { method: 'POST', body: { party_name: mark } });
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `${mark}-EXACT`, name: 'Found by its number' },
  });
  await as(manager, async (page) => {
    await open(page, `/console/c/order_lines/new?order_id=${order.id}`);
    await settled(page);
    await page.waitForFunction(
      (no) => [...document.querySelectorAll('input')].some((i) => i.value.startsWith(no)),
      order.order_no,
    );
    await page.getByLabel('Line no *').fill('10');
    await page.getByLabel('Item *').fill(item.sku.toLowerCase());
    await page.getByLabel('Qty ordered *').fill('3');
    await chosen(page);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('button', { name: 'Edit' }).waitFor();
  });
  await as(admin, async (page) => {
    await open(page, '/console/c/report_links/new');
    await settled(page);
    await page.getByLabel('Name *').fill(mark);
    await page.getByLabel('Zone', { exact: true }).fill(bin.code);
    await chosen(page);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('button', { name: 'Edit' }).waitFor();
  });
  const [line] = await api(manager, `/v1/order_lines?select=item_id&order_id=eq.${order.id}`);
  assert.equal(line.item_id, item.id);
  const [link] = await api(admin, `/v1/report_links?select=zone_id&name=eq.${mark}`);
  assert.equal(link.zone_id, bin.id);
});

test('a new incident asks neither for its number, nor its state, nor what only its end tells, and says what is missing', async () => {
  const operator = await person('operator');
  await as(
    operator,
    async (page) => {
      await open(page, '/console/report');
      await page.getByRole('link', { name: 'More: the whole form' }).click();
      await page.getByRole('heading', { name: 'New incident' }).waitFor();
      await settled(page);
      for (const label of [
        'Incident no',
        'Status',
        'Void reason',
        'Reopen reason',
        'Reported by',
        'Duplicate of',
        'Root causes',
      ])
        assert.equal(await page.getByText(label, { exact: true }).count(), 0, label);
      await page.getByLabel('Title *').fill(`${mark} oil on the floor`);
      await page.getByLabel('Occurred at *').fill('2026-11-02T08:30');
      await page.getByLabel('Kind *').evaluate((e) => (e.value = ''));
      await page.getByLabel('Title *').fill('');
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByText('This is needed.').first().waitFor();
      await page.waitForFunction(() => document.activeElement?.getAttribute('aria-invalid') === 'true');
      const seen = await page.evaluate(() => {
        const r = document.activeElement.getBoundingClientRect();
        return r.top >= 0 && r.bottom <= innerHeight;
      });
      assert.ok(seen, 'what is wrong is in sight');
      await page.getByLabel('Kind *').selectOption('near_miss');
      await page.getByLabel('Title *').fill(`${mark} oil on the floor`);
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByRole('heading', { name: /oil on the floor/ }).waitFor();
    },
    { viewport: narrow, hasTouch: true },
  );
  const [made] = await api(
    admin,
    `/v1/incidents?select=incident_no,status,reported_by&title=eq.${encodeURIComponent(`${mark} oil on the floor`)}`,
  );
  assert.equal(made.status, 'reported');
  assert.ok(made.incident_no);
  assert.equal(made.reported_by, (await session(operator)).user.id);
});

test('a price is shown with the unit that it is of, and the order of its lines with their amounts', async () => {
  const [order] = await api(manager, '/v1/orders', { method: 'POST', body: { party_name: mark } });
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `${mark}-CASE`, name: 'Sold by the case' },
  });
  await api(manager, '/v1/item_uoms', { method: 'POST', body: { item_id: item.id, uom: 'CS', factor: 12 } });
  await api(manager, '/v1/order_lines', {
    method: 'POST',
    body: { order_id: order.id, line_no: 1, item_id: item.id, qty_ordered: 30, unit_price: 21.2, price_uom: 'CS' },
  });
  await api(manager, '/v1/order_lines', {
    method: 'POST',
    body: { order_id: order.id, line_no: 2, item_id: item.id, qty_ordered: 4, unit_price: 2 },
  });
  await as(manager, async (page) => {
    await open(page, `/console/c/orders/${order.id}`);
    await settled(page);
    const rows = (await page.locator('main .table tbody tr').allInnerTexts()).map((text) => text.replace(/\s+/g, ' '));
    assert.match(rows[0], /€21\.20 \/ CS.*€53\.00/);
    assert.match(rows[1], /€2\.00 \/ EA.*€8\.00/);
  });
  // Who does not see costs has no column and no field of them.
  await as('operator@north.example', async (page) => {
    for (const [path, shown] of [
      [`/console/c/orders/${order.id}`, `${mark}-CASE`],
      [`/console/c/items/${item.id}`, `${mark}-CASE`],
      ['/console/c/items', 'SKU'],
      ['/console/c/orders', mark],
    ]) {
      await open(page, path);
      await settled(page);
      const text = await page.locator('main').innerText();
      assert.ok(text.includes(shown), `${path} shows ${shown}: ${text}`);
      assert.doesNotMatch(text, /€|unit cost|unit price|stock value|total value|^amount$/im, path);
    }
    const [line] = await api('operator@north.example', `/v1/order_lines?select=id&order_id=eq.${order.id}&line_no=eq.2`);
    await open(page, `/console/c/order_lines/${line.id}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Qty ordered').first().waitFor();
    assert.equal(await page.getByLabel('Unit price').count(), 0);
  });
});

test('codes of countries, time zones and units are offered with what they mean, in the language of the person', async () => {
  for (const [language, country] of [
    ['en', 'Germany'],
    ['de', 'Deutschland'],
    ['fr', 'Allemagne'],
  ]) {
    const said = wordsIn(language);
    await as(admin, async (page, context) => {
      await speak(language, context);
      await open(page, '/console/c/sites/new');
      await page.locator('datalist option[value="DE"]', { hasText: country }).waitFor({ state: 'attached' });
      await page.locator('datalist option[value="Europe/Lisbon"]').waitFor({ state: 'attached' });
      assert.equal(await page.locator('datalist option:is([value="ZZ"], [value="EU"], [value="DD"])').count(), 0);
      await page.getByLabel(said('Country'), { exact: true }).fill('DE');
      await page.locator('.help').getByText(country, { exact: true }).waitFor();
      await open(page, '/console/c/items/new');
      await page.locator('datalist option[value="KGM"]').first().waitFor({ state: 'attached' });
      await page.getByLabel(said('Base unit'), { exact: true }).fill('KGM');
      await page
        .locator('.help')
        .getByText(/kilogram/i)
        .waitFor();
    });
  }
});
