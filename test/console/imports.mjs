// Real files of a warehouse: corrected, applied, seen, and taken back with what stands in the way.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { api, as, founder, open, picture, settled, test, url, violations } from './page.mjs';

const files = new URL('../supabase/testdata/', import.meta.url).pathname;

// applied sends a file through the wizard and applies it.
async function applied(page, target, file, rows) {
  await open(page, `/console/imports/new?target=${target}`);
  await page.locator('input[type=file]').setInputFiles(files + file);
  await page.getByRole('button', { name: `Apply ${rows} rows` }).click();
  await page.getByRole('button', { name: 'Roll back' }).waitFor();
  return page.url().split('/').pop();
}

// undone rolls back the import that is shown.
async function undone(page) {
  await page.getByRole('button', { name: 'Roll back' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
}

test('the OpenBoxes files are imported, two rows corrected, seen on dashboard and map, and rolled back past what stands in the way', async () => {
  const email = await founder('OpenBoxes');
  await as(email, async (page) => {
    await page.goto(`${url}/console/`);
    await page.getByRole('button', { name: /OpenBoxes/ }).click();
    await page.getByRole('heading', { name: 'Warehouse', exact: true }).waitFor();
    await applied(page, 'zones', 'openboxes_binLocations.csv', 40);
    const items = await applied(page, 'items', 'openboxes_inventoryLevels.csv', 52);

    // Two counted quantities of nothing are put right in the table.
    await open(page, '/console/imports/new?target=stock_movements');
    await page.locator('input[type=file]').setInputFiles(`${files}openboxes_mainWarehouseInventory.csv`);
    await page.getByRole('button', { name: 'Apply 43 rows' }).waitFor();
    await picture(page, 'import');
    for (const [n, line] of [
      [1, 4],
      [2, 12],
    ]) {
      const cell = page.getByLabel(`Physical QOH, line ${line}`, { exact: true });
      await cell.fill('25');
      await cell.press('Tab');
      await page.getByRole('button', { name: `Apply ${43 + n} rows` }).waitFor();
    }
    await page.getByRole('button', { name: 'Apply 45 rows' }).click();
    await page.getByRole('button', { name: 'Roll back' }).waitFor();
    const stock = page.url().split('/').pop();

    // What each row did, and the figures of the warehouse.
    const done = page.getByRole('region', { name: 'Rows' }).getByRole('row').filter({ hasText: 'TS894' });
    await done.getByText('New', { exact: true }).waitFor();
    await done.getByRole('link', { name: 'Open' }).waitFor();
    await open(page, '/console/');
    await settled(page);
    await page
      .getByRole('link', { name: /^Low stock/ })
      .getByText('of 52 items')
      .waitFor();
    await open(page, '/console/map');
    await settled(page);
    await page.getByText('Without coordinates').waitFor();
    await page.getByRole('button', { name: /^MW-1-1-1,/ }).click();
    await page.getByRole('dialog', { name: 'MW-1-1-1' }).getByText('TS894').first().waitFor();

    // Products cannot go while stock is booked on them: each is named with the reason.
    await open(page, `/console/imports/${items}`);
    await undone(page);
    const ask = page.getByRole('dialog');
    await ask.getByText('These stand in the way').waitFor();
    const told = ask.getByRole('listitem').filter({ hasText: 'TS894' });
    await told.getByText('is used by a record of lots').waitFor();
    assert.match(await told.getByRole('link').getAttribute('href'), /^\/console\/c\/items\/[0-9a-f-]{36}$/);
    assert.deepEqual(await violations(page, 'conflicts'), []);
    await picture(page, 'rollback');
    await ask.getByLabel('Take back the rest, and leave those as they are').check();
    await ask.getByRole('button', { name: 'Roll back' }).click();
    await page.getByRole('heading', { name: 'Left as they are' }).waitFor();

    // And the stock; the history says what each file did and what of it was taken back.
    await open(page, `/console/imports/${stock}`);
    await undone(page);
    await page.getByText('Rolled back', { exact: true }).first().waitFor();
    await open(page, '/console/imports');
    await page.getByRole('row', { name: /mainWarehouseInventory.*Rolled back/ }).waitFor();
    const cells = (file) =>
      page
        .getByRole('row', { name: new RegExp(file) })
        .getByRole('cell')
        .allInnerTexts();
    assert.deepEqual((await cells('mainWarehouseInventory')).slice(3, 8), ['Rolled back', '57', '12', '45', '45']);
    assert.deepEqual((await cells('inventoryLevels')).slice(3, 8), ['Completed', '52', '0', '52', '7']);
    await open(page, '/console/');
    await settled(page);
    await page
      .getByRole('link', { name: /^Low stock/ })
      .getByText('of 45 items')
      .waitFor();
  });
});

test('a file sent for the wrong target is led to the right one, without sending it again', async () => {
  await as('manager@north.example', async (page) => {
    await open(page, '/console/imports/new?target=items');
    const places = 'code,name,kind\nLED-1,Led here,bin\nLED-2,Led there,bin\n';
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'places.csv', mimeType: 'text/csv', buffer: Buffer.from(places) });
    const target = page.getByLabel('What is in the file?');
    await page.getByText('It cannot go on like this').or(page.getByText('One question before it goes on')).waitFor();
    await target.selectOption('zones');
    await page.getByRole('button', { name: 'Apply 2 rows' }).click();
    await page.getByText('Completed', { exact: true }).waitFor();
    assert.equal(await target.count(), 0);
    const made = await api('manager@north.example', '/v1/zones?select=name&code=eq.LED-2');
    assert.deepEqual(made, [{ name: 'Led there' }]);
  });
});

test('a file whose letters make words in several encodings is asked about with its words, and a column that is left out stays out', async () => {
  const email = await founder('Letters');
  await as(email, async (page) => {
    await page.goto(`${url}/console/`);
    await page.getByRole('button', { name: /Letters/ }).click();
    await page.getByRole('heading', { name: 'Warehouse', exact: true }).waitFor();
    await open(page, '/console/imports/new?target=zones');
    const letters = [0xc2, 0xe8, 0xeb, 0xfb]; // Вилы in Windows-1251
    const buffer = Buffer.concat([
      Buffer.from('code;name;storage class\nQ1;'),
      Buffer.from(letters),
      Buffer.from(';cool\n'),
    ]);
    await page.locator('input[type=file]').setInputFiles({ name: 'zones.csv', mimeType: 'text/csv', buffer });
    await page.getByText('which of these are its words?').waitFor();
    await page.getByRole('button', { name: 'Вилы (windows-1251)' }).click();
    await page.getByRole('button', { name: 'Apply 1 row' }).waitFor();
    assert.deepEqual(await violations(page, 'encoding'), []);

    const columns = page.getByRole('region', { name: 'Columns' });
    await columns
      .getByRole('row', { name: /storage class/ })
      .getByRole('combobox')
      .selectOption('');
    await page.getByRole('button', { name: 'Check with these columns' }).click();
    await page.getByText('The mapping leaves "Storage class" out').waitFor();
    await page.getByRole('button', { name: 'Apply 1 row' }).click();
    await page.getByRole('button', { name: 'Roll back' }).waitFor();
    await open(page, '/console/c/zones');
    await page.getByText('Вилы').first().waitFor();
  });
});

// read sends a file into the wizard, as a target.
async function read(page, target, name, content) {
  await open(page, `/console/imports/new?target=${target}`);
  const buffer = typeof content === 'string' ? Buffer.from(content) : content;
  await page.locator('input[type=file]').setInputFiles({ name, mimeType: 'application/octet-stream', buffer });
}

const cases = new URL('../../internal/imports/testdata/cases/', import.meta.url).pathname;

test('the wizard shows encoding, joined columns, meanings of words, hidden rows and totals, and takes what is said of them', async () => {
  const email = await founder('Wizard');
  await as(email, async (page) => {
    await page.goto(`${url}/console/`);
    await page.getByRole('button', { name: /Wizard/ }).click();
    await page.getByRole('heading', { name: 'Warehouse', exact: true }).waitFor();
    const rows = page.getByRole('region', { name: 'Rows' });
    const columns = page.getByRole('region', { name: 'Columns' });
    const shown = (label) => page.getByRole('tab', { name: label }).click();

    // Letters of a Mac are named, can be read otherwise, and as they were found again.
    await read(page, 'zones', 'zones.csv', readFileSync(`${cases}mac-roman-cr.csv`));
    const encoding = page.getByLabel('Encoding of the letters');
    await encoding.getByRole('option', { name: 'as it was found: Mac Roman' }).waitFor({ state: 'attached' });
    assert.match(await columns.getByRole('row', { name: /^name/ }).innerText(), /Zürich Süd · Genève/);
    await encoding.selectOption('windows-1251');
    await columns.getByText('Zџrich').waitFor();
    await encoding.selectOption('');
    await columns.getByText('Zürich Süd').waitFor();
    assert.deepEqual(await violations(page, 'how a file is read'), []);

    // Date and time of day are joined, and say so beside three cells of each; words that
    // mean nothing are given their meaning once for all rows.
    await read(
      page,
      'incidents',
      'accidents.csv',
      [
        'Date,Time,Title,Severity',
        '2026-01-15,3:15 PM,Fall,really bad',
        '2026-01-16,8:00 AM,Cut,high',
        '2026-01-16,9:30 AM,Slip,really bad',
        '2026-01-17,10:45 AM,Trip,?',
        '',
      ].join('\n'),
    );
    await page.getByText('the file has no column for "Kind"').waitFor();
    assert.equal(await page.getByLabel('Field').inputValue(), 'kind');
    assert.deepEqual(await violations(page, 'one value for all rows'), []);
    await page.getByLabel('Or one value for all rows').selectOption('injury');
    await page.getByRole('button', { name: 'Use this value' }).click();
    await columns.getByText('joined: Date + Time').waitFor();
    assert.match(await columns.getByRole('row', { name: /^Time/ }).innerText(), /3:15 PM · 8:00 AM · 9:30 AM/);
    const words = page.getByRole('region', { name: 'What these words mean' });
    await words.getByLabel('really bad means').selectOption('critical');
    await words.getByLabel('? means').selectOption({ label: 'nothing' });
    assert.deepEqual(await violations(page, 'meanings of words'), []);
    await page.getByRole('button', { name: 'Check with these meanings' }).click();
    await page.getByRole('button', { name: 'Apply 4 rows' }).waitFor();
    await shown(/What will change/);
    const change = (line) => page.getByRole('listitem').filter({ hasText: `line ${line}` });
    assert.match(await change(2).innerText(), /Fall[^]*2026-01-15T15:15[^]*critical/);
    assert.match(await change(4).innerText(), /Slip[^]*2026-01-16T09:30[^]*critical/);

    // Rows that a filter hides are counted and can be left out.
    await read(page, 'items', 'filtered.xlsx', readFileSync(`${cases}hidden-by-filter.xlsx`));
    await page.getByText('1 row is hidden on the sheet').waitFor();
    await page.getByLabel('Leave out rows that the sheet hides').click();
    await page.getByRole('button', { name: 'Apply 2 rows' }).waitFor();
    await shown('All rows');
    await rows.getByLabel('name, line 2', { exact: true }).waitFor();
    assert.equal(await rows.getByLabel('name, line 4', { exact: true }).inputValue(), 'three');
    assert.equal(await rows.getByLabel('name, line 3', { exact: true }).count(), 0);

    // A row of sums is named and can be left out.
    await read(page, 'items', 'stock.csv', 'sku;name;max\nA;one;5\nB;two;7\nTotal;;12\n');
    await page.getByText('Line 4 looks like a total of the others').waitFor();
    await page.getByLabel('Leave out rows that look like totals').click();
    await page.getByRole('button', { name: 'Apply 2 rows' }).waitFor();
    await page.getByText('All 2 rows are ready').waitFor();
    await page.getByRole('button', { name: 'Apply 2 rows' }).click();
    await page.getByRole('button', { name: 'Roll back' }).waitFor();

    // A list of prices changes the items that are there.
    await read(page, 'items', 'prices.csv', 'sku,unit_cost\nA,5\n');
    await page.getByRole('button', { name: 'It only changes records that are there' }).click();
    await page.getByRole('button', { name: 'Apply 1 row', exact: true }).waitFor();

    // The sheet that fits is one answer away.
    await read(page, 'items', 'prices.xlsx', readFileSync(`${cases}second-sheet-fits.xlsx`));
    await page.getByRole('button', { name: 'Read the sheet Items' }).click();
    await page.getByRole('button', { name: 'Apply 1 row' }).waitFor();
  });
});
