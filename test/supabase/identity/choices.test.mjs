// What an operator may choose otherwise. signUp tells that an address or number
// is taken: the idiom of applications is `user.identities.length === 0`; the
// default, which tells nothing, is in confirm.mjs. Administrators hand over
// invitations as links that open accounts; the default is in admin.mjs. Sign-ins may take a second.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, claims, client, ok, password, serviceKey, sleep, unique, url } from '../client.mjs';
import { authenticator } from './authenticator.mjs';
import * as carrier from './carrier.mjs';
import * as mailbox from './mailbox.mjs';
import * as own from './own.mjs';
import { confirmed, founder, newAddress, pkce, press } from './rig.mjs';
import { site } from './site.mjs';

await mailbox.open(process.env.PORT_SMTP);
await carrier.open();
await own.open();

// decoy is what GoTrue answers for an account that somebody has.
function decoy({ user, session }, id, want) {
  assert.equal(session, null);
  assert.notEqual(user.id, id);
  assert.match(user.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
  for (const member of ['confirmation_sent_at', 'created_at', 'updated_at'])
    assert.ok(Date.parse(user[member]), member);
  const { id: _, confirmation_sent_at, created_at, updated_at, ...rest } = user;
  assert.deepEqual(rest, { aud: 'authenticated', role: '', identities: [], is_anonymous: false, ...want });
}

test('signUp with a taken address: no identities, no role, and a mail to the owner', async () => {
  const { email, id } = await confirmed('told', { name: 'Owner' });
  const again = () =>
    client().auth.signUp({ email, password: 'some-other-password', options: { data: { name: 'Asker' } } });
  const first = ok(await again());
  decoy(first, id, {
    email,
    phone: '',
    user_metadata: { name: 'Asker' },
    app_metadata: { provider: 'email', providers: ['email'] },
  });
  assert.notEqual(ok(await again()).user.id, first.user.id, 'a random id each time');
  await mailbox.letter(email, /already have an account/);
  ok(await client().auth.signInWithPassword({ email, password }));
});

test('signUp with a new address, and again before it was proved: an identity', async () => {
  const email = newAddress('fresh');
  const { user } = ok(await client().auth.signUp({ email, password }));
  const { user: again } = ok(await client().auth.signUp({ email, password }));
  for (const one of [user, again]) assert.deepEqual([one.identities.length, one.role], [1, 'authenticated']);
  assert.equal(again.id, user.id);
});

test('signUp with a taken number', async () => {
  const phone = `4917${String(Date.now()).slice(-8)}`;
  const c = client();
  ok(await c.auth.signUp({ phone, password }));
  ok(await c.auth.verifyOtp({ phone, token: await carrier.code(phone), type: 'sms' }));
  const { id } = ok(await c.auth.getUser()).user;
  decoy(ok(await client().auth.signUp({ phone, password: 'some-other-password' })), id, {
    email: '',
    phone,
    user_metadata: {},
    app_metadata: { provider: 'phone', providers: ['phone'] },
  });
  assert.equal(carrier.textsTo(phone).length, 1);
});

test('signInWithOtp without shouldCreateUser: whoever has no account is told so', async () => {
  const { email } = await confirmed('told-otp');
  const options = { shouldCreateUser: false };
  ok(await client().auth.signInWithOtp({ email, options }));
  for (const who of [{ email: newAddress('unknown') }, { phone: `4918${String(Date.now()).slice(-8)}` }]) {
    const { error } = await client().auth.signInWithOtp({ ...who, options });
    assert.deepEqual([error.status, error.code, error.message], [422, 'otp_disabled', 'Signups not allowed for otp']);
    ok(await client().auth.signInWithOtp(who));
  }
});

const invite = async (c, body) =>
  call(c, '/auth/v1/invitations', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
const redeem = (link) =>
  client().auth.verifyOtp({ token_hash: new URL(link).searchParams.get('token'), type: 'invite' });

test('an invitation to hand over: its link opens the account of the invited address, once, and joins it', async () => {
  const { c: owner, tenant } = await founder();
  const email = newAddress('handed');
  const { status, body } = await invite(owner, { email, role: 'manager', deliver: 'link' });
  assert.deepEqual([status, body.role, body.email], [201, 'manager', email]);
  const { session, user } = ok(await redeem(body.link));
  const told = claims(session.access_token);
  assert.deepEqual([user.email, told.tenant_id, told.tenant_role], [email, tenant, 'manager']);
  assert.equal((await redeem(body.link)).error.code, 'otp_expired', 'used');
  assert.deepEqual(mailbox.letters(email, /./), [], 'nothing is mailed');
  const listed = ok(await owner.from('invitations').select('*').eq('email', email));
  assert.deepEqual(
    [listed.length, listed[0].status, listed[0].token_hash, 'link' in listed[0]],
    [1, 'accepted', null, false],
    'the link was shown once',
  );
});

test('an invitation to hand over: renewed, revoked, and no key to an account in use', async () => {
  const { c: owner } = await founder();
  const email = newAddress('renewed');
  const first = (await invite(owner, { email, role: 'viewer', deliver: 'link' })).body;
  const second = (await invite(owner, { email, role: 'viewer', deliver: 'link' })).body;
  assert.equal((await redeem(first.link)).error.code, 'otp_expired', 'renewed');
  ok(await owner.from('invitations').update({ status: 'revoked' }).eq('id', second.id));
  assert.equal((await redeem(second.link)).error.code, 'otp_expired', 'revoked');
  const holder = await confirmed('holder');
  const { body } = await invite(owner, { email: holder.email, role: 'viewer', deliver: 'link' });
  const link = new URL(body.link);
  assert.equal(link.origin, `http://localhost:${process.env.PORT_SITE}`, 'the site, where the holder signs in');
  assert.ok(link.searchParams.get('invite_token'), 'which is told the invitation');
  const above = await invite((await confirmed('nobody')).c, { email, role: 'viewer', deliver: 'link' });
  assert.equal(above.status, 403);
});

// What came too late, each of which is in time by default: see confirm.mjs,
// linking.mjs, sso.mjs, factors.mjs, browser.mjs.
const past = () => sleep(1200);
const refused = ({ error }) => [error?.status, error?.code];
// back is where the browser stands that comes late from a provider.
async function back(from, cookies = '') {
  const asked = new URL(from).searchParams;
  const answer = new URLSearchParams({ state: asked.get('state'), code: 'any' });
  const response = await fetch(`${asked.get('redirect_uri')}?${answer}`, {
    redirect: 'manual',
    headers: { Cookie: cookies },
  });
  return new URL(response.headers.get('location')).searchParams.get('error_code');
}

test('exchangeCodeForSession too late: flow_state_expired', async () => {
  const c = client(undefined, pkce());
  const email = newAddress('late');
  ok(await c.auth.signUp({ email, password, options: { emailRedirectTo: `${site}/in` } }));
  const at = await press((await mailbox.letter(email, /Confirm/)).link);
  await past();
  assert.deepEqual(refused(await c.auth.exchangeCodeForSession(at.searchParams.get('code'))), [
    422,
    'flow_state_expired',
  ]);
});

test('back from a provider too late: bad_oauth_state, and saml_relay_state_expired from one of an organisation', async () => {
  const c = client(undefined, pkce());
  const { url: address } = ok(
    await c.auth.signInWithOAuth({ provider: 'own', options: { redirectTo: `${site}/in`, skipBrowserRedirect: true } }),
  );
  const first = await fetch(address, { redirect: 'manual' });
  const { tenant } = await founder();
  const identifier = `custom:${unique('late').toLowerCase()}`;
  const made = await fetch(`${url}/auth/v1/admin/custom-providers`, {
    method: 'POST',
    headers: { apikey: serviceKey, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      tenant_id: tenant,
      identifier,
      name: 'Corp',
      client_id: own.clientId,
      client_secret: 'the-secret-of-holdfast',
      issuer: own.issuer,
    }),
  });
  const { id } = await made.json();
  const { url: theirs } = ok(
    await c.auth.signInWithSSO({ providerId: id, options: { redirectTo: `${site}/in`, skipBrowserRedirect: true } }),
  );
  await past();
  assert.equal(await back(first.headers.get('location'), own.cookiesOf(first)), 'bad_oauth_state');
  assert.equal(await back(theirs), 'saml_relay_state_expired');
});

test('mfa.verify and passkeys too late: mfa_challenge_expired, webauthn_challenge_expired', async () => {
  const { email } = await confirmed('late');
  const c = client(undefined, {
    auth: { persistSession: false, autoRefreshToken: false, experimental: { passkey: true } },
  });
  ok(await c.auth.signInWithPassword({ email, password }));
  const { id: factorId } = ok(await c.auth.mfa.enroll({ factorType: 'totp' }));
  const { id: challengeId } = ok(await c.auth.mfa.challenge({ factorId }));
  const registering = ok(await c.auth.passkey.startRegistration());
  const device = authenticator();
  const entering = ok(await c.auth.passkey.startAuthentication());
  await past();
  assert.deepEqual(refused(await c.auth.mfa.verify({ factorId, challengeId, code: '000000' })), [
    422,
    'mfa_challenge_expired',
  ]);
  assert.deepEqual(
    refused(
      await c.auth.passkey.verifyRegistration({
        challengeId: registering.challenge_id,
        credential: device.create(registering.options),
      }),
    ),
    [400, 'webauthn_challenge_expired'],
  );
  assert.deepEqual(
    refused(
      await c.auth.passkey.verifyAuthentication({
        challengeId: entering.challenge_id,
        credential: device.get(entering.options),
      }),
    ),
    [400, 'webauthn_challenge_expired'],
  );
});
