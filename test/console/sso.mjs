// The organisation's own sign-in, at providers that nobody here wrote: one of
// SAML and one of OpenID Connect.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { hands } from './hands.mjs';
import { api, as, mail, open, settled, test, url, violations, visit } from './page.mjs';

const admin = 'admin@north.example';

// Ports for the providers; their modules read them when they are loaded.
const free = () =>
  new Promise((done, failed) => {
    const s = createServer()
      .on('error', failed)
      .listen(0, '127.0.0.1', () => {
        const { port } = s.address();
        s.close(() => done(String(port)));
      });
  });
process.env.PORT_SAML = await free();
process.env.PORT_OPENID = await free();
const saml = await import('../supabase/identity/saml.mjs');
const openid = await import('../supabase/identity/openid.mjs');

// What a pointer does; hands do the same with keys alone.
const pointer = { use: (place) => place.click(), write: (place, text) => place.fill(text) };

// proved takes the code that postmaster of a domain was mailed.
async function proved(card, domain, { use, write } = pointer) {
  await card.getByText('not proved yet').waitFor();
  await use(card.getByRole('button', { name: `Mail a code to postmaster@${domain}` }), { most: 100 });
  const { text } = await mail(`postmaster@${domain}`, 'sso_domain');
  await write(card.getByLabel('Code'), /Code: (\w+)/.exec(text)[1]);
  await use(card.getByRole('button', { name: 'Take the code' }));
  await card.getByText('proved', { exact: true }).waitFor();
}

// tried is the window of the provider that a test sign-in opens.
async function tried(context, card, { use } = pointer) {
  const [popup] = await Promise.all([
    context.waitForEvent('page'),
    use(card.getByRole('button', { name: 'Test sign-in' }), { most: 100 }),
  ]);
  return popup;
}

async function removed(name) {
  const { connections } = await api(admin, '/auth/v1/sso/connections');
  for (const c of connections.filter((x) => x.name === name))
    await api(admin, `/auth/v1/sso/connections/${c.id}`, { method: 'DELETE' });
}

// throughDoor is a person without a session who follows a link into the console
// and is sent to the provider by the address alone.
function throughDoor(email, provider, signIn, inside) {
  return visit(
    async (page) => {
      await open(page, '/console/c/orders?status=eq.confirmed');
      await page.getByRole('button', { name: 'Single sign-on' }).click();
      await page.getByLabel(/your organisation’s domain/).fill(email);
      await page.keyboard.press('Enter');
      await signIn(page);
      await page.getByRole('heading', { name: 'Orders' }).waitFor();
      await settled(page);
      const at = new URL(page.url());
      assert.equal(
        at.pathname + at.search,
        '/console/c/orders?status=eq.confirmed',
        'where the link led, and nothing of the sign-in',
      );
      await inside(page);
      await page.locator('.foot button').first().click();
      await page.getByRole('button', { name: 'Sign out', exact: true }).click();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      assert.equal(await page.evaluate(() => localStorage.getItem('holdfast.session')), null);
    },
    { provider },
  );
}

async function atSimpleSAML(page) {
  await page.waitForURL(/loginuserpass/);
  await page.fill('#username', saml.sam.name);
  await page.fill('#password', saml.sam.password);
  await page.keyboard.press('Enter');
}

test('by keys: SimpleSAMLphp is connected with the wizard, a test sign-in shows what it sends, and what it is used as is set there', async () => {
  const ours = await (await fetch(`${url}/auth/v1/sso/saml/metadata`)).text();
  await saml.open(ours);
  try {
    const theirs = await (await fetch(saml.metadata)).text();
    await as(admin, async (page, context) => {
      const keys = hands(page);
      await open(page, '/console/admin/sso');
      await settled(page);
      await keys.use(page.getByRole('button', { name: 'Connect a provider' }));
      const form = page.getByRole('dialog');
      await keys.choose(form.getByLabel('Kind'), 'SAML 2.0');
      await keys.write(form.getByLabel('Name', { exact: true }), 'SimpleSAMLphp');
      await keys.to(form.getByLabel(/Paste the provider/));
      await keys.press('Space');
      await keys.to(form.getByLabel('Metadata (XML) *'));
      await keys.paste(theirs);
      await keys.write(form.getByLabel('Domains'), 'samlphp.example');
      await keys.choose(form.getByLabel('Role of new people'), 'Operator');
      await keys.use(form.getByRole('button', { name: 'Connect', exact: true }));
      const card = page.locator('.card', { has: page.getByRole('heading', { name: 'SimpleSAMLphp' }) }).last();
      await proved(card, 'samlphp.example', keys);

      // The other window is the provider's: its person signs in there.
      const popup = await tried(context, card, keys);
      await atSimpleSAML(popup);
      const received = card.getByRole('region', { name: 'Attributes received' });
      await received.getByRole('row', { name: /mail/ }).getByText(saml.sam.email).waitFor();
      await received
        .getByRole('row', { name: /groups/ })
        .getByText('wms-managers')
        .waitFor();
      await card.getByText(`It works: ${saml.sam.email} would come in as Operator.`).waitFor();
      assert.equal(await received.getByLabel('mail is used as').inputValue(), 'email');
      assert.equal(await received.getByLabel('groups is used as').inputValue(), 'groups');
      assert.deepEqual(await violations(page, 'attributes received'), []);
      await popup.close();

      // A group leads to a role, another attribute is the name; the next test shows it.
      await keys.choose(card.getByLabel('Role of wms-managers'), 'Manager', { most: 100 });
      await page.getByText('Noted; try again to see what it makes').first().waitFor();
      await keys.choose(received.getByLabel('uid is used as'), 'name', { most: 100 });
      await page.waitForFunction(() => document.querySelector('[aria-label="uid is used as"]').value === 'name');
      const again = await tried(context, card, keys);
      await card.getByText(`It works: ${saml.sam.email} would come in as Manager.`).waitFor();
      await again.close();
      const { connections } = await api(admin, '/auth/v1/sso/connections');
      const made = connections.find((c) => c.name === 'SimpleSAMLphp');
      assert.deepEqual(
        [made.role_map, made.attribute_mapping.keys, made.last_test.profile.name],
        [{ 'wms-managers': 'manager' }, { name: { name: 'uid' } }, 'sam'],
      );
    });
    // The person himself, at the console's own door.
    await throughDoor(saml.sam.email, new URL(saml.metadata).origin, atSimpleSAML, async (page) => {
      await page.locator('.who').getByText('Manager').waitFor();
    });
  } finally {
    await saml.close();
    await removed('SimpleSAMLphp');
  }
});

test('a person of an OpenID provider comes in at the door with the role of her group, and no more once the provider is off', async () => {
  const { gloria } = openid;
  const domain = gloria.email.split('@')[1];
  const atGlewlwyd = async (page) => {
    await page.waitForSelector('#username');
    await page.waitForLoadState('networkidle');
    await page.fill('#username', gloria.name);
    await page.fill('#password', gloria.password);
    await page.keyboard.press('Enter');
    await page.getByTitle('Continue to client application').click();
  };
  await openid.open([`${url}/auth/v1/callback`]);
  try {
    await as(admin, async (page, context) => {
      await open(page, '/console/admin/sso');
      await page.getByRole('button', { name: 'Connect a provider' }).first().click();
      const form = page.getByRole('dialog');
      await form.getByLabel('Name', { exact: true }).fill('Glewlwyd');
      await form.getByLabel('Issuer').fill(openid.issuer);
      await form.getByLabel('Client id').fill(openid.client.id);
      await form.getByLabel('Client secret').fill(openid.client.secret);
      await form.getByLabel('Domains').fill(domain);
      await form.getByLabel('Role of new people').selectOption('viewer');
      await form.getByRole('button', { name: 'Connect', exact: true }).click();
      const card = page.locator('.card', { has: page.getByRole('heading', { name: 'Glewlwyd' }) }).last();
      await openid.add(await card.locator('.sso-addresses code').first().innerText());
      await proved(card, domain);
      const popup = await tried(context, card);
      await atGlewlwyd(popup);
      await card.getByText(`It works: ${gloria.email} would come in as Viewer.`).waitFor();
      await popup.close();
      await card.getByLabel('Role of wms-managers').selectOption('manager');
      await page.getByText('Noted; try again to see what it makes').first().waitFor();
    });
    await throughDoor(gloria.email, new URL(openid.issuer).origin, atGlewlwyd, async (page) => {
      await page.locator('.who').getByText('Manager').waitFor();
    });
    const { connections } = await api(admin, '/auth/v1/sso/connections');
    await api(admin, `/auth/v1/sso/connections/${connections.find((c) => c.name === 'Glewlwyd').id}`, {
      method: 'PUT',
      body: { disabled: true },
    });
    await visit(async (page) => {
      await open(page, '/console/');
      await page.getByRole('button', { name: 'Single sign-on' }).click();
      await page.getByLabel(/your organisation’s domain/).fill(gloria.email);
      await page.keyboard.press('Enter');
      await page.getByText('The SSO provider is disabled').waitFor();
    });
  } finally {
    await openid.close();
    await removed('Glewlwyd');
  }
});
