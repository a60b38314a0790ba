// A person with a browser: sign-in at providers that nobody here wrote, and
// passkeys.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { claims, password, serviceKey, url } from '../client.mjs';
import { authenticator, did, visit } from './chromium.mjs';
import * as openid from './openid.mjs';
import { confirmed, founder } from './rig.mjs';
import * as saml from './saml.mjs';
import { site } from './site.mjs';

const auth = `${url}/auth/v1`;

let tenant;

async function admin(path, body) {
  const response = await fetch(auth + path, {
    method: 'POST',
    headers: { apikey: serviceKey, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  const made = await response.json();
  assert.equal(response.status, 201, JSON.stringify(made));
  return made;
}

// What the person does at the provider.
async function atGlewlwyd(page) {
  await page.waitForURL(/login\.html/);
  await page.fill('#username', openid.gloria.name);
  await page.fill('#password', openid.gloria.password);
  await page.click('#loginbut');
  await page.getByTitle('Continue to client application').click();
}

async function atSimpleSAML(page) {
  await page.waitForURL(/loginuserpass/);
  await page.fill('#username', saml.sam.name);
  await page.fill('#password', saml.sam.password);
  await page.keyboard.press('Enter');
}

// session is what supabase-js made of the address that the browser came back
// to.
async function session(page) {
  await page.waitForURL((u) => u.origin === site);
  await page.waitForFunction(() => window.sb);
  const { data, problem } = await page.evaluate(async () => {
    const { error } = await window.ready;
    return { data: (await sb.auth.getSession()).data.session, problem: error?.message };
  });
  assert.ok(data, `no session at ${page.url()}: ${problem}`);
  assert.equal(new URL(page.url()).searchParams.get('code'), null, 'the code stays in the address');
  return data;
}

// signedIn opens the site with a new account signed in.
async function signedIn(page) {
  const { email } = await confirmed('keys');
  await page.goto(site);
  const { error } = await page.evaluate((who) => sb.auth.signInWithPassword(who), { email, password });
  assert.equal(error, null);
  return email;
}

describe('in Chromium', () => {
  before(async () => {
    const metadata = await (await fetch(`${auth}/sso/saml/metadata`)).text();
    await Promise.all([openid.open([`${auth}/callback/glewlwyd`]), saml.open(metadata)]);
    tenant = (await founder()).tenant;
  });

  after(() => Promise.all([openid.close(), saml.close()]));

  test('signInWithOAuth at a foreign OpenID provider', () =>
    visit(async (page) => {
      await page.goto(site);
      await page.evaluate(
        (to) => sb.auth.signInWithOAuth({ provider: 'glewlwyd', options: { redirectTo: to } }),
        `${site}/welcome`,
      );
      await atGlewlwyd(page);
      const { user, access_token: token } = await session(page);
      assert.equal(new URL(page.url()).pathname, '/welcome');
      assert.equal(user.email, openid.gloria.email);
      assert.equal(user.app_metadata.provider, 'glewlwyd');
      assert.equal(user.identities[0].identity_data.email_verified, true);
      assert.equal(claims(token).amr[0].method, 'oauth');
      assert.equal(claims(token).tenant_id, undefined, 'a provider opens no tenant');
    }));

  test("signInWithSSO at a tenant's own foreign OpenID provider", () =>
    visit(async (page) => {
      const made = await admin('/admin/custom-providers', {
        tenant_id: tenant,
        identifier: 'custom:glewlwyd-corp',
        name: 'Glewlwyd',
        client_id: openid.client.id,
        client_secret: openid.client.secret,
        issuer: openid.issuer,
        domains: ['glewlwyd.example'],
        role_map: { 'wms-managers': 'manager' },
        default_role: 'viewer',
      });
      await openid.add(made.callback_url);
      await page.goto(site);
      await page.evaluate(() => sb.auth.signInWithSSO({ domain: 'glewlwyd.example' }));
      await atGlewlwyd(page);
      const { user, access_token: token } = await session(page);
      assert.equal(user.email, openid.gloria.email);
      assert.equal(user.identities[0].provider, `sso:${made.id}`);
      assert.equal(claims(token).tenant_id, tenant);
      assert.equal(claims(token).tenant_role, 'manager', 'her group says so');
      await page.evaluate(() => sb.auth.signOut());
      await page.evaluate(
        (to) => sb.auth.signInWithOAuth({ provider: 'custom:glewlwyd-corp', options: { redirectTo: to } }),
        `${site}/again`,
      );
      await page.getByTitle('Continue to client application').click();
      assert.equal((await session(page)).user.id, user.id, 'the same connection under its OAuth name');
    }));

  test('signInWithSSO at a foreign SAML provider, and by the provider itself', () =>
    visit(async (page) => {
      const made = await admin('/admin/sso/providers', {
        type: 'saml',
        tenant_id: tenant,
        metadata_url: saml.metadata,
        domains: ['samlphp.example'],
        role_map: { 'wms-managers': 'manager' },
        default_role: 'viewer',
        attribute_mapping: { keys: { email: { name: 'mail' }, groups: { name: 'groups' } } },
      });
      await page.goto(site);
      await page.evaluate(
        (to) => sb.auth.signInWithSSO({ domain: 'samlphp.example', options: { redirectTo: to } }),
        `${site}/desk`,
      );
      await atSimpleSAML(page);
      const { user, access_token: token } = await session(page);
      assert.equal(new URL(page.url()).pathname, '/desk');
      assert.equal(user.email, saml.sam.email);
      const claim = claims(token);
      assert.equal(claim.tenant_id, tenant);
      assert.equal(claim.tenant_role, 'manager');
      assert.deepEqual([claim.amr[0].method, claim.amr[0].provider], ['sso/saml', made.id]);

      // He is still signed in there; the provider sends him by itself.
      await page.evaluate(() => {
        sessionStorage.flow = 'implicit';
        return sb.auth.signOut();
      });
      const entity = `${auth}/sso/saml/metadata`;
      await page.goto(saml.unsolicited(entity, `${site}/desk`));
      await page.waitForURL((u) => u.origin === site);
      assert.equal(new URL(page.url()).searchParams.get('error_code'), 'saml_relay_state_not_found', 'not allowed yet');
      const changed = await fetch(`${auth}/admin/sso/providers/${made.id}`, {
        method: 'PUT',
        headers: { apikey: serviceKey, 'Content-Type': 'application/json' },
        body: '{"allow_unsolicited":true}',
      });
      assert.equal(changed.status, 200, await changed.text());
      await page.goto(saml.unsolicited(entity, `${site}/desk`));
      assert.equal((await session(page)).user.id, user.id);
      assert.equal(new URL(page.url()).pathname, '/desk');
      const unmapped = await fetch(`${auth}/admin/sso/providers/${made.id}`, {
        method: 'PUT',
        headers: { apikey: serviceKey, 'Content-Type': 'application/json' },
        body: '{"attribute_mapping":{"keys":{"email":{"name":"homePhone"}}}}',
      });
      assert.equal(unmapped.status, 200, await unmapped.text());
      await page.goto(saml.unsolicited(entity, `${site}/desk`));
      await page.waitForURL((u) => u.searchParams.has('error_code'));
      assert.equal(new URL(page.url()).searchParams.get('error_code'), 'saml_assertion_no_email');
      saml.trust(await (await fetch(entity)).text(), saml.transient);
      let code;
      for (const end = Date.now() + 30000; code !== 'saml_assertion_no_user_id' && Date.now() < end;) {
        // PHP reads a changed file a while later
        await page.goto(saml.unsolicited(entity, `${site}/desk`));
        await page.waitForURL((u) => u.searchParams.has('error_code'));
        code = new URL(page.url()).searchParams.get('error_code');
      }
      assert.equal(code, 'saml_assertion_no_user_id');
    }));

  test('registerPasskey, signInWithPasskey, and what becomes of a passkey', () =>
    visit(async (page) => {
      await authenticator(page, 'internal');
      const email = await signedIn(page);
      const key = await did(page, () => sb.auth.registerPasskey());
      await did(page, (id) => sb.auth.passkey.update({ passkeyId: id, friendlyName: 'Laptop' }), key.id);
      await page.evaluate(() => sb.auth.signOut());
      const { session: made } = await did(page, () => sb.auth.signInWithPasskey());
      assert.equal(made.user.email, email);
      const claim = claims(made.access_token);
      assert.deepEqual([claim.aal, claim.amr[0].method], ['aal2', 'passkey']);
      const [listed] = await did(page, () => sb.auth.passkey.list());
      assert.deepEqual([listed.id, listed.friendly_name, typeof listed.last_used_at], [key.id, 'Laptop', 'string']);
      await page.evaluate(() => sb.auth.signOut());
      await page.evaluate((who) => sb.auth.signInWithPassword(who), { email, password });
      await did(page, (id) => sb.auth.passkey.delete({ passkeyId: id }), key.id);
      await page.evaluate(() => sb.auth.signOut());
      const { error } = await page.evaluate(async () => {
        const r = await sb.auth.signInWithPasskey();
        return { error: r.error?.code };
      });
      assert.equal(error, 'webauthn_verification_failed', 'a removed passkey signs in nobody');
    }));

  test('mfa.webauthn as a second factor', () =>
    visit(async (page) => {
      await authenticator(page, 'usb');
      await signedIn(page);
      const registered = await did(page, () => sb.auth.mfa.webauthn.register({ friendlyName: 'Key' }));
      assert.equal(claims(registered.access_token).aal, 'aal2');
      const [factor] = (await did(page, () => sb.auth.mfa.listFactors())).webauthn;
      assert.deepEqual([factor.friendly_name, factor.status], ['Key', 'verified']);
      const again = await did(page, (id) => sb.auth.mfa.webauthn.authenticate({ factorId: id }), factor.id);
      assert.equal(claims(again.access_token).amr[0].method, 'mfa/webauthn');
      await did(page, (id) => sb.auth.mfa.unenroll({ factorId: id }), factor.id);
      await did(page, () => sb.auth.refreshSession());
      assert.equal((await did(page, () => sb.auth.mfa.getAuthenticatorAssuranceLevel())).currentLevel, 'aal1');
    }));
});
