// Signing in, sessions and the choice of tenant.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { as, claims, client, ok, password, tenantOf, url } from './client.mjs';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

test('sign in with a password', async () => {
  const c = client();
  const { user, session } = ok(await c.auth.signInWithPassword({ email: 'owner@north.example', password }));
  assert.match(user.id, uuid);
  assert.equal(user.email, 'owner@north.example');
  assert.equal(session.token_type, 'bearer');
  assert.equal(session.expires_in, 3600);
  assert.ok(session.refresh_token);
  const claim = claims(session.access_token);
  assert.equal(claim.sub, user.id);
  assert.equal(claim.role, 'authenticated');
  assert.equal(claim.tenant_role, 'owner');
  assert.match(claim.tenant_id, uuid);
  assert.match(claim.session_id, uuid);
  assert.equal(claim.exp - claim.iat, 3600);
});

test('tokens verify against the published keys', async () => {
  const c = await as('manager@north.example');
  const { claims: claim, header } = ok(await c.auth.getClaims());
  assert.equal(header.alg, 'ES256');
  assert.ok(header.kid);
  assert.equal(claim.tenant_role, 'manager');
  const keys = await (await fetch(`${url}/auth/v1/.well-known/jwks.json`)).json();
  assert.ok(keys.keys.some((k) => k.kid === header.kid && !k.d));
});

test('the user, and a refreshed session', async () => {
  const c = await as('operator@north.example');
  const { user } = ok(await c.auth.getUser());
  assert.equal(user.email, 'operator@north.example');
  assert.equal(user.aud, 'authenticated');
  const before = ok(await c.auth.getSession()).session;
  const { session } = ok(await c.auth.refreshSession());
  assert.notEqual(session.refresh_token, before.refresh_token);
  assert.equal(claims(session.access_token).session_id, claims(before.access_token).session_id);
  ok(await c.auth.getUser());
});

test('a made-up refresh token', async () => {
  const { error } = await client().auth.refreshSession({ refresh_token: 'AAAAAAAAAAAAAAAAAAAAAAAA' });
  assert.ok(error);
  assert.equal(error.status, 400);
});

test('a member of both switches the tenant', async () => {
  const north = await tenantOf(await as('owner@north.example'));
  const south = await tenantOf(await as('admin@south.example'));
  const c = await as('both@both.example');
  for (const tenant of [south, north, south]) {
    const { user } = ok(await c.auth.updateUser({ data: { tenant_id: tenant } }));
    assert.equal(user.user_metadata.tenant_id, tenant);
    const { session } = ok(await c.auth.refreshSession());
    assert.equal(claims(session.access_token).tenant_id, tenant);
    const kpis = ok(await c.functions.invoke('safety-kpis', { method: 'GET' }));
    assert.equal(kpis.tenant_id, tenant);
  }
});

test('nobody switches to a tenant that he is no member of', async () => {
  const north = await tenantOf(await as('owner@north.example'));
  const south = await tenantOf(await as('admin@south.example'));
  const c = await as('operator@north.example');
  for (const tenant of [south, randomUUID()]) {
    const { error } = await c.auth.updateUser({ data: { tenant_id: tenant } });
    assert.equal(error.status, 403);
  }
  const { user } = ok(await c.auth.getUser());
  assert.notEqual(user.user_metadata.tenant_id, south);
  const { session } = ok(await c.auth.refreshSession());
  assert.equal(claims(session.access_token).tenant_id, north);
});
