// What people change about themselves: data, password, address.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anonKey, client, ok, password, url } from '../client.mjs';
import { letter } from './mailbox.mjs';
import { confirmed, newAddress, pkce, press } from './rig.mjs';

const halfway = 'Confirmation link accepted. Please proceed to confirm link sent to the other email';

test("updateUser: data is merged, null deletes, the application's own is out of reach", async () => {
  const { c } = await confirmed('data', { a: 1, b: { c: 2 } });
  const { user } = ok(await c.auth.updateUser({ data: { b: null, d: 'x' } }));
  assert.deepEqual([user.user_metadata.a, user.user_metadata.b, user.user_metadata.d], [1, undefined, 'x']);
  const { session } = ok(await c.auth.refreshSession());
  assert.equal(session.user.user_metadata.d, 'x');
  const { error } = await c.auth.updateUser({ app_metadata: { role: 'admin' } });
  assert.deepEqual([error.status, error.code], [403, 'not_admin']);
});

test('updateUser: a new password ends the other sessions', async () => {
  const { c, email } = await confirmed('password');
  const other = client();
  ok(await other.auth.signInWithPassword({ email, password }));
  const refused = async (change) => (await c.auth.updateUser(change)).error;
  assert.equal((await refused({ password })).code, 'same_password');
  const weak = await refused({ password: 'zq9-x' });
  assert.deepEqual([weak.status, weak.code, weak.reasons], [422, 'weak_password', ['length']]);
  assert.equal((await refused({ password: 'x'.repeat(2000) })).status < 500, true);
  assert.equal(
    (await refused({ password: 'a-new-password-1', current_password: 'not-it' })).code,
    'current_password_invalid',
  );
  ok(await c.auth.updateUser({ password: 'a-new-password-1', current_password: password }));
  ok(await c.auth.getUser());
  assert.equal((await other.auth.getUser()).error.name, 'AuthSessionMissingError');
  ok(await client().auth.signInWithPassword({ email, password: 'a-new-password-1' }));
});

test('updateUser: an address changes when both the old and the new one agree', async () => {
  const { c, email } = await confirmed('mover');
  const next = newAddress('moved');
  const { user } = ok(await c.auth.updateUser({ email: next }));
  assert.deepEqual([user.email, user.new_email], [email, next]);
  assert.ok(user.email_change_sent_at);
  const old = await letter(email, /change of your address/);
  const fresh = await letter(next, /new address/);
  const half = await client().auth.verifyOtp({ email: next, token: fresh.code, type: 'email_change' });
  assert.equal(half.error, null);
  assert.equal(half.data.session, null, 'one half makes no session');
  assert.equal(ok(await c.auth.getUser()).user.email, email, 'nor a change');
  const whole = ok(await client().auth.verifyOtp({ email, token: old.code, type: 'email_change' }));
  assert.equal(whole.user.email, next);
  assert.equal(whole.user.new_email, undefined);
  ok(await client().auth.signInWithPassword({ email: next, password }));
  assert.equal((await client().auth.signInWithPassword({ email, password })).error.code, 'invalid_credentials');
});

test('updateUser: an address that somebody has is answered like a free one, and only its owner is told', async () => {
  const { email } = await confirmed('owner');
  const { c, email: mine } = await confirmed('wisher');
  assert.equal(ok(await c.auth.updateUser({ email })).user.new_email, email);
  assert.equal(ok(await c.auth.getUser()).user.email, mine);
  await letter(email, /already have an account/);
  ok(await client().auth.signInWithPassword({ email, password }));
});

test('resend of an address change', async () => {
  const { c, email } = await confirmed('again');
  const next = newAddress('again-moved');
  ok(await c.auth.updateUser({ email: next }));
  await letter(next, /new address/);
  ok(await client().auth.resend({ type: 'email_change', email }));
  const fresh = await letter(next, /new address/, 2);
  const half = await fetch(`${url}/auth/v1/verify`, {
    method: 'POST',
    headers: { apikey: anonKey, 'Content-Type': 'application/json' },
    body: JSON.stringify({ email: next, token: fresh.code, type: 'email_change' }),
  });
  assert.deepEqual([half.status, await half.json()], [200, { msg: halfway, code: '200' }]);
  assert.equal(ok(await c.auth.getUser()).user.email, email);
});

test('an address change by its two links: the first leads to the site with a message, the second with a session', async () => {
  const { c, email } = await confirmed('by-link');
  const next = newAddress('by-link-moved');
  ok(await c.auth.updateUser({ email: next }));
  const first = await press((await letter(next, /new address/)).link);
  assert.deepEqual(
    [new URLSearchParams(first.hash.slice(1)).get('message'), first.hash.includes('access_token')],
    [halfway, false],
  );
  const second = await press((await letter(email, /change of your address/)).link);
  assert.equal(
    ok(await client().auth.getUser(new URLSearchParams(second.hash.slice(1)).get('access_token'))).user.email,
    next,
  );
});

// updateUser of the client drops its verifier again, so no code of these links can
// be exchanged: the change must not wait for that.
test('an address change with PKCE, by its two links', async () => {
  const { c, email } = await confirmed('by-pkce', {}, pkce());
  const next = newAddress('by-pkce-moved');
  ok(await c.auth.updateUser({ email: next }));
  const first = await press((await letter(next, /new address/)).link);
  assert.deepEqual([first.searchParams.get('message'), first.searchParams.get('code')], [halfway, null]);
  assert.equal(ok(await c.auth.getUser()).user.email, email);
  const second = await press((await letter(email, /change of your address/)).link);
  assert.ok(second.searchParams.get('code'));
  assert.equal(ok(await c.auth.refreshSession()).user.email, next);
  ok(await client().auth.signInWithPassword({ email: next, password }));
});

test('reauthenticate: a mailed nonce entitles to a new password, once', async () => {
  const { c, email } = await confirmed('nonce');
  ok(await c.auth.reauthenticate());
  const { code } = await letter(email, /confirmation code/);
  const wrong = (
    await c.auth.updateUser({ password: 'a-new-password-2', nonce: code === '000000' ? '000001' : '000000' })
  ).error;
  assert.deepEqual([wrong.status, wrong.code], [422, 'reauthentication_not_valid']);
  ok(await c.auth.updateUser({ password: 'a-new-password-2', nonce: code }));
  const again = (await c.auth.updateUser({ password: 'a-new-password-3', nonce: code })).error;
  assert.equal(again.code, 'reauthentication_not_valid');
});
