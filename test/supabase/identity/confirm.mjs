// What goes by mail: confirming, codes, links, recovery.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anonKey, claims, client, ok, password, url } from '../client.mjs';
import { letter, letters } from './mailbox.mjs';
import { confirmed, newAddress, pkce, press } from './rig.mjs';
import { site } from './site.mjs';

const fragment = (address) => new URLSearchParams(address.hash.slice(1));

test('signUp: a user without a session, until the mailed code is given', async () => {
  const email = newAddress('sign-up');
  const c = client();
  const { user, session } = ok(
    await c.auth.signUp({ email: email.toUpperCase(), password, options: { data: { name: 'Sue' } } }),
  );
  assert.equal(session, null);
  assert.equal(user.email, email);
  assert.ok(user.confirmation_sent_at);
  assert.equal(user.email_confirmed_at, undefined);
  assert.deepEqual(
    [user.user_metadata.name, user.user_metadata.email, user.user_metadata.sub],
    ['Sue', email, user.id],
  );
  const early = (await client().auth.signInWithPassword({ email, password })).error;
  assert.deepEqual([early.status, early.code, early.message], [400, 'email_not_confirmed', 'Email not confirmed']);
  const wrong = (await client().auth.signInWithPassword({ email, password: 'another-password' })).error;
  assert.equal(wrong.code, 'invalid_credentials', 'the state of an account is told to its owner');
  const mail = await letter(email, /Confirm/);
  const bad = (await c.auth.verifyOtp({ email, token: mail.code === '000000' ? '000001' : '000000', type: 'email' }))
    .error;
  assert.deepEqual([bad.status, bad.code], [403, 'otp_expired']);
  const verified = ok(await c.auth.verifyOtp({ email, token: mail.code, type: 'email' }));
  assert.ok(verified.user.email_confirmed_at);
  const again = (await client().auth.verifyOtp({ email, token: mail.code, type: 'email' })).error;
  assert.equal(again.code, 'otp_expired', 'a code works once');
  ok(await client().auth.signInWithPassword({ email, password }));
});

test('signUp with a taken address: a decoy that looks like a new account', async () => {
  const { email, id } = await confirmed('taken');
  const { user, session } = ok(await client().auth.signUp({ email, password: 'some-other-password' }));
  assert.equal(session, null);
  assert.notEqual(user.id, id);
  const { user: real } = ok(await client().auth.signUp({ email: newAddress('real'), password }));
  const shape = (v) =>
    Array.isArray(v)
      ? v.map(shape)
      : v && typeof v === 'object'
        ? Object.fromEntries(
            Object.keys(v)
              .sort()
              .map((k) => [k, shape(v[k])]),
          )
        : typeof v;
  assert.deepEqual(shape(user), shape(real), 'who asks does not learn that the address has an account');
  assert.equal(user.identities.length, 1);
  await letter(email, /already have an account/);
  assert.equal(
    (await client().auth.signInWithPassword({ email, password: 'some-other-password' })).error.code,
    'invalid_credentials',
  );
  ok(await client().auth.signInWithPassword({ email, password }));
});

test('signUp again before the address was proved: mailed again, the later password does not win', async () => {
  const email = newAddress('twice');
  ok(await client().auth.signUp({ email, password }));
  await letter(email, /Confirm/);
  ok(await client().auth.signUp({ email, password: 'a-squatter-s-password' }));
  const { code } = await letter(email, /Confirm/, 2);
  ok(await client().auth.verifyOtp({ email, token: code, type: 'signup' }));
  assert.equal(
    (await client().auth.signInWithPassword({ email, password: 'a-squatter-s-password' })).error.code,
    'invalid_credentials',
  );
});

test('resend: another mail for those who wait for one, the same answer for all', async () => {
  const email = newAddress('resend');
  ok(await client().auth.signUp({ email, password }));
  await letter(email, /Confirm/);
  ok(await client().auth.resend({ type: 'signup', email }));
  const { code } = await letter(email, /Confirm/, 2);
  ok(await client().auth.verifyOtp({ email, token: code, type: 'signup' }));
  ok(await client().auth.resend({ type: 'signup', email }));
  ok(await client().auth.resend({ type: 'signup', email: newAddress('stranger') }));
});

test('the link of a mail: opening it is not enough, pressing the button is; the session is in the fragment', async () => {
  const email = newAddress('link');
  ok(await client().auth.signUp({ email, password, options: { emailRedirectTo: `${site}/welcome?a=1` } }));
  const { link } = await letter(email, /Confirm/);
  assert.equal(new URL(link).origin, url);
  for (const method of ['GET', 'HEAD', 'GET'])
    await fetch(link, { method, redirect: 'manual', headers: { Accept: 'text/html' } });
  const at = await press(link);
  assert.equal(at.origin + at.pathname + at.search, `${site}/welcome?a=1`);
  const got = fragment(at);
  assert.deepEqual([got.get('type'), got.get('token_type')], ['signup', 'bearer']);
  const { user } = ok(await client().auth.getUser(got.get('access_token')));
  assert.equal(user.email, email);
  const twice = await press(link);
  assert.deepEqual([fragment(twice).get('error'), fragment(twice).get('error_code')], ['access_denied', 'otp_expired']);
});

test('PKCE: the link brings a code that only the asking client can redeem', async () => {
  const email = newAddress('pkce');
  const asking = client(undefined, pkce());
  ok(await asking.auth.signUp({ email, password, options: { emailRedirectTo: `${site}/in` } }));
  const { link } = await letter(email, /Confirm/);
  assert.match(new URL(link).searchParams.get('token'), /^pkce_/);
  const at = await press(link);
  const code = at.searchParams.get('code');
  assert.ok(code);
  assert.equal(at.hash, '');
  const guess = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ auth_code: code, code_verifier: 'a'.repeat(64) }),
  };
  const thief = await fetch(`${url}/auth/v1/token?grant_type=pkce`, guess);
  assert.deepEqual([thief.status, (await thief.json()).error_code], [400, 'bad_code_verifier']);
  const { session } = ok(await asking.auth.exchangeCodeForSession(code));
  assert.deepEqual([session.user.email, claims(session.access_token).amr[0].method], [email, 'email/signup']);
  const second = await fetch(`${url}/auth/v1/token?grant_type=pkce`, guess);
  assert.deepEqual([second.status, (await second.json()).error_code], [404, 'flow_state_not_found']);
});

test('signInWithOtp: a known address gets link and code, a new one signs up', async () => {
  const { email } = await confirmed('otp');
  ok(await client().auth.signInWithOtp({ email }));
  const { code } = await letter(email, /sign-in link/);
  const { user, session } = ok(await client().auth.verifyOtp({ email, token: code, type: 'email' }));
  assert.equal(user.email, email);
  assert.equal(session.token_type, 'bearer');
  ok(await client().auth.signInWithOtp({ email }));
  const at = await press((await letter(email, /sign-in link/, 2)).link);
  assert.equal(fragment(at).get('type'), 'magiclink');
  const asking = client(undefined, pkce());
  ok(await asking.auth.signInWithOtp({ email, options: { emailRedirectTo: `${site}/in` } }));
  const by = await press((await letter(email, /sign-in link/, 3)).link);
  const exchanged = ok(await asking.auth.exchangeCodeForSession(by.searchParams.get('code'))).session;
  assert.deepEqual(
    [session, exchanged].map((s) => claims(s.access_token).amr[0].method),
    ['otp', 'magiclink'],
  );

  const fresh = newAddress('otp-new');
  ok(await client().auth.signInWithOtp({ email: fresh, options: { data: { shift: 'early' } } }));
  const welcome = await letter(fresh, /Confirm/);
  const made = ok(await client().auth.verifyOtp({ email: fresh, token: welcome.code, type: 'email' }));
  assert.equal(made.user.user_metadata.shift, 'early');
});

test('signInWithOtp without shouldCreateUser makes nobody', async () => {
  const stranger = newAddress('stranger');
  const { error } = await client().auth.signInWithOtp({ email: stranger, options: { shouldCreateUser: false } });
  assert.equal(error, null, 'a stranger is not told who has an account; choices.test.mjs has the other way');
  const { email } = await confirmed('last');
  ok(await client().auth.signInWithOtp({ email }));
  await letter(email, /sign-in link/); // what was asked for before would have come
  assert.deepEqual(letters(stranger, /./), []);
});

test('resetPasswordForEmail: by code and by link with PKCE; strangers get the same answer and no mail', async () => {
  const { email } = await confirmed('forgetful');
  const asking = client(undefined, pkce());
  ok(await asking.auth.resetPasswordForEmail(email, { redirectTo: `${site}/reset` }));
  const stranger = newAddress('stranger');
  ok(await client().auth.resetPasswordForEmail(stranger));
  const at = await press((await letter(email, /new password/)).link);
  assert.equal(at.pathname, '/reset');
  const { session } = ok(await asking.auth.exchangeCodeForSession(at.searchParams.get('code')));
  assert.deepEqual([session.user.email, claims(session.access_token).amr[0].method], [email, 'recovery']);
  ok(await asking.auth.updateUser({ password: 'a-third-password' }));
  ok(await client().auth.signInWithPassword({ email, password: 'a-third-password' }));
  assert.equal((await client().auth.signInWithPassword({ email, password })).error.code, 'invalid_credentials');
  await letter(email, /password was changed/);
  assert.deepEqual(letters(stranger, /./), []);
});

test('token_hash: what a page of the customer redeems', async () => {
  const { email } = await confirmed('hash');
  ok(await client().auth.resetPasswordForEmail(email));
  const hash = new URL((await letter(email, /new password/)).link).searchParams.get('token');
  const { user } = ok(await client().auth.verifyOtp({ token_hash: hash, type: 'recovery' }));
  assert.equal(user.email, email);
  assert.equal((await client().auth.verifyOtp({ token_hash: hash, type: 'recovery' })).error.code, 'otp_expired');
});

test('grant types: told in the query, in the body, or inferred; another one is refused', async () => {
  const { email } = await confirmed('grant');
  const ask = async (query, body) => {
    const response = await fetch(`${url}/auth/v1/token${query}`, {
      method: 'POST',
      headers: { apikey: anonKey, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    return [response.status, await response.json()];
  };
  for (const [query, more] of [
    ['?grant_type=password', {}],
    ['', { grant_type: 'password' }],
    ['', {}],
  ]) {
    const [status, got] = await ask(query, { email, password, ...more });
    assert.equal(status, 200, JSON.stringify(got));
    const [refreshed, next] = await ask('', { refresh_token: got.refresh_token });
    assert.equal(refreshed, 200, JSON.stringify(next));
  }
  assert.equal((await ask('?grant_type=saml', { email, password }))[0], 400);
});

test('settings and health', async () => {
  const settings = await (await fetch(`${url}/auth/v1/settings`)).json();
  assert.deepEqual(
    [settings.external.email, settings.external.anonymous_users, settings.external.own, settings.external.glewlwyd],
    [true, true, true, true],
  );
  assert.deepEqual(
    [settings.disable_signup, settings.mailer_autoconfirm, settings.saml_enabled, settings.passkeys_enabled],
    [false, false, true, true],
  );
  const health = await (await fetch(`${url}/auth/v1/health`)).json();
  assert.ok(health.version && health.name && health.description);
});
