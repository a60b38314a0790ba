// Passkeys that no browser would register; what it does with its own is in
// browser.mjs.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { claims, client, ok, password } from '../client.mjs';
import { authenticator } from './authenticator.mjs';
import { confirmed } from './rig.mjs';

const withPasskeys = () => client(undefined, { auth: { persistSession: false, autoRefreshToken: false, experimental: { passkey: true } } });
const refused = ({ error }) => [error?.status, error?.code];

// holder is signed in to a new account.
async function holder() {
  const { email } = await confirmed('passkeys');
  const c = withPasskeys();
  ok(await c.auth.signInWithPassword({ email, password }));
  return c;
}

async function register(c, device = authenticator()) {
  const { challenge_id: challengeId, options } = ok(await c.auth.passkey.startRegistration());
  return c.auth.passkey.verifyRegistration({ challengeId, credential: device.create(options) });
}

test('a challenge is answered once, by who was asked', async () => {
  const c = await holder();
  const device = authenticator();
  ok(await register(c, device));
  const asked = ok(await withPasskeys().auth.passkey.startAuthentication());
  const answer = { challengeId: asked.challenge_id, credential: device.get(asked.options) };
  const { session } = ok(await withPasskeys().auth.passkey.verifyAuthentication(answer));
  assert.equal(claims(session.access_token).amr[0].method, 'passkey');
  assert.deepEqual(refused(await withPasskeys().auth.passkey.verifyAuthentication(answer)), [400, 'webauthn_challenge_not_found']);
  const { challenge_id: challengeId, options } = ok(await c.auth.passkey.startRegistration());
  const registration = { challengeId, credential: authenticator().create(options) };
  assert.deepEqual(refused(await (await holder()).auth.passkey.verifyRegistration(registration)), [400, 'webauthn_challenge_not_found']);
  assert.deepEqual(refused(await c.auth.passkey.verifyRegistration({ ...registration, challengeId: randomUUID() })), [400, 'webauthn_challenge_not_found']);
  ok(await c.auth.passkey.verifyRegistration(registration));
});

test('a passkey is registered once, by one account', async () => {
  const device = authenticator();
  const c = await holder();
  ok(await register(c, device));
  for (const again of [c, await holder()]) assert.deepEqual(refused(await register(again, device)), [422, 'webauthn_credential_exists']);
});

test('registerPasskey: no more than ten', async () => {
  const c = await holder();
  for (let i = 0; i < 10; i++) ok(await register(c));
  assert.deepEqual(refused(await c.auth.passkey.startRegistration()), [422, 'too_many_passkeys']);
});
