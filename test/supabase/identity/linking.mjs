// Who is who: anonymous accounts, providers, identities that are tied together.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { claims, client, ok, password, service, url } from '../client.mjs';
import { letter } from './mailbox.mjs';
import * as own from './own.mjs';
import { confirmed, newAddress, pkce, withPasskeys } from './rig.mjs';
import { site } from './site.mjs';

// arrive signs a person in at our provider, as signInWithOAuth does.
async function arrive(who, c = client(undefined, pkce()), provider = 'own', queryParams = {}) {
  const { url: address } = ok(
    await c.auth.signInWithOAuth({
      provider,
      options: { redirectTo: `${site}/in`, skipBrowserRedirect: true, queryParams },
    }),
  );
  const at = await own.go(address, who);
  return {
    c,
    at,
    ...(at.searchParams.get('code') ? ok(await c.auth.exchangeCodeForSession(at.searchParams.get('code'))) : {}),
  };
}

test("signInAnonymously, and the way to an account of one's own", async () => {
  const c = withPasskeys();
  const { user, session } = ok(await c.auth.signInAnonymously({ options: { data: { cart: 3 } } }));
  assert.deepEqual(
    [user.is_anonymous, user.identities ?? [], user.app_metadata, user.user_metadata],
    [true, [], {}, { cart: 3 }],
  );
  assert.deepEqual(
    [claims(session.access_token).is_anonymous, claims(session.access_token).amr[0].method],
    [true, 'anonymous'],
  );
  assert.ok((await c.auth.updateUser({ password: 'a-password-alone' })).error, 'a password without an address');
  const protections = {
    'mfa.enroll': c.auth.mfa.enroll({ factorType: 'totp' }),
    'passkey.startRegistration': c.auth.passkey.startRegistration(),
  };
  for (const [name, ask] of Object.entries(protections)) {
    const { error } = await ask;
    assert.deepEqual([error?.status, error?.code], [403, 'no_authorization'], name);
  }
  const email = newAddress('upgraded');
  ok(await c.auth.updateUser({ email }));
  assert.equal(ok(await c.auth.getUser()).user.is_anonymous, true, 'the address is not proved yet');
  const { code, text } = await letter(email, /Confirm your new address/);
  assert.match(text, /An account that has no address yet is to use this one\./);
  ok(await c.auth.verifyOtp({ email, token: code, type: 'email_change' }));
  const now = ok(await c.auth.refreshSession());
  assert.deepEqual(
    [now.user.id, now.user.email, now.user.is_anonymous, now.user.user_metadata.cart],
    [user.id, email, false, 3],
  );
  ok(await c.auth.updateUser({ password }));
  ok(await client().auth.signInWithPassword({ email, password }));
});

test('signInWithOAuth with PKCE: account, tokens of the provider, one account the second time', async () => {
  const who = own.person(newAddress('olga'));
  const { user, session, at } = await arrive(who);
  assert.equal(at.origin + at.pathname, `${site}/in`);
  assert.deepEqual([user.email, user.app_metadata.provider, user.identities[0].id], [who.email, 'own', who.sub]);
  assert.deepEqual([session.provider_token, session.provider_refresh_token], ['at-the-provider', 'rt-of-the-provider']);
  assert.deepEqual(
    [claims(session.access_token).amr[0].method, claims(session.access_token).amr[0].provider],
    ['oauth', 'own'],
  );
  assert.equal(
    (await arrive({ ...who, email: newAddress('olga-moved') })).user.id,
    user.id,
    'the subject counts, not the address',
  );
});

test('signInWithOAuth: what else is asked of the provider is passed on, what controls the flow is not', async () => {
  const foreign = {
    client_id: 'evil',
    redirect_uri: 'https://evil.example',
    state: 'evil',
    response_type: 'token',
    response_mode: 'fragment',
    nonce: 'evil',
  };
  const queryParams = { ...foreign, login_hint: 'olga@people.example', prompt: 'consent' };
  const { url: address } = ok(
    await client().auth.signInWithOAuth({
      provider: 'own',
      options: { redirectTo: `${site}/in`, queryParams, skipBrowserRedirect: true },
    }),
  );
  const started = await fetch(address, { redirect: 'manual' });
  assert.equal(started.status, 302, await started.text());
  const asked = new URL(started.headers.get('location')).searchParams;
  assert.deepEqual(
    [asked.get('login_hint'), asked.get('prompt'), asked.get('client_id'), asked.get('response_type')],
    ['olga@people.example', 'consent', own.clientId, 'code'],
  );
  for (const [name, value] of Object.entries(foreign))
    assert.ok(asked.getAll(name).length <= 1 && asked.get(name) !== value, name);
});

test('signInWithOAuth: custom: in front of a name, and an invitation that is taken up', async () => {
  const who = own.person(newAddress('guest'));
  const { user: invited, properties } = ok(
    await service().auth.admin.generateLink({ type: 'invite', email: who.email }),
  );
  const elsewhere = await arrive(own.person(newAddress('no-guest')), undefined, 'own', {
    invite_token: properties.hashed_token,
  });
  assert.equal(elsewhere.at.searchParams.get('error_code'), 'validation_failed');
  const { user } = await arrive(who, undefined, 'custom:own', { invite_token: properties.hashed_token });
  assert.deepEqual([user.id, user.email, user.app_metadata.providers.includes('own')], [invited.id, who.email, true]);
  for (const token of [properties.hashed_token, 'made-up']) {
    const response = await fetch(`${url}/auth/v1/authorize?provider=own&invite_token=${token}`, { redirect: 'manual' });
    assert.deepEqual([response.status, (await response.json()).error_code], [404, 'invite_not_found']);
  }
});

test('signInWithOAuth: an answer works once', async () => {
  const c = client(undefined, pkce());
  const { url: address } = ok(
    await c.auth.signInWithOAuth({ provider: 'own', options: { redirectTo: `${site}/in`, skipBrowserRedirect: true } }),
  );
  const at = [];
  const twice = async (to, answer, cookies) => {
    let response;
    for (let i = 0; i < 2; i++) {
      response = await fetch(`${to}?${answer}`, { redirect: 'manual', headers: { Cookie: cookies } });
      at.push(new URL(response.headers.get('location')));
    }
    return response;
  };
  await own.go(address, own.person(newAddress('once')), twice);
  assert.deepEqual(
    at.map((a) => a.searchParams.get('error_code')),
    [null, 'flow_state_already_used'],
  );
  ok(await c.auth.exchangeCodeForSession(at[0].searchParams.get('code')));
});

test('signInWithOAuth: a provider that refuses, or says nothing', async () => {
  for (const [answer, code] of [
    [{ error: 'access_denied' }, 'access_denied'],
    [{}, 'bad_oauth_callback'],
  ]) {
    const { url: address } = ok(
      await client().auth.signInWithOAuth({
        provider: 'own',
        options: { redirectTo: `${site}/in`, skipBrowserRedirect: true },
      }),
    );
    const at = await own.go(address, own.person(newAddress('refused')), (to, given, cookies) =>
      fetch(`${to}?${new URLSearchParams({ state: given.get('state'), ...answer })}`, {
        redirect: 'manual',
        headers: { Cookie: cookies },
      }),
    );
    assert.deepEqual([at.origin + at.pathname, at.searchParams.get('error_code')], [`${site}/in`, code], at.href);
  }
});

test('signInWithOAuth without PKCE: the session is in the fragment', async () => {
  const { url: address } = ok(
    await client().auth.signInWithOAuth({ provider: 'own', options: { redirectTo: `${site}/in` } }),
  );
  const at = await own.go(address, own.person(newAddress('implicit')));
  const got = new URLSearchParams(at.hash.slice(1));
  assert.deepEqual([got.get('token_type'), got.get('provider_token'), at.search], ['bearer', 'at-the-provider', '']);
  ok(await client().auth.getUser(got.get('access_token')));
});

test('signInWithOAuth at a provider that posts its answer as a form', async () => {
  const c = client(undefined, pkce());
  const { url: address } = ok(
    await c.auth.signInWithOAuth({ provider: 'own', options: { redirectTo: `${site}/in`, skipBrowserRedirect: true } }),
  );
  const who = own.person(newAddress('posted'));
  const at = await own.go(address, who, own.byForm);
  assert.equal(ok(await c.auth.exchangeCodeForSession(at.searchParams.get('code'))).user.email, who.email);
});

test('an unknown provider', async () => {
  const response = await fetch(`${url}/auth/v1/authorize?provider=nowhere`, { redirect: 'manual' });
  assert.deepEqual([response.status, (await response.json()).error_code], [400, 'validation_failed']);
});

test('an answer that belongs to no sign-in leads to the site and says so', async () => {
  for (const query of [
    'state=made-up&code=x',
    'code=x',
    'state=0198c6f0-0000-7000-8000-000000000000&error=access_denied',
  ]) {
    const response = await fetch(`${url}/auth/v1/callback/own?${query}`, { redirect: 'manual' });
    const to = new URL(response.headers.get('location'));
    assert.deepEqual([response.status, to.origin], [303, site], query);
    assert.match(to.searchParams.get('error_code'), /^bad_oauth_(state|callback)$/);
    assert.ok(to.searchParams.get('error') && to.searchParams.get('error_description'));
  }
});

test('a proved address leads to the account that has it; an unproved one does not', async () => {
  const { id, email } = await confirmed('linked');
  const { user } = await arrive(own.person(email));
  assert.equal(user.id, id);
  assert.deepEqual(user.app_metadata.providers.toSorted(), ['email', 'own']);
  ok(await client().auth.signInWithPassword({ email, password }));
  const { email: other, id: victim } = await confirmed('victim');
  const { at, user: none } = await arrive(own.person(other, { email_verified: false }));
  assert.equal(none, undefined);
  assert.deepEqual(
    [at.searchParams.get('error'), at.searchParams.get('error_code')],
    ['access_denied', 'provider_email_needs_verification'],
    at.href,
  );
  const { user: untouched } = ok(await client().auth.signInWithPassword({ email: other, password }));
  assert.deepEqual([untouched.id, untouched.identities.length], [victim, 1]);
});

test("an account that somebody made ahead of the owner is the owner's alone afterwards", async () => {
  const email = newAddress('hijack');
  ok(await client().auth.signUp({ email, password: 'of-the-squatter' }));
  const { user } = await arrive(own.person(email));
  assert.equal(user.email, email);
  assert.equal(
    (await client().auth.signInWithPassword({ email, password: 'of-the-squatter' })).error.code,
    'invalid_credentials',
  );
});

test('linkIdentity, getUserIdentities, unlinkIdentity', async () => {
  const c = client(undefined, pkce());
  const { email } = await confirmed('linker');
  ok(await c.auth.signInWithPassword({ email, password }));
  const who = own.person(newAddress('linked-to'));
  const { url: address } = ok(
    await c.auth.linkIdentity({ provider: 'own', options: { redirectTo: `${site}/in`, skipBrowserRedirect: true } }),
  );
  assert.equal(new URL(address).origin, own.issuer);
  const at = await own.finish({ location: address, cookies: '' }, who);
  assert.deepEqual(
    ok(await c.auth.getUserIdentities()).identities.map((i) => i.provider),
    ['email'],
    'nothing is linked before the verifier is shown',
  );
  ok(await c.auth.exchangeCodeForSession(at.searchParams.get('code')));
  const { identities } = ok(await c.auth.getUserIdentities());
  assert.deepEqual(identities.map((i) => i.provider).toSorted(), ['email', 'own']);
  const mine = (await arrive(who)).user;
  assert.equal(mine.email, email, 'the provider now leads here');
  const linked = identities.find((i) => i.provider === 'own');
  ok(await c.auth.unlinkIdentity(linked));
  assert.deepEqual(
    ok(await c.auth.getUserIdentities()).identities.map((i) => i.provider),
    ['email'],
  );
  const last = (await c.auth.unlinkIdentity(identities.find((i) => i.provider === 'email'))).error;
  assert.deepEqual([last.status, last.code], [422, 'single_identity_not_deletable']);
  const strange = (await c.auth.unlinkIdentity({ ...linked, identity_id: '01a1fdd3-49a8-71f7-afb0-243f4650b256' }))
    .error;
  assert.deepEqual([strange.status, strange.code], [422, 'identity_not_found']);
});

test("unlinkIdentity: not where the other identity's address has become somebody else's", async () => {
  const { c, email } = await confirmed('first');
  const theirs = newAddress('second');
  ok(await c.auth.linkIdentity({ provider: 'own', token: own.idToken(own.person(theirs)) }));
  ok(await service().auth.admin.createUser({ email: theirs, password, email_confirm: true }));
  const mine = ok(await c.auth.getUserIdentities()).identities.find((i) => i.provider === 'email');
  const { error } = await c.auth.unlinkIdentity(mine);
  assert.deepEqual([error.status, error.code], [422, 'email_conflict_identity_not_deletable']);
  assert.equal(ok(await client().auth.signInWithPassword({ email, password })).user.identities.length, 2);
});

test('linkIdentity with an ID token', async () => {
  const { c, id } = await confirmed('tied');
  const who = own.person(newAddress('tied-to'));
  const { user } = ok(await c.auth.linkIdentity({ provider: 'own', token: own.idToken(who) }));
  assert.equal(user.id, id);
  assert.deepEqual(
    ok(await c.auth.getUser())
      .user.identities.map((i) => i.provider)
      .toSorted(),
    ['email', 'own'],
  );
  const { c: other } = await confirmed('tied-too');
  const { error } = await other.auth.linkIdentity({ provider: 'own', token: own.idToken(who) });
  assert.deepEqual([error.status, error.code], [422, 'identity_already_exists']);
});

test('signInWithIdToken: nonce, audience, signature', async () => {
  const who = own.person(newAddress('token'));
  const nonce = randomBytes(16).toString('hex');
  const hashed = createHash('sha256').update(nonce).digest('hex');
  const { user, session } = ok(
    await client().auth.signInWithIdToken({ provider: 'own', token: own.idToken({ ...who, nonce: hashed }), nonce }),
  );
  assert.deepEqual([user.email, user.app_metadata.provider, session.token_type], [who.email, 'own', 'bearer']);
  const signed = own.idToken(who).split('.');
  for (const [name, token, given] of [
    ['another audience', own.idToken({ ...who, aud: 'somebody-else' })],
    ['another issuer', own.idToken({ ...who, iss: 'https://elsewhere.example' })],
    ['expired', own.idToken({ ...who, exp: 1000 })],
    ['a nonce that nobody gave', own.idToken({ ...who, nonce: hashed })],
    ['a nonce that is not in the token', own.idToken(who), nonce],
    ['another nonce', own.idToken({ ...who, nonce: hashed }), 'another'],
    ['alg none', `${Buffer.from('{"alg":"none"}').toString('base64url')}.${signed[1]}.`],
    [
      'a changed claim',
      `${signed[0]}.${Buffer.from(JSON.stringify({ ...claims(own.idToken(who)), sub: 'boss' })).toString('base64url')}.${signed[2]}`,
    ],
    ['an unknown key', own.idToken(who, { kid: 'nobody-s' })],
    ['no token', 'rubbish'],
  ]) {
    const { error } = await client().auth.signInWithIdToken({ provider: 'own', token, nonce: given });
    const why = name === 'another audience' ? 'Unacceptable audience in id_token: [somebody-else]' : 'Bad ID token';
    assert.deepEqual([error?.status, error?.message], [400, why], name);
    const response = await fetch(`${url}/auth/v1/token?grant_type=id_token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ provider: 'own', id_token: token, nonce: given }),
    });
    assert.deepEqual(
      [response.status, await response.json()],
      [400, { error: 'invalid request', error_description: why }],
      name,
    );
  }
  const { error } = await client().auth.signInWithIdToken({ provider: 'nowhere', token: own.idToken(who) });
  assert.deepEqual([error.status, error.code], [400, 'provider_disabled']);
  assert.equal(
    ok(await client().auth.signInWithIdToken({ provider: 'custom:own', token: own.idToken(who) })).user.id,
    user.id,
  );
  // What older clients send in the provider's place.
  const issuer = claims(own.idToken(who)).iss;
  for (const [client_id, status] of [
    [own.clientId, 200],
    ['another', 400],
  ]) {
    const response = await fetch(`${url}/auth/v1/token?grant_type=id_token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ id_token: own.idToken(who), client_id, issuer }),
    });
    assert.equal(response.status, status, client_id);
  }
});
