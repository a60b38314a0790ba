// Second factors: authenticator apps and recovery codes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, claims, client, ok, password, service, serviceKey, sleep, url } from '../client.mjs';
import { totp } from '../totp.mjs';
import { confirmed } from './rig.mjs';

export { totp };

// later is a code that was not used yet: one works once, the next step's is
// already taken.
async function later(secret, used) {
  for (let tries = 0; tries < 800; tries++) {
    const now = Math.floor(Date.now() / 30_000);
    for (const step of [now, now + 1]) if (!used.includes(totp(secret, step))) return totp(secret, step);
    await sleep(50);
  }
  assert.fail('no code for 40 seconds');
}

async function protectedAccount() {
  const person = await confirmed('totp');
  const factor = ok(await person.c.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'App', issuer: 'Warehouse' }));
  const code = totp(factor.totp.secret);
  ok(await person.c.auth.mfa.challengeAndVerify({ factorId: factor.id, code }));
  return { ...person, factor, code };
}

const level = async (c) => ok(await c.auth.mfa.getAuthenticatorAssuranceLevel());

test('mfa.enroll, challenge, verify: a wrong code is refused, a right one lifts the session', async () => {
  const { c } = await confirmed('enrol');
  assert.deepEqual([(await level(c)).currentLevel, (await level(c)).nextLevel], ['aal1', 'aal1']);
  const factor = ok(await c.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'App', issuer: 'Warehouse' }));
  assert.match(factor.totp.qr_code, /^data:image\/svg\+xml;utf-8,<svg/);
  assert.match(factor.totp.uri, /^otpauth:\/\/totp\/Warehouse/);
  const challenge = ok(await c.auth.mfa.challenge({ factorId: factor.id }));
  assert.equal(challenge.type, 'totp');
  const code = totp(factor.totp.secret);
  const wrong = (
    await c.auth.mfa.verify({
      factorId: factor.id,
      challengeId: challenge.id,
      code: code === '000000' ? '000001' : '000000',
    })
  ).error;
  assert.deepEqual(
    [wrong.status, wrong.code, wrong.message],
    [422, 'mfa_verification_failed', 'Invalid TOTP code entered'],
  );
  ok(await c.auth.mfa.challengeAndVerify({ factorId: factor.id, code }));
  const at = await level(c);
  assert.deepEqual(
    [at.currentLevel, at.nextLevel, at.currentAuthenticationMethods[0].method],
    ['aal2', 'aal2', 'totp'],
  );
  const listed = ok(await c.auth.mfa.listFactors());
  assert.deepEqual(
    listed.totp.map((f) => [f.friendly_name, f.status]),
    [['App', 'verified']],
  );
  const taken = (await c.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'App' })).error;
  assert.deepEqual([taken.status, taken.code], [422, 'mfa_factor_name_conflict']);
});

test('a second sign-in is aal1 until the factor answers; a code works once', async () => {
  const { email, factor, code } = await protectedAccount();
  const c = client();
  ok(await c.auth.signInWithPassword({ email, password }));
  assert.deepEqual([(await level(c)).currentLevel, (await level(c)).nextLevel], ['aal1', 'aal2']);
  const more = (await c.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'Thief' })).error;
  assert.deepEqual([more.status, more.code], [403, 'insufficient_aal']);
  const change = (await c.auth.updateUser({ password: 'a-thief-s-password' })).error;
  assert.deepEqual([change.status, change.code], [401, 'insufficient_aal']);
  const drop = (await c.auth.mfa.unenroll({ factorId: factor.id })).error;
  assert.deepEqual([drop.status, drop.code], [422, 'insufficient_aal']);
  assert.ok((await c.auth.mfa.challengeAndVerify({ factorId: factor.id, code })).error, 'a code that was used');
  const verified = ok(
    await c.auth.mfa.challengeAndVerify({ factorId: factor.id, code: await later(factor.totp.secret, [code]) }),
  );
  assert.equal(claims(verified.access_token).aal, 'aal2');
  const again = ok(await c.auth.refreshSession()).session;
  assert.equal(claims(again.access_token).aal, 'aal2');
});

test('who guesses codes is told to wait, as by every limit', async () => {
  const { c } = await confirmed('guess');
  const factor = ok(await c.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'App' }));
  const { id } = ok(await c.auth.mfa.challenge({ factorId: factor.id }));
  const { access_token } = ok(await c.auth.getSession()).session;
  const guess = (headers) =>
    fetch(`${url}/auth/v1/factors/${factor.id}/verify`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${access_token}`, 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ challenge_id: id, code: '000000' }),
    });
  for (let n = 0; n < 5; n++) await guess({});
  for (const [headers, want] of [
    [{ 'X-Supabase-Api-Version': '2024-01-01' }, { code: 'over_request_rate_limit' }],
    [{}, { code: 429, error_code: 'over_request_rate_limit' }],
  ]) {
    const response = await guess(headers);
    const { error, message, retry_after, limit, remaining, reset_at, msg, ...rest } = await response.json();
    assert.deepEqual([response.status, error, limit, remaining, rest], [429, 'rate_limit_exceeded', 5, 0, want]);
    assert.deepEqual(
      [response.headers.get('retry-after'), typeof message, msg ?? message],
      [String(retry_after), 'string', message],
    );
    assert.ok(retry_after > 0 && Date.parse(reset_at) > Date.now(), JSON.stringify({ retry_after, reset_at }));
  }
});

test('mfa.enroll: no more than ten', async () => {
  const { c } = await confirmed('many');
  for (let i = 0; i < 10; i++) ok(await c.auth.mfa.enroll({ factorType: 'totp', friendlyName: `App ${i}` }));
  const { error } = await c.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'App 10' });
  assert.deepEqual([error.status, error.code], [422, 'too_many_enrolled_mfa_factors']);
});

test('mfa.unenroll: the session falls back', async () => {
  const { c, factor } = await protectedAccount();
  assert.equal(ok(await c.auth.mfa.unenroll({ factorId: factor.id })).id, factor.id);
  ok(await c.auth.refreshSession());
  assert.equal((await level(c)).currentLevel, 'aal1');
  assert.deepEqual(ok(await c.auth.mfa.listFactors()).all, []);
});

test("another account's factor looks like none", async () => {
  const { factor } = await protectedAccount();
  const { c } = await confirmed('stranger');
  for (const { error } of [
    await c.auth.mfa.challenge({ factorId: factor.id }),
    await c.auth.mfa.unenroll({ factorId: factor.id }),
  ]) {
    assert.deepEqual([error.status, error.code], [404, 'mfa_factor_not_found']);
  }
});

test('recovery codes stand in for a lost factor, once each', async () => {
  const { c, email } = await protectedAccount();
  const { codes } = (await call(c, '/auth/v1/factors/recovery-codes', { method: 'POST' })).body;
  assert.equal(codes.length, 10);
  const other = client();
  ok(await other.auth.signInWithPassword({ email, password }));
  const use = (code) =>
    call(other, '/auth/v1/factors/recovery-codes/verify', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ code }),
    });
  const lifted = await use(codes[0]);
  assert.equal(lifted.status, 200, JSON.stringify(lifted.body));
  assert.equal(claims(lifted.body.access_token).aal, 'aal2');
  assert.equal((await use(codes[0])).status >= 400, true, 'used');
  assert.equal((await call(c, '/auth/v1/factors/recovery-codes')).body.remaining, 9);
});

test('admin.mfa: an operator lists and removes factors of who lost them', async () => {
  const { c, id, factor } = await protectedAccount();
  const admin = service().auth.admin.mfa;
  const { factors } = ok(await admin.listFactors({ userId: id }));
  assert.deepEqual(
    factors.map((f) => [f.id, f.status]),
    [[factor.id, 'verified']],
  );
  const renamed = await fetch(`${url}/auth/v1/admin/users/${id}/factors/${factor.id}`, {
    method: 'PUT',
    headers: { apikey: serviceKey, 'Content-Type': 'application/json' },
    body: '{"friendly_name":"Lost"}',
  });
  assert.equal((await renamed.json()).friendly_name, 'Lost');
  ok(await admin.deleteFactor({ userId: id, id: factor.id }));
  assert.deepEqual(ok(await admin.listFactors({ userId: id })).factors, []);
  assert.ok((await c.auth.mfa.challenge({ factorId: factor.id })).error);
});
