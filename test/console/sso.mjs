// The organisation's own sign-in, at a SAML provider that nobody here wrote.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { api, as, mail, open, test, url, violations } from './page.mjs';

const admin = 'admin@north.example';

// A port for the provider; its module reads it when it is loaded.
process.env.PORT_SAML = String(await new Promise((done, failed) => {
  const s = createServer().on('error', failed).listen(0, '127.0.0.1', () => {
    const { port } = s.address();
    s.close(() => done(port));
  });
}));
const saml = await import('../supabase/identity/saml.mjs');

test('SimpleSAMLphp is connected with the wizard, a test sign-in shows what it sends, and what it is used as is set there', async () => {
  const ours = await (await fetch(`${url}/auth/v1/sso/saml/metadata`)).text();
  await saml.open(ours);
  try {
    const theirs = await (await fetch(saml.metadata)).text();
    await as(admin, async (page, context) => {
      await open(page, '/console/admin/sso');
      await page.getByRole('button', { name: 'Connect a provider' }).first().click();
      const form = page.getByRole('dialog');
      await form.getByLabel('Kind').selectOption('saml');
      await form.getByLabel('Name', { exact: true }).fill('SimpleSAMLphp');
      await form.getByLabel(/Paste the provider/).check();
      await form.getByLabel('Metadata (XML) *').fill(theirs);
      await form.getByLabel('Domains').fill('samlphp.example');
      await form.getByLabel('Role of new people').selectOption('operator');
      await form.getByRole('button', { name: 'Connect', exact: true }).click();
      const card = page.locator('.card', { has: page.getByRole('heading', { name: 'SimpleSAMLphp' }) }).last();
      await card.getByText('not proved yet').waitFor();
      await card.getByRole('button', { name: 'Mail a code to postmaster@samlphp.example' }).click();
      const { text } = await mail('postmaster@samlphp.example', 'sso_domain');
      await card.getByLabel('Code').fill(/Code: (\w+)/.exec(text)[1]);
      await card.getByRole('button', { name: 'Take the code' }).click();
      await card.getByText('proved', { exact: true }).waitFor();

      // The other window is the provider's: its person signs in there.
      const tried = async () => {
        const [popup] = await Promise.all([context.waitForEvent('page'), card.getByRole('button', { name: 'Test sign-in' }).click()]);
        return popup;
      };
      const popup = await tried();
      await popup.waitForURL(/loginuserpass/);
      await popup.fill('#username', saml.sam.name);
      await popup.fill('#password', saml.sam.password);
      await popup.keyboard.press('Enter');
      const received = card.getByRole('region', { name: 'Attributes received' });
      await received.getByRole('row', { name: /mail/ }).getByText(saml.sam.email).waitFor();
      await received.getByRole('row', { name: /groups/ }).getByText('wms-managers').waitFor();
      await card.getByText(`It works: ${saml.sam.email} would come in as Operator.`).waitFor();
      assert.equal(await received.getByLabel('mail is used as').inputValue(), 'email');
      assert.equal(await received.getByLabel('groups is used as').inputValue(), 'groups');
      assert.deepEqual(await violations(page, 'attributes received'), []);
      await popup.close();

      // A group leads to a role, another attribute is the name; the next test shows it.
      await card.getByLabel('Role of wms-managers').selectOption('manager');
      await page.getByText('Noted; try again to see what it makes').first().waitFor();
      await received.getByLabel('uid is used as').selectOption('name');
      await page.waitForFunction(() => document.querySelector('[aria-label="uid is used as"]').value === 'name');
      const again = await tried();
      await card.getByText(`It works: ${saml.sam.email} would come in as Manager.`).waitFor();
      await again.close();
      const { connections } = await api(admin, '/auth/v1/sso/connections');
      const made = connections.find((c) => c.name === 'SimpleSAMLphp');
      assert.deepEqual([made.role_map, made.attribute_mapping.keys, made.last_test.profile.name], [{ 'wms-managers': 'manager' }, { name: { name: 'uid' } }, 'sam']);
    });
  } finally {
    await saml.close();
    const { connections } = await api(admin, '/auth/v1/sso/connections');
    for (const c of connections.filter((x) => x.name === 'SimpleSAMLphp')) await api(admin, `/auth/v1/sso/connections/${c.id}`, { method: 'DELETE' });
  }
});
