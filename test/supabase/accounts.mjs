// Accounts: signing up, wrong passwords, recovery, administration.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import {
  as,
  call,
  claims,
  client,
  ok,
  password,
  service,
  signIn,
  sleep,
  tenantOf,
  token,
  unique,
  url,
} from './client.mjs';

test('a wrong password and an unknown address answer alike', async () => {
  for (const email of ['owner@north.example', 'stranger@north.example']) {
    const { data, error } = await client().auth.signInWithPassword({ email, password: 'wrong-password' });
    assert.equal(data.session, null);
    assert.equal(error.message, 'Invalid login credentials');
    assert.equal(error.code, 'invalid_credentials');
    assert.equal(error.status, 400);
  }
});

test('sign up claims a new tenant in the demo', async () => {
  const tenant = randomUUID();
  const c = client();
  const email = `${unique('founder')}@new.example`.toLowerCase();
  const { user, session } = ok(
    await c.auth.signUp({ email, password, options: { data: { tenant_id: tenant, name: 'Fay' } } }),
  );
  assert.equal(user.email, email);
  assert.equal(user.user_metadata.name, 'Fay');
  assert.ok(session, 'the demo confirms by itself');
  const claim = claims(session.access_token);
  assert.equal(claim.tenant_id, tenant);
  assert.equal(claim.tenant_role, 'owner');
  assert.deepEqual(ok(await c.from('zones').select('id')), []);
  const [zone] = ok(await c.from('zones').insert({ code: 'A-1', name: 'First' }).select());
  assert.equal(zone.code, 'A-1');
  const north = await as('owner@north.example');
  assert.deepEqual(ok(await north.from('zones').select('id').eq('id', zone.id)), []);
});

test('sign up with a weak password', async () => {
  const { error } = await client().auth.signUp({ email: `${unique('weak')}@new.example`, password: 'abc' });
  assert.equal(error.status, 422);
  assert.equal(error.code, 'weak_password');
});

test('sign up of a taken address', async () => {
  const { error } = await client().auth.signUp({ email: 'owner@north.example', password });
  assert.equal(error.status, 422);
  assert.equal(error.code, 'user_already_exists');
});

test('user metadata alone opens no tenant', async () => {
  const south = await tenantOf(await as('admin@south.example'));
  const c = client();
  const email = `${unique('intruder')}@new.example`.toLowerCase();
  const { session } = ok(await c.auth.signUp({ email, password, options: { data: { tenant_id: south } } }));
  assert.notEqual(claims(session.access_token).tenant_id, south, 'south admits by invitation only');
  const { status } = await call(c, '/functions/v1/safety-kpis');
  assert.equal(status, 403);
  const { data, error } = await c.from('zones').select('id');
  assert.ok(error || data.length === 0);
});

test('signing out ends the session', async () => {
  const c = await signIn('viewer@north.example');
  const jwt = await token(c);
  assert.equal((await c.auth.signOut()).error, null);
  const { error } = await client().auth.getUser(jwt);
  assert.ok(error);
  const { status } = await call(null, '/functions/v1/safety-kpis', { headers: { Authorization: `Bearer ${jwt}` } });
  assert.equal(status, 401);
});

test('recovery mails a link to those who are known, and answers all alike', async () => {
  const c = client();
  const email = `${unique('forgetful')}@new.example`.toLowerCase();
  ok(await c.auth.signUp({ email, password }));
  ok(await client().auth.resetPasswordForEmail(email));
  ok(await client().auth.resetPasswordForEmail('stranger@nowhere.example'));
  const link = await recoveryLink(email);
  assert.equal(new URL(link).origin, url);
  const hash = new URL(link).searchParams.get('token');
  const fresh = client();
  const { session } = ok(await fresh.auth.verifyOtp({ token_hash: hash, type: 'recovery' }));
  assert.equal(session.user.email, email);
  ok(await fresh.auth.updateUser({ password: 'a-brand-new-passphrase' }));
  await signIn(email, 'a-brand-new-passphrase');
  const { error } = await client().auth.verifyOtp({ token_hash: hash, type: 'recovery' });
  assert.equal(error.code, 'otp_expired');
});

// recoveryLink waits for the mail, which is sent after the request that asked
// for it was answered.
async function recoveryLink(email) {
  for (let tries = 0; tries < 1200; tries++) {
    const response = await fetch(`${url}/dev/mail`, { headers: { Accept: 'application/json' } });
    assert.equal(response.status, 200);
    const list = await response.json();
    assert.ok(!list.some((m) => m.to === 'stranger@nowhere.example'));
    const link = list
      .filter((m) => m.to === email)
      .flatMap((m) => m.links)
      .find((l) => l.includes('type=recovery'));
    if (link) return link;
    await sleep(50);
  }
  assert.fail(`no recovery mail to ${email}`);
}

test('the service key administers users', async () => {
  const admin = service().auth.admin;
  const email = `${unique('made')}@new.example`.toLowerCase();
  const { user } = ok(
    await admin.createUser({ email, password, email_confirm: true, user_metadata: { team: 'dock' } }),
  );
  assert.equal(user.email, email);
  const found = ok(await admin.getUserById(user.id)).user;
  assert.equal(found.user_metadata.team, 'dock');
  const { users } = ok(await admin.listUsers({ page: 1, perPage: 5 }));
  assert.equal(users.length, 5);
  ok(await admin.deleteUser(user.id));
  const { error } = await admin.getUserById(user.id);
  assert.equal(error.status, 404);
});

test('a user token does not administer', async () => {
  const c = await as('owner@north.example');
  const { status, body } = await call(c, '/auth/v1/admin/users');
  assert.equal(status, 403);
  assert.ok(body.msg ?? body.message);
});

test('telephones are off by default, and say so', async () => {
  for (const { error } of [
    await client().auth.signInWithOtp({ phone: '+15550001111' }),
    await client().auth.signUp({ phone: '+15550001111', password }),
  ])
    assert.deepEqual([error.status, error.code], [400, 'phone_provider_disabled']);
});
