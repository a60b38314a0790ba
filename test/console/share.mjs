// A document that is lent to somebody without an account: the officer makes a link, the insurer opens it, the officer
// revokes it.
import assert from 'node:assert/strict';
import { api, as, engine, narrow, open, picture, secret, settled, test, violations, visit, wide } from './page.mjs';

const officer = 'safety@north.example';
const viewport = engine === 'postgresql' ? narrow : wide;
const words = 'seven grey forklifts at dawn';
secret(words);

async function report() {
  const body = { kind: 'hazard', title: 'Loose rail', occurred_at: new Date(Date.now() - 36e5).toISOString() };
  return (await api(officer, '/v1/incidents', { method: 'POST', body }))[0].id;
}

// share makes a link as a person does, and returns it as the page shows it.
async function share(page) {
  await page.getByRole('button', { name: 'Share', exact: true }).click();
  const ask = page.getByRole('dialog');
  await ask.getByLabel('Days until it ends').fill('3');
  await ask.getByLabel('Password').fill(words);
  await picture(page, 'share');
  await ask.getByRole('button', { name: 'Make a link' }).click();
  await page.getByRole('dialog', { name: 'The link is made' }).waitFor();
  await picture(page, 'shared');
  const link = await page.locator('dialog .break').innerText();
  secret(link.split('/').at(-1));
  return link;
}

test('an incident is shared by a link and a password, opened without an account, and revoked', async () => {
  const id = await report();
  let link = '';
  await as(
    officer,
    async (page) => {
      await open(page, `/console/c/incidents/${id}`);
      link = await share(page);
    },
    { viewport },
  );
  await visit(
    async (page) => {
      await page.goto(link);
      assert.equal(await page.getByRole('heading').innerText(), 'Shared document');
      assert.deepEqual(await violations(page, 'shared document'), []);
      await page.getByLabel('Password').fill('no such words');
      await page.getByRole('button', { name: /Open the document/ }).click();
      await page.getByRole('alert').getByText('The password is wrong').waitFor();
      await page.getByLabel('Password').fill(words);
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: /Open the document/ }).click();
      assert.match((await download).suggestedFilename(), /\.pdf$/);
    },
    { viewport },
  );
  await as(
    officer,
    async (page) => {
      const [made] = await api(officer, `/v1/shared_documents?record_id=eq.${id}`);
      await open(page, `/console/c/shared_documents/${made.id}`);
      await settled(page);
      await picture(page, 'shared-document');
      await page.getByRole('button', { name: 'More', exact: true }).click();
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.waitForURL(/\/console\/c\/shared_documents$/);
    },
    { viewport },
  );
  await visit(
    async (page) => {
      await page.goto(link);
      await page.getByRole('alert').getByText('This link does not exist or has ended').waitFor();
      assert.equal(await page.getByLabel('Password').count(), 0);
    },
    { viewport },
  );
});
