// What is switched off says so, and what is asked for too often too.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { client, ok, password, service, url } from '../client.mjs';
import * as carrier from './carrier.mjs';
import * as mailbox from './mailbox.mjs';
import { newAddress, pkce } from './rig.mjs';

await mailbox.open(process.env.PORT_SMTP);
await carrier.open();

// A captcha service that knows one good answer.
const asked = [];
const captcha = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    const form = new URLSearchParams(body);
    asked.push(form.get('secret'));
    response.end(JSON.stringify({ success: form.get('response') === 'solved' }));
  });
});
captcha.on('connection', (socket) => socket.unref());
await new Promise((done) => captcha.unref().listen(process.env.PORT_CAPTCHA, '127.0.0.1', done));

const captchaToken = 'solved';

// person is signed in to an account that an operator made.
async function person(more = {}, options) {
  const email = newAddress('strict');
  const { user } = ok(await service().auth.admin.createUser({ email, password, email_confirm: true, ...more }));
  const c = client(undefined, options);
  ok(await c.auth.signInWithPassword({ email, password, options: { captchaToken } }));
  return { c, email, id: user.id };
}

// hasty does not wait as a 429 asks, as the suite's other clients do.
const hasty = () => client(undefined, { global: { fetch } });

const refused = ({ error }) => [error?.status, error?.code];

test('a captcha: no answer and a wrong one are refused, by sign-in, recovery and codes', async () => {
  const { email } = await person();
  assert.ok(asked.every((secret) => secret === 'the-secret-of-the-captcha'));
  for (const options of [{}, { captchaToken: 'unsolved' }]) {
    for (const answer of [
      await client().auth.signInWithPassword({ email, password, options }),
      await client().auth.signInWithOtp({ email, options }),
      await client().auth.resetPasswordForEmail(email, options),
    ])
      assert.deepEqual(refused(answer), [400, 'captcha_failed']);
  }
});

test('no sign-up: by password, by code, without an address', async () => {
  const options = { captchaToken };
  assert.deepEqual(refused(await client().auth.signUp({ email: newAddress('closed'), password, options })), [
    422,
    'signup_disabled',
  ]);
  assert.deepEqual(refused(await client().auth.signUp({ phone: '4917012345678', password, options })), [
    422,
    'signup_disabled',
  ]);
  assert.deepEqual(refused(await client().auth.signInAnonymously({ options })), [422, 'anonymous_provider_disabled']);
  const unknown = newAddress('unknown');
  ok(await client().auth.signInWithOtp({ email: unknown, options }));
  assert.deepEqual(
    ok(await service().auth.admin.listUsers({ perPage: 1000 })).users.filter((u) => u.email === unknown),
    [],
  );
});

test('what is off says so', async () => {
  const { c } = await person({}, pkce());
  assert.deepEqual(refused(await c.auth.linkIdentity({ provider: 'google' })), [404, 'manual_linking_disabled']);
  assert.deepEqual(refused(await c.auth.mfa.enroll({ factorType: 'phone', phone: '+15550009999' })), [
    422,
    'mfa_phone_enroll_not_enabled',
  ]);
  assert.deepEqual(refused(await c.auth.signInWithSSO({ domain: 'corp.example' })), [404, 'saml_provider_disabled']);
  const keys = client(undefined, {
    auth: { persistSession: false, autoRefreshToken: false, experimental: { passkey: true } },
  });
  assert.deepEqual(refused(await keys.auth.passkey.startAuthentication()), [404, 'passkey_disabled']);
  ok(await keys.auth.setSession(ok(await c.auth.getSession()).session));
  assert.deepEqual(refused(await keys.auth.passkey.startRegistration()), [404, 'passkey_disabled']);
  const web3 = await fetch(`${url}/auth/v1/token?grant_type=web3`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"chain":"ethereum","message":"m","signature":"0x"}',
  });
  assert.deepEqual([web3.status, (await web3.json()).error_code], [422, 'web3_provider_disabled']);
  const settings = await (await fetch(`${url}/auth/v1/settings`)).json();
  assert.deepEqual(
    [
      settings.disable_signup,
      settings.saml_enabled,
      settings.passkeys_enabled,
      settings.external.anonymous_users,
      settings.external.phone,
    ],
    [true, false, false, false, true],
  );
});

test('a new password: by who knows the one so far, with letters and digits, and none that everybody uses', async () => {
  const { c, email } = await person();
  assert.deepEqual(refused(await c.auth.updateUser({ password: 'a-new-password-1' })), [
    400,
    'current_password_required',
  ]);
  for (const [weak, reason] of [
    ['only-letters-here', 'characters'],
    ['password123', 'pwned'],
  ]) {
    const { error } = await c.auth.updateUser({ password: weak, current_password: password });
    assert.deepEqual([error.status, error.code, error.reasons], [422, 'weak_password', [reason]]);
  }
  ok(await c.auth.updateUser({ password: 'a-new-password-1', current_password: password }));
  ok(await client().auth.signInWithPassword({ email, password: 'a-new-password-1', options: { captchaToken } }));
});

test('one mail and one message a minute: the second is refused and says how long', async () => {
  const { email } = await person();
  const options = { captchaToken };
  ok(await client().auth.resetPasswordForEmail(email, options));
  const mail = (await hasty().auth.resetPasswordForEmail(email, options)).error;
  assert.deepEqual([mail.status, mail.code], [429, 'over_email_send_rate_limit']);
  assert.match(mail.message, /^For security purposes, you can only request this after \d+ seconds\.$/);
  const phone = `4917${String(Date.now()).slice(-8)}`;
  await person({ phone, phone_confirm: true });
  ok(await client().auth.signInWithOtp({ phone, options }));
  assert.match(await carrier.code(phone), /^\d{8}$/);
  assert.deepEqual(refused(await hasty().auth.signInWithOtp({ phone, options })), [429, 'over_sms_send_rate_limit']);
  assert.equal(carrier.textsTo(phone).length, 1);
});
