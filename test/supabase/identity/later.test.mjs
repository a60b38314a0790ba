// What becomes of that which an operator allowed once and switched off later:
// two starts of a server on the same data, with later.env and later-off.env. The
// first also holds second factors to one address.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { call, client, ok, password, service } from '../client.mjs';
import { authenticator } from './authenticator.mjs';
import * as carrier from './carrier.mjs';
import * as own from './own.mjs';
import { newAddress } from './rig.mjs';

const kept = process.env.KEPT_FILE;
const refused = ({ error }) => [error?.status, error?.code];
const options = { auth: { persistSession: false, autoRefreshToken: false, experimental: { passkey: true } } };
const send = (c, path, body) =>
  call(c, `/auth/v1${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });

// at is a client at an address that a proxy tells.
const at = (address) => client(undefined, { ...options, global: { headers: { 'X-Forwarded-For': address } } });

async function signedIn(email) {
  const c = at('192.0.2.1');
  ok(await c.auth.signInWithPassword({ email, password }));
  return c;
}

async function made(name) {
  const email = newAddress(name);
  ok(await service().auth.admin.createUser({ email, password, email_confirm: true }));
  return { email, c: await signedIn(email) };
}

// The first start.
async function before() {
  await Promise.all([carrier.open(), own.open()]);
  const caller = await made('caller');
  const telephone = ok(await caller.c.auth.mfa.enroll({ factorType: 'phone', phone: '15550001111' }));
  ok(await caller.c.auth.mfa.challengeAndVerify({ factorId: telephone.id, code: '424242' }));

  const holder = await made('holder');
  const device = authenticator();
  const asked = ok(await holder.c.auth.passkey.startRegistration());
  ok(
    await holder.c.auth.passkey.verifyRegistration({
      challengeId: asked.challenge_id,
      credential: device.create(asked.options),
    }),
  );
  const key = ok(await holder.c.auth.mfa.enroll({ factorType: 'webauthn', friendlyName: 'Key' }));
  const { body: challenge } = await send(holder.c, `/factors/${key.id}/challenge`, {});
  const answer = authenticator().create(challenge.webauthn.credential_options.publicKey);
  const lifted = await send(holder.c, `/factors/${key.id}/verify`, {
    challenge_id: challenge.id,
    webauthn: { type: 'create', credential_response: answer },
  });
  assert.equal(lifted.status, 200, JSON.stringify(lifted.body));

  const walker = await made('walker');
  const app = ok(await walker.c.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'App' }));
  const { id: challengeId } = ok(await walker.c.auth.mfa.challenge({ factorId: app.id }));
  const elsewhere = at('198.51.100.1');
  ok(await elsewhere.auth.setSession(ok(await walker.c.auth.getSession()).session));
  assert.deepEqual(refused(await elsewhere.auth.mfa.verify({ factorId: app.id, challengeId, code: '000000' })), [
    422,
    'mfa_ip_address_mismatch',
  ]);
  assert.deepEqual(refused(await walker.c.auth.mfa.verify({ factorId: app.id, challengeId, code: '000000' })), [
    422,
    'mfa_verification_failed',
  ]);

  const { session } = ok(
    await client().auth.signInWithIdToken({ provider: 'own', token: own.idToken(own.person(newAddress('arrived'))) }),
  );
  writeFileSync(
    kept,
    JSON.stringify({
      caller: caller.email,
      telephone: telephone.id,
      holder: holder.email,
      key: key.id,
      walker: walker.email,
      app: app.id,
      token: session.refresh_token,
    }),
  );
}

// The second.
async function after() {
  const was = JSON.parse(readFileSync(kept));
  const caller = await signedIn(was.caller);
  assert.deepEqual(refused(await caller.auth.mfa.challenge({ factorId: was.telephone })), [
    422,
    'mfa_phone_verify_not_enabled',
  ]);
  const holder = await signedIn(was.holder);
  assert.deepEqual(refused(await holder.auth.mfa.challenge({ factorId: was.key })), [
    422,
    'mfa_webauthn_verify_not_enabled',
  ]);
  assert.deepEqual(refused(await holder.auth.passkey.list()), [404, 'passkey_disabled']);
  const walker = await signedIn(was.walker);
  assert.deepEqual(refused(await walker.auth.mfa.challenge({ factorId: was.app })), [
    422,
    'mfa_totp_verify_not_enabled',
  ]);
  const { c } = await made('late');
  assert.deepEqual(refused(await c.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'App' })), [
    422,
    'mfa_totp_enroll_not_enabled',
  ]);
  assert.deepEqual(refused(await c.auth.mfa.enroll({ factorType: 'webauthn', friendlyName: 'Key' })), [
    422,
    'mfa_webauthn_enroll_not_enabled',
  ]);
  assert.deepEqual(refused(await c.auth.mfa.enroll({ factorType: 'phone', phone: '15550001111' })), [
    422,
    'mfa_phone_enroll_not_enabled',
  ]);
  assert.deepEqual(
    refused(await client().auth.refreshSession({ refresh_token: was.token })),
    [400, 'session_expired'],
    'the provider is gone',
  );
}

const first = process.env.SETTINGS === 'later.env';
test(
  first
    ? 'second factors of all kinds, passkeys and a provider, while they are on'
    : 'second factors of all kinds, passkeys and a provider, switched off later',
  first ? before : after,
);
