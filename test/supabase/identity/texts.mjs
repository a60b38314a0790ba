// Second factors: codes by text message.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claims, client, ok, password, service, serviceKey, url } from '../client.mjs';
import { code, textsTo } from './carrier.mjs';
import { newNumber } from './phone.mjs';
import { confirmed } from './rig.mjs';

const wrong = (right) => (right[0] === '0' ? '1' : '0') + right.slice(1);

// protectedAccount has a telephone as its second factor.
async function protectedAccount() {
  const phone = newNumber();
  const person = await confirmed('texted');
  const factor = ok(
    await person.c.auth.mfa.enroll({ factorType: 'phone', friendlyName: 'Telephone', phone: `+${phone}` }),
  );
  const { id } = ok(await person.c.auth.mfa.challenge({ factorId: factor.id, channel: 'sms' }));
  ok(await person.c.auth.mfa.verify({ factorId: factor.id, challengeId: id, code: await code(phone) }));
  return { ...person, phone, factor };
}

test("mfa.enroll({factorType: 'phone'}), challenge, verify: the code that was texted lifts the session", async () => {
  const phone = newNumber();
  const { c } = await confirmed('texted');
  const factor = ok(await c.auth.mfa.enroll({ factorType: 'phone', friendlyName: 'Telephone', phone: `+${phone}` }));
  assert.deepEqual([factor.type, factor.friendly_name, factor.phone], ['phone', 'Telephone', phone]);
  const challenge = ok(await c.auth.mfa.challenge({ factorId: factor.id, channel: 'whatsapp' }));
  const left = challenge.expires_at - Date.now() / 1000;
  assert.ok(challenge.type === 'phone' && left > 0 && left <= 300, JSON.stringify(challenge));
  const right = await code(phone);
  assert.equal(textsTo(phone)[0].channel, 'whatsapp');
  const refused = (await c.auth.mfa.verify({ factorId: factor.id, challengeId: challenge.id, code: wrong(right) }))
    .error;
  assert.deepEqual([refused.status, refused.code], [422, 'mfa_verification_failed']);
  const session = ok(await c.auth.mfa.verify({ factorId: factor.id, challengeId: challenge.id, code: right }));
  assert.deepEqual(
    [claims(session.access_token).aal, claims(session.access_token).amr[0].method],
    ['aal2', 'mfa/phone'],
  );
  const used = (await c.auth.mfa.verify({ factorId: factor.id, challengeId: challenge.id, code: right })).error;
  assert.deepEqual([used.status, used.code], [404, 'mfa_factor_not_found']);
  assert.deepEqual(
    ok(await c.auth.mfa.listFactors()).phone.map((f) => [f.phone, f.status]),
    [[phone, 'verified']],
  );
  const twice = (await c.auth.mfa.enroll({ factorType: 'phone', phone })).error;
  assert.deepEqual([twice.status, twice.code], [422, 'mfa_verified_factor_exists']);
  const bad = (await c.auth.mfa.challenge({ factorId: factor.id, channel: 'pigeon' })).error;
  assert.deepEqual([bad.status, bad.code], [400, 'validation_failed']);
});

test('mfa.challengeAndVerify with the fixed code of a test number; mfa.unenroll', async () => {
  const { c } = await confirmed('texted');
  const factor = ok(await c.auth.mfa.enroll({ factorType: 'phone', phone: '15550002222' }));
  ok(await c.auth.mfa.challengeAndVerify({ factorId: factor.id, code: '424242' }));
  assert.equal(ok(await c.auth.mfa.getAuthenticatorAssuranceLevel()).currentLevel, 'aal2');
  assert.deepEqual(textsTo('15550002222'), []);
  ok(await c.auth.mfa.unenroll({ factorId: factor.id }));
  ok(await c.auth.refreshSession());
  assert.equal(ok(await c.auth.mfa.getAuthenticatorAssuranceLevel()).currentLevel, 'aal1');
});

test('a session of one factor: no way past the telephone', async () => {
  const { email, phone, factor } = await protectedAccount();
  const c = client();
  ok(await c.auth.signInWithPassword({ email, password }));
  const level = ok(await c.auth.mfa.getAuthenticatorAssuranceLevel());
  assert.deepEqual([level.currentLevel, level.nextLevel], ['aal1', 'aal2']);
  assert.equal((await c.auth.mfa.enroll({ factorType: 'phone', phone: newNumber() })).error.code, 'insufficient_aal');
  assert.equal((await c.auth.mfa.unenroll({ factorId: factor.id })).error.code, 'insufficient_aal');
  const { id } = ok(await c.auth.mfa.challenge({ factorId: factor.id, channel: 'sms' }));
  ok(await c.auth.mfa.verify({ factorId: factor.id, challengeId: id, code: await code(phone, 2) }));
  assert.equal(ok(await c.auth.mfa.getAuthenticatorAssuranceLevel()).currentLevel, 'aal2');
});

test('an operator gives a factor another number', async () => {
  const { c, id, phone, factor } = await protectedAccount();
  const next = newNumber();
  const headers = { apikey: serviceKey, 'Content-Type': 'application/json' };
  const changed = await fetch(`${url}/auth/v1/admin/users/${id}/factors/${factor.id}`, {
    method: 'PUT',
    headers,
    body: JSON.stringify({ phone: `+${next}` }),
  });
  assert.equal((await changed.json()).phone, next);
  const challenge = ok(await c.auth.mfa.challenge({ factorId: factor.id, channel: 'sms' }));
  ok(await c.auth.mfa.verify({ factorId: factor.id, challengeId: challenge.id, code: await code(next) }));
  assert.equal(textsTo(phone).length, 1);
  assert.equal(ok(await service().auth.admin.mfa.listFactors({ userId: id })).factors[0].phone, next);
});
