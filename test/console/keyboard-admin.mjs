// What administrators and people keep, with the keyboard alone: members, keys, webhooks, settings, the organisation's sign-in, one's own account.
import assert from 'node:assert/strict';
import { metadata } from './metadata.mjs';
import { api, as, digits, open, password, person, raised, secret, settled, test, violations } from './page.mjs';
import { hands } from './hands.mjs';

const admin = 'admin@north.example';

test('by keys: somebody is invited, another gets a role and is suspended', async () => {
  const member = await person('operator');
  const invited = `keys-${Date.now()}@people.example`;
  const code = `K${Date.now()}`;
  const [owner] = await api(admin, '/v1/goods_owners', { method: 'POST', body: [{ code, name: `Client ${code}` }] });
  await as(admin, async (page) => {
    const keys = hands(page);
    await open(page, '/console/');
    await settled(page);
    await keys.go('Administration');
    await keys.use(page.getByRole('button', { name: 'Invite' }));
    const form = page.getByRole('dialog', { name: 'Invite somebody' });
    await keys.write(form.getByLabel('E-mail address *'), invited);
    await keys.choose(form.getByLabel('Role'), 'Viewer');
    await keys.write(form.getByLabel('Owner'), code);
    await form
      .locator('option', { hasText: code })
      .or(form.locator(`option[value*="${code}"]`))
      .first()
      .waitFor({ state: 'attached' });
    await keys.use(form.getByRole('button', { name: 'Send the invitation' }));
    await page.getByText(invited, { exact: true }).waitFor();
    const offers = await api(admin, `/v1/invitations?select=role,owner_id&email=eq.${encodeURIComponent(invited)}`);
    assert.deepEqual(offers, [{ role: 'viewer', owner_id: owner.id }]);

    // Looking through the roles gives none of them.
    const role = page.getByRole('combobox', { name: `Role of ${member}` });
    await keys.choose(role, 'Viewer', { most: 400 });
    const is = async () =>
      (await api(admin, `/v1/members?select=role,status&email=eq.${encodeURIComponent(member)}`))[0];
    assert.equal((await is()).role, 'operator');
    await keys.use(page.getByRole('button', { name: `Change the role of ${member}` }));
    await page.getByText(`${member} is Viewer`).waitFor();
    assert.equal((await is()).role, 'viewer');

    const more = page.getByRole('button', { name: `More for ${member}` });
    await keys.use(more, { most: 400 });
    await page.waitForFunction(() => document.activeElement?.closest('.menu'));
    await keys.press('ArrowDown', 'ArrowDown');
    await keys.use(page.getByRole('button', { name: 'Suspend' }));
    const ask = page.getByRole('dialog', { name: `Suspend ${member}?` });
    await ask.getByText('This person set nothing up that would go on.').waitFor();
    await keys.use(ask.getByRole('button', { name: 'Suspend' }));
    await page.getByText('Suspended', { exact: true }).first().waitFor();
    await page.waitForFunction((text) => document.activeElement?.ariaLabel === text, `More for ${member}`);
    assert.equal((await is()).status, 'suspended');
    await keys.use(page.getByRole('listitem').filter({ hasText: invited }).getByRole('button', { name: 'Revoke' }), {
      most: 400,
    });
    await page.getByText(invited, { exact: true }).waitFor({ state: 'detached' });
  });
});

test('by keys: a machine gets a key, which is ended', async () => {
  const email = await person('admin');
  await raised(email);
  const name = `Keyboard ${Date.now()}`;
  await as(email, async (page) => {
    const keys = hands(page);
    await open(page, '/console/admin/members');
    await settled(page);
    await keys.skip();
    await keys.use(page.getByRole('link', { name: 'Keys', exact: true }));
    await keys.use(page.getByRole('button', { name: 'New service account' }));
    const form = page.getByRole('dialog', { name: 'New service account' });
    await keys.write(form.getByLabel('Name *'), name);
    await keys.choose(form.getByLabel('Role'), 'Viewer');
    await keys.write(form.getByRole('searchbox', { name: 'Find a scope' }), 'orders');
    await keys.to(form.getByRole('checkbox', { name: 'Orders: read', exact: true }));
    await keys.press('Space');
    await keys.use(form.getByRole('button', { name: 'Make it and its key' }), { most: 200 });
    const shown = page.getByRole('dialog', { name: /^Key of/ });
    secret(await shown.getByLabel('Key', { exact: true }).inputValue());
    await keys.use(shown.getByRole('button', { name: 'I have kept it' }));
    const card = page.getByRole('region', { name, exact: true });
    await card.getByText('Orders: read').waitFor();
    await keys.use(card.getByRole('button', { name: 'End now' }), { most: 400 });
    await keys.use(page.getByRole('dialog').getByRole('button', { name: 'End the key' }));
    await card.getByText('no key').waitFor();
  });
});

test('by keys: a webhook is made, its secret renewed and what was sent looked at', async () => {
  const address = `https://1.1.1.1/${Date.now()}`;
  await as(admin, async (page) => {
    const keys = hands(page);
    await open(page, '/console/admin/webhooks');
    await settled(page);
    await keys.use(page.getByRole('button', { name: 'New webhook' }));
    const form = page.getByRole('dialog', { name: 'New webhook' });
    await keys.write(form.getByLabel('Address *'), address);
    await keys.to(form.getByRole('checkbox', { name: /^Every event/ }));
    await keys.press('Space');
    await keys.to(form.getByRole('checkbox', { name: /^lot\.recalled/ }));
    await keys.press('Space');
    await keys.use(form.getByRole('button', { name: 'Create' }), { most: 60 });
    const kept = page.getByRole('dialog', { name: 'Keep this secret' });
    secret(await kept.getByLabel('Secret').inputValue());
    await keys.use(kept.getByRole('button', { name: 'I have kept it' }));
    const line = page.getByRole('listitem').filter({ hasText: address });
    await keys.use(line.getByRole('button', { name: 'New secret' }), { most: 100 });
    secret(await kept.getByLabel('Secret').inputValue());
    await keys.press('Escape');
    await keys.use(line.getByRole('button', { name: 'Deliveries' }), { back: true });
    await page.getByRole('dialog', { name: `Deliveries to ${address}` }).waitFor();
    await keys.press('Escape');
    await page.waitForFunction(() => document.activeElement?.textContent === 'Deliveries');
  });
  const [hook] = await api(admin, `/v1/webhooks?select=id,events&url=eq.${encodeURIComponent(address)}`);
  assert.deepEqual(hook.events, ['lot.recalled']);
  await api(admin, `/v1/webhooks/${hook.id}`, { method: 'DELETE' });
});

test('by keys: a setting is found, set and given back', async () => {
  const key = 'count_auto_approve';
  const is = () => api(admin, `/v1/settings?select=id,value&key=eq.${key}`);
  for (const { id } of await is()) await api(admin, `/v1/settings/${id}`, { method: 'DELETE' });
  await as(admin, async (page) => {
    const keys = hands(page);
    await open(page, '/console/admin/settings');
    await settled(page);
    const one = (await api(admin, '/catalog.json')).settings.find((s) => s.key === key);
    await keys.write(page.getByRole('searchbox', { name: 'Find a setting' }), one.doc);
    const line = page.getByRole('listitem').filter({ hasText: one.doc });
    await keys.use(line.getByRole('button', { name: 'Set', exact: true }));
    await page.getByRole('dialog').getByLabel('Value').waitFor();
    await keys.type('45');
    await keys.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.deepEqual(
      (await is()).map((s) => s.value),
      [45],
    );
    await keys.use(line.getByRole('button', { name: /^Change/ }));
    await keys.use(page.getByRole('dialog').getByRole('button', { name: 'Take the default again' }));
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.deepEqual(await is(), []);
  });
});

test('by keys: a provider is connected with pasted metadata and removed', async () => {
  const id = `https://idp-keys-${Date.now()}.example.com`;
  await as(admin, async (page) => {
    const keys = hands(page);
    await open(page, '/console/admin/sso');
    await settled(page);
    await keys.use(page.getByRole('button', { name: 'Connect a provider' }));
    const form = page.getByRole('dialog');
    await keys.choose(form.getByLabel('Kind'), 'SAML 2.0');
    await keys.write(form.getByLabel('Name', { exact: true }), 'By keys');
    await keys.to(form.getByLabel(/Paste the provider/));
    await keys.press('Space');
    await keys.to(form.getByLabel('Metadata (XML) *'));
    await keys.paste(metadata(id));
    await keys.write(form.getByLabel('Domains'), `keys-${Date.now()}.example.com`);
    await keys.use(form.getByRole('button', { name: 'Connect', exact: true }));
    const card = page.locator('.card', { has: page.getByRole('heading', { name: 'By keys' }) }).last();
    await card.getByText('not proved yet').waitFor();
    await keys.use(card.getByRole('button', { name: 'Remove' }), { most: 100 });
    await keys.use(page.getByRole('dialog').getByRole('button', { name: 'Remove' }));
    await card.waitFor({ state: 'detached' });
  });
});

test('by keys: a new password, an authenticator app, and a session that is ended', async () => {
  const email = await person('viewer');
  await as(email, async (page) => {
    const keys = hands(page);
    await open(page, '/console/account');
    await settled(page);
    await keys.skip();
    await keys.use(page.getByRole('button', { name: 'Choose a new password' }));
    const change = page.getByRole('dialog', { name: 'Choose a new password' });
    await keys.write(change.getByLabel('Password that holds now'), password);
    await keys.write(change.getByLabel('New password'), 'another long pass phrase');
    await keys.press('Enter');
    await change.waitFor({ state: 'detached' });
    await keys.use(page.getByRole('button', { name: 'Add an app' }));
    const form = page.getByRole('dialog', { name: 'Add an authenticator app' });
    const seed = await form.locator('code').innerText();
    assert.deepEqual(await violations(page, 'app'), []);
    await keys.write(form.getByLabel('Code', { exact: true }), digits(seed));
    await keys.press('Enter');
    await keys.use(
      page.getByRole('dialog', { name: 'Keep these recovery codes' }).getByRole('button', { name: 'I have kept them' }),
    );
    await page.getByText('on', { exact: true }).waitFor();
    await page.locator('.foot button').first().waitFor();
    await keys.use(page.locator('.foot button').first(), { back: true, most: 80 });
    await page.waitForFunction(() => document.activeElement?.closest('.menu'));
    await keys.use(page.getByRole('button', { name: 'Sign out', exact: true }));
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });
});
