// What the service key does to accounts.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { call, client, ok, password, service, serviceKey, url } from '../client.mjs';
import { letter, letters } from './mailbox.mjs';
import { confirmed, founder, newAddress } from './rig.mjs';
import { site } from './site.mjs';

const admin = service().auth.admin;

async function made(more = {}) {
  const email = newAddress('made');
  return ok(await admin.createUser({ email, password, email_confirm: true, ...more })).user;
}

test('createUser: exactly what was given, confirmed or not', async () => {
  const id = randomUUID();
  const user = await made({ id, user_metadata: { team: 'dock' }, app_metadata: { plan: 'gold' } });
  assert.deepEqual(
    [user.id, user.user_metadata, user.app_metadata.plan, user.app_metadata.provider],
    [id, { team: 'dock' }, 'gold', 'email'],
  );
  ok(await client().auth.signInWithPassword({ email: user.email, password }));
  const waiting = await made({ email_confirm: false });
  assert.equal(
    (await client().auth.signInWithPassword({ email: waiting.email, password })).error.code,
    'email_not_confirmed',
  );
});

test('createUser: hashes of bcrypt, argon2 and Firebase open the account with their password', async () => {
  const phrase = 'correct horse battery staple';
  for (const [hash, secret] of [
    ['$2y$04$rF0Tu8oeVUqK4gQKcPRfye7vplCnxurs5aFU0ydv3z5H9hYm7seW6', phrase],
    ['$argon2id$v=19$m=64,t=3,p=2$YSBzYWx0IG9mIHNpeHRlZW4$LpR9CIhUPoe+gZW/ZI0FZ8YFayRkWRmVtCyeCRT45dU', phrase],
    // Firebase's own sample (github.com/firebase/scrypt)
    [
      '$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=ou9tdYTGyYm8kuR6Dt0Bp0kDuAYoXrK16mbZO4yGwAn3oLspjnN0/c41v8xZnO1n14J3MjKj1b2g6AUCAlFwMw==$C0sHCg9ek77hsg==$zKVTMvnWVw5BBOZNUdnsalx4c4c7y/w7IS5p6Ut2+CfEFFlz37J9huyQfov4iizN8dbjvEJlM5tQaJP84+hfTw==',
      'mytestpassword',
    ],
  ]) {
    const { email } = await made({ password: undefined, password_hash: hash });
    assert.equal(
      (await client().auth.signInWithPassword({ email, password: 'another-password' })).error.code,
      'invalid_credentials',
      hash,
    );
    ok(await client().auth.signInWithPassword({ email, password: secret }));
  }
});

test('createUser with a weak password: its owner is told at each sign-in', async () => {
  for (const [weak, reason] of [
    ['qz7xv', 'length'],
    ['password2024', 'pwned'],
  ]) {
    const { email } = await made({ password: weak });
    const { session, weakPassword } = ok(await client().auth.signInWithPassword({ email, password: weak }));
    assert.ok(session.access_token);
    assert.deepEqual(weakPassword.reasons, [reason]);
    assert.match(weakPassword.message, /^Password /);
  }
  const { email } = await made();
  assert.equal(ok(await client().auth.signInWithPassword({ email, password })).weakPassword, undefined);
});

test('createUser: what is taken or malformed', async () => {
  const { email } = await made();
  const taken = (await admin.createUser({ email: email.toUpperCase() })).error;
  assert.deepEqual([taken.status, taken.code], [422, 'email_exists']);
  for (const bad of [
    {},
    { email: 'no-address' },
    { email: newAddress('x'), ban_duration: 'forever' },
    { email: newAddress('x'), password_hash: 'md5' },
  ]) {
    assert.equal((await admin.createUser(bad)).error?.status, 400, JSON.stringify(bad));
  }
});

test('listUsers: pages, total, the last page', async () => {
  const mine = [];
  for (let i = 0; i < 3; i++) mine.push((await made()).email);
  const first = ok(await admin.listUsers({ page: 1, perPage: 2 }));
  assert.equal(first.users.length, 2);
  assert.deepEqual([first.aud, first.nextPage], ['authenticated', 2]);
  assert.ok(first.total >= 3);
  // The client reads one digit of a page's number, so the header is looked at.
  const listed = await fetch(`${url}/auth/v1/admin/users?page=1&per_page=2`, { headers: { apikey: serviceKey } });
  const end = Math.ceil(first.total / 2);
  assert.equal(
    listed.headers.get('link'),
    `</admin/users?page=2&per_page=2>; rel="next", </admin/users?page=${end}&per_page=2>; rel="last"`,
  );
  assert.equal(listed.headers.get('x-total-count'), String(first.total));
  const last = ok(await admin.listUsers({ page: end, perPage: 2 }));
  assert.deepEqual([last.nextPage, last.users.length], [null, first.total - 2 * (end - 1)]);
  const all = ok(await admin.listUsers()).users.map((u) => u.email);
  for (const email of mine) assert.ok(all.includes(email));
  const filtered = await fetch(`${url}/auth/v1/admin/users?filter=${mine[0].split('@')[0]}`, {
    headers: { apikey: serviceKey },
  });
  assert.deepEqual(
    (await filtered.json()).users.map((u) => u.email),
    [mine[0]],
  );
  for (const [direction, want] of [
    ['asc', mine.toSorted()],
    ['desc', mine.toSorted().reverse()],
  ]) {
    const sorted = await fetch(`${url}/auth/v1/admin/users?per_page=1000&sort=email+${direction}`, {
      headers: { apikey: serviceKey },
    });
    assert.deepEqual(
      (await sorted.json()).users.map((u) => u.email).filter((e) => mine.includes(e)),
      want,
      direction,
    );
  }
});

test('getUserById, and who is not there', async () => {
  const user = await made();
  assert.equal(ok(await admin.getUserById(user.id)).user.email, user.email);
  const none = (await admin.getUserById(randomUUID())).error;
  assert.deepEqual([none.status, none.code], [404, 'user_not_found']);
});

test('updateUserById: address, metadata, password ends sessions', async () => {
  const user = await made({ user_metadata: { a: 1 } });
  const c = client();
  ok(await c.auth.signInWithPassword({ email: user.email, password }));
  const email = newAddress('renamed');
  const changed = ok(
    await admin.updateUserById(user.id, {
      email,
      email_confirm: true,
      user_metadata: { b: 2 },
      app_metadata: { plan: 'tin' },
    }),
  ).user;
  assert.deepEqual([changed.email, changed.user_metadata, changed.app_metadata.plan], [email, { a: 1, b: 2 }, 'tin']);
  ok(await admin.updateUserById(user.id, { password: 'chosen-by-admin' }));
  assert.ok((await c.auth.getUser()).error);
  ok(await client().auth.signInWithPassword({ email, password: 'chosen-by-admin' }));
});

test('a ban: told after the right password only, ends what lives, and is lifted', async () => {
  const user = await made();
  const c = client();
  ok(await c.auth.signInWithPassword({ email: user.email, password }));
  const banned = ok(await admin.updateUserById(user.id, { ban_duration: '24h' })).user;
  assert.ok(new Date(banned.banned_until) > new Date());
  const right = (await client().auth.signInWithPassword({ email: user.email, password })).error;
  assert.deepEqual([right.status, right.code], [400, 'user_banned']);
  assert.equal(
    (await client().auth.signInWithPassword({ email: user.email, password: 'wrong-password' })).error.code,
    'invalid_credentials',
  );
  assert.equal((await c.auth.getUser()).error.status, 403);
  assert.equal((await c.auth.refreshSession()).error.status, 400);
  ok(await admin.updateUserById(user.id, { ban_duration: 'none' }));
  ok(await client().auth.signInWithPassword({ email: user.email, password }));
});

test('deleteUser: wholly, or softly with the address free again', async () => {
  const user = await made();
  ok(await admin.deleteUser(user.id, true));
  const gone = ok(await admin.getUserById(user.id)).user;
  assert.deepEqual([gone.email, gone.phone, gone.user_metadata, gone.identities], ['', '', {}, []]);
  assert.ok(Date.parse(gone.deleted_at));
  assert.equal((await admin.updateUserById(user.id, { user_metadata: { back: true } })).error.status, 404);
  assert.equal(
    (await client().auth.signInWithPassword({ email: user.email, password })).error.code,
    'invalid_credentials',
  );
  const next = ok(await admin.createUser({ email: user.email, password, email_confirm: true })).user;
  assert.notEqual(next.id, user.id);
  ok(await admin.deleteUser(next.id));
  assert.equal((await admin.getUserById(next.id)).error.status, 404);
});

test('admin.signOut ends the sessions of a token', async () => {
  const { c } = await confirmed('signed-out');
  const token = ok(await c.auth.getSession()).session.access_token;
  assert.equal((await admin.signOut(token, 'global')).error, null);
  assert.ok((await c.auth.getUser()).error);
});

test('inviteUserByEmail: a mail whose link opens the account', async () => {
  const email = newAddress('guest');
  const { user } = ok(await admin.inviteUserByEmail(email, { data: { desk: 7 }, redirectTo: `${site}/welcome` }));
  assert.ok(user.invited_at);
  const { link } = await letter(email, /invited/);
  const asked = new URL(link).searchParams;
  assert.deepEqual([asked.get('type'), asked.get('redirect_to')], ['invite', `${site}/welcome`]);
  const { session } = ok(await client().auth.verifyOtp({ token_hash: asked.get('token'), type: 'invite' }));
  assert.deepEqual([session.user.email, session.user.user_metadata.desk], [email, 7]);
  const again = (await admin.inviteUserByEmail(email)).error;
  assert.deepEqual([again.status, again.code], [422, 'email_exists']);
});

test('generateLink: all types, without a mail', async () => {
  const redeem = async (link, type) =>
    ok(await client().auth.verifyOtp({ token_hash: link.properties.hashed_token, type }));
  const link = async (params) => ok(await admin.generateLink(params));
  const email = newAddress('linked');
  const up = await link({ type: 'signup', email, password, options: { data: { n: 1 }, redirectTo: `${site}/up` } });
  assert.deepEqual(
    [up.properties.verification_type, up.properties.redirect_to, up.user.user_metadata.n],
    ['signup', `${site}/up`, 1],
  );
  assert.match(up.properties.email_otp, /^\d{6,10}$/);
  assert.equal(new URL(up.properties.action_link).searchParams.get('token'), up.properties.hashed_token);
  assert.equal((await redeem(up, 'signup')).user.email, email);
  const magic = await link({ type: 'magiclink', email });
  assert.equal((await redeem(magic, 'magiclink')).user.email, email);
  const recovery = await link({ type: 'recovery', email });
  const byCode = ok(await client().auth.verifyOtp({ email, token: recovery.properties.email_otp, type: 'recovery' }));
  assert.equal(byCode.user.email, email);
  const guest = newAddress('invited');
  assert.equal((await redeem(await link({ type: 'invite', email: guest }), 'invite')).user.email, guest);
  const next = newAddress('changed');
  const current = await link({ type: 'email_change_current', email, newEmail: next });
  const fresh = await link({ type: 'email_change_new', email, newEmail: next });
  await redeem(current, 'email_change');
  assert.equal((await redeem(fresh, 'email_change')).user.email, next);
  const unknown = newAddress('unknown');
  assert.equal((await link({ type: 'magiclink', email: unknown })).properties.verification_type, 'signup');
  const none = (await admin.generateLink({ type: 'recovery', email: newAddress('nobody') })).error;
  assert.deepEqual([none.status, none.code], [404, 'user_not_found']);
  assert.equal((await admin.generateLink({ type: 'rubbish', email })).error.status, 400);
  assert.deepEqual(letters(email, /Confirm|link|new password/), []);
  const foreign = await link({ type: 'magiclink', email: next, options: { redirectTo: 'https://evil.example/' } });
  assert.equal(foreign.properties.redirect_to, site);
});

test("an invitation to hand over opens no account in a domain that is not the tenant's", async () => {
  const { c } = await founder();
  const email = newAddress('unproved');
  const made = await call(c, '/auth/v1/invitations', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email, role: 'viewer', deliver: 'link' }),
  });
  assert.equal(made.status, 201);
  assert.ok(made.body.link.startsWith(`${site}?invite_token=`), made.body.link);
  const found = await fetch(`${url}/auth/v1/admin/users?filter=${email}`, { headers: { apikey: serviceKey } });
  assert.deepEqual((await found.json()).users, [], 'an account nobody proved');
});

test('a user does none of this', async () => {
  const { c, id } = await confirmed('user');
  const token = ok(await c.auth.getSession()).session.access_token;
  const calls = [
    ['GET', '/admin/users'],
    ['POST', '/admin/users'],
    ['GET', `/admin/users/${id}`],
    ['PUT', `/admin/users/${id}`],
    ['DELETE', `/admin/users/${id}`],
    ['POST', '/admin/generate_link'],
    ['POST', '/invite'],
    ['GET', `/admin/users/${id}/factors`],
    ['GET', '/admin/sso/providers'],
    ['POST', '/admin/sso/providers'],
    ['GET', '/admin/custom-providers'],
    ['POST', '/admin/custom-providers'],
  ];
  for (const [method, path] of calls) {
    const init = { method, ...(method === 'GET' || method === 'DELETE' ? {} : { body: '{}' }) };
    const bare = await fetch(`${url}/auth/v1${path}`, { ...init, headers: { 'Content-Type': 'application/json' } });
    assert.deepEqual([bare.status, (await bare.json()).error_code], [401, 'no_authorization'], `${method} ${path}`);
    const mine = await fetch(`${url}/auth/v1${path}`, {
      ...init,
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}`, apikey: serviceKey },
    });
    assert.deepEqual([mine.status, (await mine.json()).error_code], [403, 'not_admin'], `${method} ${path}`);
  }
});
