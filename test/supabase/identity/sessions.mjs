// Sessions: refreshing, replaying, ending, and both forms of keys.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { anonKey, claims, client, ok, password, serviceKey, url } from '../client.mjs';
import { confirmed, founder } from './rig.mjs';

const refreshed = (token) => client().auth.refreshSession({ refresh_token: token });

test('refresh: the parent of the newest token is forgiven, an older one ends the session', async () => {
  const { c, email } = await confirmed('refresh');
  const first = ok(await c.auth.getSession()).session;
  const second = ok(await refreshed(first.refresh_token)).session;
  assert.notEqual(second.refresh_token, first.refresh_token);
  const lost = ok(await refreshed(first.refresh_token)).session;
  assert.equal(lost.refresh_token, second.refresh_token, 'a client that lost the answer gets it again');
  for (const s of [second, lost])
    assert.equal(claims(s.access_token).session_id, claims(first.access_token).session_id);
  const parallel = await Promise.all(Array.from({ length: 8 }, () => refreshed(second.refresh_token)));
  assert.equal(
    new Set(parallel.map((r) => ok(r).session.refresh_token)).size,
    1,
    'tabs that refresh at once end up with one token',
  );
  for (const forged of ['AAAAAAAAAAAAAAAAAAAAAAAA', `${second.refresh_token.slice(0, -2)}xx`, 'short']) {
    const { error } = await refreshed(forged);
    assert.deepEqual([error.status, error.code], [400, 'validation_failed'], forged);
  }
  const { email: kept } = ok(await client().auth.signInWithPassword({ email, password })).user;
  assert.equal(kept, email);
});

test('amr and session survive a refresh', async () => {
  const { email } = await confirmed('amr');
  const c = client();
  const { session } = ok(await c.auth.signInWithPassword({ email, password }));
  const next = ok(await c.auth.refreshSession()).session;
  const [before, after] = [claims(session.access_token), claims(next.access_token)];
  assert.deepEqual(
    [after.session_id, after.amr, after.aal, after.role, after.is_anonymous],
    [before.session_id, before.amr, 'aal1', 'authenticated', false],
  );
  assert.equal(after.amr[0].method, 'password');
});

test('signOut: this session, the others, all', async () => {
  const { c, email } = await confirmed('scopes');
  const enter = async () => {
    const other = client();
    ok(await other.auth.signInWithPassword({ email, password }));
    return other;
  };
  const alive = async (...list) => Promise.all(list.map(async (x) => (await x.auth.getUser()).error === null));
  const [b, d] = [await enter(), await enter()];
  assert.equal((await d.auth.signOut({ scope: 'local' })).error, null);
  assert.deepEqual(await alive(c, b, d), [true, true, false]);
  assert.equal((await b.auth.signOut({ scope: 'others' })).error, null);
  assert.deepEqual(await alive(c, b), [false, true]);
  const e = await enter();
  const ended = ok(await e.auth.getSession()).session.refresh_token;
  assert.equal((await e.auth.signOut({ scope: 'global' })).error, null);
  assert.deepEqual(await alive(b, e), [false, false]);
  const { error } = await refreshed(ended);
  assert.deepEqual(
    [error.status, error.code, error.message],
    [400, 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found'],
  );
  const f = await enter();
  const token = ok(await f.auth.getSession()).session.access_token;
  const { status } = await fetch(`${url}/auth/v1/logout?scope=sideways`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
  });
  assert.equal(status, 400);
  assert.deepEqual(await alive(f), [true]);
});

test('getClaims verifies against the published keys, and refuses what was changed', async () => {
  const { c } = await confirmed('claims');
  const { claims: got, header } = ok(await c.auth.getClaims());
  assert.deepEqual([header.alg, got.iss, got.aud], ['ES256', `${url}/auth/v1`, 'authenticated']);
  const token = ok(await c.auth.getSession()).session.access_token;
  const [head, body, signature] = token.split('.');
  const other = Buffer.from(JSON.stringify({ ...claims(token), email: 'boss@people.example' })).toString('base64url');
  const { error } = await client().auth.getClaims(`${head}.${other}.${signature}`);
  assert.ok(error);
  assert.equal((await client().auth.getUser(`${head}.${other}.${signature}`)).error.code, 'bad_jwt');
  assert.ok(body);
  const response = await fetch(`${url}/auth/v1/.well-known/jwks.json`);
  assert.equal(response.headers.get('cache-control'), 'public, max-age=600');
  for (const key of (await response.json()).keys) assert.equal(key.d, undefined);
  // Who knows the issuer alone finds them too.
  for (const name of ['openid-configuration', 'oauth-authorization-server']) {
    const found = await (await fetch(`${got.iss}/.well-known/${name}`)).json();
    assert.deepEqual([found.issuer, found.jwks_uri, found.response_types_supported], [got.iss, response.url, []]);
  }
});

test('keys in both forms, as client and as administrator', async () => {
  const { email } = await confirmed('keys');
  const opaque = { anon: process.env.PUBLISHABLE_KEY, service: process.env.SECRET_KEY };
  assert.match(opaque.anon, /^sb_publishable_/);
  assert.match(opaque.service, /^sb_secret_/);
  for (const key of [anonKey, opaque.anon]) {
    ok(await client(key).auth.signInWithPassword({ email, password }));
    const { error } = await client(key).auth.admin.listUsers();
    assert.ok([401, 403].includes(error.status), 'a public key administers nothing');
  }
  for (const key of [serviceKey, opaque.service])
    assert.ok(ok(await client(key).auth.admin.listUsers()).users.length > 0);
  const forged = `${serviceKey.split('.').slice(0, 2).join('.')}.AAAA`;
  assert.ok((await client(forged).auth.admin.listUsers()).error);
});

test('getUser says what is wrong with a token', async () => {
  const { c, id } = await confirmed('gone');
  const token = ok(await c.auth.getSession()).session.access_token;
  const admin = client(serviceKey).auth.admin;
  ok(await admin.deleteUser(id));
  const { error } = await client().auth.getUser(token);
  assert.equal(error.status, 403);
  assert.equal(error.code, 'user_not_found');
  assert.equal((await client().auth.getUser('a.b.c')).error.status, 403);
  const bare = await fetch(`${url}/auth/v1/user`);
  assert.deepEqual([bare.status, (await bare.json()).error_code], [401, 'no_authorization']);
});

test('a tenant is not handed on by an open session alone', async () => {
  const { c } = await founder();
  const { access_token: bearer } = ok(await c.auth.getSession()).session;
  const answer = await fetch(`${url}/auth/v1/tenant/transfer`, {
    method: 'POST',
    headers: { apikey: anonKey, Authorization: `Bearer ${bearer}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ user_id: randomUUID() }),
  });
  assert.deepEqual([answer.status, (await answer.json()).error_code], [400, 'reauthentication_needed']);
});

test("administrators see and end a member's sessions, the service key anybody's", async () => {
  const { c: boss } = await founder();
  const { c: own, id: self } = await founder();
  const bearer = async (c) => ok(await c.auth.getSession()).session.access_token;
  const ask = async (path, token, method = 'GET') => {
    const answer = await fetch(`${url}/auth/v1${path}`, {
      method,
      headers: { apikey: anonKey, Authorization: `Bearer ${token}` },
    });
    const text = await answer.text();
    return [answer.status, text === '' ? undefined : JSON.parse(text)];
  };
  const [mine, list] = await ask(`/tenant/members/${self}/sessions`, await bearer(own));
  assert.equal(mine, 200);
  assert.deepEqual(
    list.sessions.map((s) => s.current),
    [true],
  );
  assert.equal(
    (await ask(`/tenant/members/${self}/sessions`, await bearer(boss)))[0],
    404,
    'a stranger to the tenant is missing',
  );
  const [, all] = await ask(`/admin/users/${self}/sessions`, serviceKey);
  assert.deepEqual(
    all.sessions.map((s) => s.id),
    list.sessions.map((s) => s.id),
  );
  assert.equal((await ask(`/admin/users/${self}/sessions`, await bearer(own)))[0], 403);
  const { last_seen_at: seen } = ok(await own.from('members').select('last_seen_at').eq('user_id', self).single());
  assert.ok(Date.parse(seen) > Date.now() - 3600_000);
  const ended = await bearer(own);
  assert.deepEqual(await ask(`/admin/users/${self}/sessions`, serviceKey, 'DELETE'), [204, undefined]);
  assert.deepEqual((await ask('/user', ended))[1].error_code, 'session_not_found');
});
