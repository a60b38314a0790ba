// Passkeys that no browser would register; what it does with its own is in
// browser.mjs.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { claims, ok, password, serviceKey } from '../client.mjs';
import { authenticator } from './authenticator.mjs';
import { confirmed, withPasskeys } from './rig.mjs';

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
  assert.deepEqual(refused(await withPasskeys().auth.passkey.verifyAuthentication(answer)), [
    400,
    'webauthn_challenge_not_found',
  ]);
  const { challenge_id: challengeId, options } = ok(await c.auth.passkey.startRegistration());
  const registration = { challengeId, credential: authenticator().create(options) };
  assert.deepEqual(refused(await (await holder()).auth.passkey.verifyRegistration(registration)), [
    400,
    'webauthn_challenge_not_found',
  ]);
  assert.deepEqual(refused(await c.auth.passkey.verifyRegistration({ ...registration, challengeId: randomUUID() })), [
    400,
    'webauthn_challenge_not_found',
  ]);
  ok(await c.auth.passkey.verifyRegistration(registration));
});

test('a passkey is registered once, by one account', async () => {
  const device = authenticator();
  const c = await holder();
  ok(await register(c, device));
  for (const again of [c, await holder()])
    assert.deepEqual(refused(await register(again, device)), [422, 'webauthn_credential_exists']);
});

test('registerPasskey: no more than ten', async () => {
  const c = await holder();
  for (let i = 0; i < 10; i++) ok(await register(c));
  assert.deepEqual(refused(await c.auth.passkey.startRegistration()), [422, 'too_many_passkeys']);
});

test("admin.passkey: the service key sees and removes an account's passkeys", async () => {
  const c = await holder();
  const device = authenticator();
  const made = ok(await register(c, device));
  const userId = ok(await c.auth.getUser()).user.id;
  const { passkey } = withPasskeys(serviceKey).auth.admin;
  const [listed, ...more] = ok(await passkey.listPasskeys({ userId }));
  assert.deepEqual([listed.id, listed.friendly_name, more], [made.id, made.friendly_name, []]);
  for (const stranger of [c, withPasskeys()]) {
    const { error } = await stranger.auth.admin.passkey.listPasskeys({ userId });
    assert.ok([401, 403].includes(error?.status), JSON.stringify(error));
  }
  assert.deepEqual(refused(await passkey.deletePasskey({ userId: randomUUID(), passkeyId: made.id })), [
    404,
    'user_not_found',
  ]);
  assert.deepEqual(refused(await passkey.deletePasskey({ userId, passkeyId: randomUUID() })), [
    404,
    'webauthn_credential_not_found',
  ]);
  ok(await passkey.deletePasskey({ userId, passkeyId: made.id }));
  assert.deepEqual(ok(await passkey.listPasskeys({ userId })), []);
  const { challenge_id: challengeId, options } = ok(await withPasskeys().auth.passkey.startAuthentication());
  assert.deepEqual(
    refused(await withPasskeys().auth.passkey.verifyAuthentication({ challengeId, credential: device.get(options) })),
    [400, 'webauthn_verification_failed'],
  );
  ok(await register(c, device)); // the key is free again
});
