// Getting in and out.
import assert from 'node:assert/strict';
import { as, open, settled, test, url, visit } from './page.mjs';

test('a browser at the address of the server comes to the console, a program to JSON', async () => {
  const program = await fetch(`${url}/`);
  assert.equal((await program.json()).console, `${url}/console/`);
  await visit(async (page) => {
    await page.goto(`${url}/`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    assert.equal(new URL(page.url()).pathname, '/console/');
  });
});

test("a wrong password is refused in the server's words, with the request's number", async () => {
  await visit(async (page) => {
    await open(page, '/console/');
    await page.getByLabel('E-mail address').fill('manager@north.example');
    await page.getByLabel('Password', { exact: true }).fill('not this one');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('Invalid login credentials').waitFor();
    await page.getByText(/Copy request number [0-9a-f]{8}/).waitFor();
  });
});

test('one click on a person of the demonstration signs in, a deep link leads there, sign-out leads back', async () => {
  await visit(async (page) => {
    await open(page, '/console/c/orders');
    await page.getByRole('button', { name: /Sign in as Miriam Okafor/ }).click();
    await page.getByRole('heading', { name: 'Orders' }).waitFor();
    await page.locator('.foot button').first().click();
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    assert.equal(await page.evaluate(() => localStorage.getItem('holdfast.session')), null);
  });
});

test("a member of two organisations switches, and sees the other's records alone", async () => {
  await as('both@both.example', async (page) => {
    await open(page, '/console/');
    await page.getByText('Live', { exact: true }).waitFor();
    await settled(page);
    await page.locator('.foot button').first().click();
    await page.locator('.menu button').first().waitFor();
    const names = await page.locator('.menu button').allInnerTexts();
    const here = await page.locator('.who').innerText();
    const other = names.find((n) => /North|South/.test(n) && !here.includes(n.trim()));
    assert.ok(other, names.join());
    await page.locator('.menu').getByRole('button', { name: other.trim() }).click();
    await page.waitForFunction((name) => document.querySelector('.who')?.textContent?.includes(name), other.trim());
  });
});

test('somebody of no organisation is told what to do', async () => {
  await as('nobody@none.example', async (page) => {
    await open(page, '/console/');
    await page.getByText('Ask an administrator for an invitation').waitFor();
  });
});

test('the console speaks German to who asks for it', async () => {
  await as(
    'manager@north.example',
    async (page) => {
      await open(page, '/console/c/orders');
      await page.getByRole('heading', { name: 'Aufträge' }).waitFor();
      await page.getByRole('columnheader', { name: 'Auftragsnr.' }).waitFor();
      assert.equal(await page.evaluate(() => document.documentElement.lang), 'de');
    },
    { locale: 'de-DE' },
  );
});

test('the console speaks French to who asks for it, with French numbers and plurals, and changes to German when told', async () => {
  await as(
    'manager@north.example',
    async (page) => {
      await open(page, '/console/c/orders');
      await page.getByRole('heading', { name: 'Commandes' }).waitFor();
      await page.getByRole('columnheader', { name: 'N° de commande' }).waitFor();
      await page.getByText(/sur [\d\u202f]+ enregistrements/).waitFor();
      await page.getByRole('searchbox', { name: 'Chercher dans cette liste' }).fill('rien de tel');
      await page
        .getByText('sur 0 enregistrement', { exact: true })
        .or(page.getByText(/sur 0 enregistrement$/))
        .first()
        .waitFor();
      assert.equal(await page.evaluate(() => document.documentElement.lang), 'fr');
      await page.locator('.foot button').first().click();
      await page.getByLabel('Langue').selectOption('de');
      await page.getByRole('heading', { name: 'Aufträge' }).waitFor();
    },
    { locale: 'fr-FR' },
  );
});
