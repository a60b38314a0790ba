// What people say about a record and the files that they keep with it, typed and chosen as a person does.
import assert from 'node:assert/strict';
import { api, as, narrow, open, picture, settled, test } from './page.mjs';

const operator = 'operator@north.example';
const officer = 'safety@north.example';
const pdf = { name: 'Waybill 12.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7\n%%EOF\n') };
// A picture of one pixel.
const png = {
  name: 'leak.png',
  mimeType: 'image/png',
  buffer: Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
};

async function report() {
  const body = { kind: 'hazard', title: 'Oil at dock 3', occurred_at: new Date(Date.now() - 36e5).toISOString() };
  return (await api(operator, '/v1/incidents', { method: 'POST', body }))[0].id;
}

test('an officer asks, the reporter answers with a picture, and what is wrong is struck', async () => {
  const path = `/console/c/incidents/${await report()}`;
  await as(officer, async (page) => {
    await open(page, path);
    await page.getByLabel('Say something about it').fill('Which truck was it?');
    await page.getByLabel('Mention').fill('operator@north.example');
    await page.locator('.chip').waitFor();
    await page.getByRole('button', { name: 'Comment', exact: true }).click();
    await page.locator('.timeline .said').filter({ hasText: 'Which truck was it?' }).waitFor();
    assert.equal(
      await page.getByLabel('Say something about it').inputValue(),
      '',
      'what was sent is gone from the form',
    );
  });
  await as(
    operator,
    async (page) => {
      await open(page, path);
      await page.getByText('Which truck was it?').waitFor();
      await page.getByLabel('Say something about it').fill('Truck 4');
      await page.reload();
      assert.equal(
        await page.getByLabel('Say something about it').inputValue(),
        'Truck 4',
        'a reload keeps what was typed',
      );
      await page.getByRole('button', { name: 'Comment', exact: true }).click();
      await page.locator('.timeline .said').filter({ hasText: 'Truck 4' }).waitFor();
      assert.equal(await page.locator('.timeline .said').count(), 2);
      await page.getByRole('button', { name: 'Change', exact: true }).click();
      await page.locator('.talk textarea').fill('Truck 5');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Truck 5').waitFor();
      await page.getByLabel('Add files').setInputFiles([png, pdf]);
      await page.getByRole('heading', { name: 'Files (2)' }).waitFor();
      await page.getByRole('img', { name: 'leak.jpg' }).waitFor();
      await settled(page);
      await picture(page, 'evidence-narrow');
    },
    { viewport: narrow },
  );
  await as(officer, async (page) => {
    await open(page, path);
    await page.getByRole('img', { name: 'leak.jpg' }).waitFor();
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Waybill 12.pdf', exact: true }).click();
    assert.equal((await saved).suggestedFilename(), 'Waybill 12.pdf');
    await page.locator('.talk > li').filter({ hasText: 'Truck 5' }).getByRole('button', { name: 'Strike' }).click();
    await page.locator('.talk s').filter({ hasText: 'Truck 5' }).waitFor();
    await settled(page);
    await picture(page, 'evidence');
  });
});

test('a file that is not what it says is refused in words, beside the button', async () => {
  const path = `/console/c/incidents/${await report()}`;
  await as(officer, async (page) => {
    await open(page, path);
    await page.getByLabel('Add files').setInputFiles([{ ...pdf, buffer: Buffer.from('MZ not a document') }]);
    await page.getByText('PDF and office documents are kept').waitFor();
    assert.equal(await page.getByRole('heading', { name: /^Files \(/ }).count(), 0);
  });
});
