// What becomes of that which an operator allowed once and switched off later:
// two starts of a server on the same data, with later.env and later-off.env.
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
const withPasskeys = { auth: { persistSession: false, autoRefreshToken: false, experimental: { passkey: true } } };
const send = (c, path, body) => call(c, `/auth/v1${path}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

async function signedIn(email) {
  const c = client(undefined, withPasskeys);
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
  ok(await holder.c.auth.passkey.verifyRegistration({ challengeId: asked.challenge_id, credential: device.create(asked.options) }));
  const key = ok(await holder.c.auth.mfa.enroll({ factorType: 'webauthn', friendlyName: 'Key' }));
  const { body: challenge } = await send(holder.c, `/factors/${key.id}/challenge`, {});
  const answer = authenticator().create(challenge.webauthn.credential_options.publicKey);
  const lifted = await send(holder.c, `/factors/${key.id}/verify`, { challenge_id: challenge.id, webauthn: { type: 'create', credential_response: answer } });
  assert.equal(lifted.status, 200, JSON.stringify(lifted.body));

  const { session } = ok(await client().auth.signInWithIdToken({ provider: 'own', token: own.idToken(own.person(newAddress('arrived'))) }));
  writeFileSync(kept, JSON.stringify({ caller: caller.email, telephone: telephone.id, holder: holder.email, key: key.id, token: session.refresh_token }));
}

// The second.
async function after() {
  const was = JSON.parse(readFileSync(kept));
  const caller = await signedIn(was.caller);
  assert.deepEqual(refused(await caller.auth.mfa.challenge({ factorId: was.telephone })), [422, 'mfa_phone_verify_not_enabled']);
  const holder = await signedIn(was.holder);
  assert.deepEqual(refused(await holder.auth.mfa.challenge({ factorId: was.key })), [422, 'mfa_webauthn_verify_not_enabled']);
  assert.deepEqual(refused(await holder.auth.passkey.list()), [404, 'passkey_disabled']);
  const { c } = await made('late');
  assert.deepEqual(refused(await c.auth.mfa.enroll({ factorType: 'webauthn', friendlyName: 'Key' })), [422, 'mfa_webauthn_enroll_not_enabled']);
  assert.deepEqual(refused(await c.auth.mfa.enroll({ factorType: 'phone', phone: '15550001111' })), [422, 'mfa_phone_enroll_not_enabled']);
  assert.deepEqual(refused(await client().auth.refreshSession({ refresh_token: was.token })), [400, 'session_expired'], 'the provider is gone');
}

const first = process.env.SETTINGS === 'later.env';
test(first ? 'telephones, security keys, passkeys and a provider, while they are on' : 'telephones, security keys, passkeys and a provider, switched off later', first ? before : after);
