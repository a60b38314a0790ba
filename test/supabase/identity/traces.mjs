// What is left behind: rows of the audit log, and nothing of a stranger's text
// where it could do harm.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anonKey, client, ok, password, service, serviceKey, sleep, url } from '../client.mjs';
import { totp } from './factors.mjs';
import { letter } from './mailbox.mjs';
import * as own from './own.mjs';
import { confirmed, founder, newAddress } from './rig.mjs';

// actionsOf are the audit rows of an account, by the service key.
async function actionsOf(id) {
  const rows = ok(
    await service()
      .from('audit')
      .select('action,outcome,actor_user_id,entity_id,tenant_id,address,request_id')
      .or(`actor_user_id.eq.${id},entity_id.eq.${id}`),
  );
  return rows;
}

test('audit: each event of an account leaves its row', async () => {
  const { c, id, email, tenant } = await founder();
  const token = async () => ok(await c.auth.getSession()).session;
  await client().auth.signInWithPassword({ email, password: 'wrong-password' });
  const other = client();
  ok(await other.auth.signInWithPassword({ email, password }));
  const first = ok(await other.auth.getSession()).session.refresh_token;
  await other.auth.signOut({ scope: 'local' });
  ok(await client().auth.resetPasswordForEmail(email));
  ok(await c.auth.updateUser({ password: 'a-password-audited' }));
  const factor = ok(await c.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'App' }));
  ok(await c.auth.mfa.challengeAndVerify({ factorId: factor.id, code: totp(factor.totp.secret) }));
  ok(await c.auth.linkIdentity({ provider: 'own', token: own.idToken(own.person(newAddress('audited'))) }));
  const next = newAddress('audited-next');
  ok(await c.auth.updateUser({ email: next }));
  ok(
    await client().auth.verifyOtp({
      email: next,
      token: (await letter(next, /new address/)).code,
      type: 'email_change',
    }),
  );
  ok(
    await client().auth.verifyOtp({
      email,
      token: (await letter(email, /change of your address/)).code,
      type: 'email_change',
    }),
  );
  await c.auth.updateUser({ data: { tenant_id: '0198c6f0-0000-7000-8000-000000000000' } });
  assert.ok(first && (await token()).access_token);
  const rows = await actionsOf(id);
  const seen = new Set(rows.map((r) => r.action));
  for (const action of [
    'user.signed_up',
    'user.confirmed',
    'session.started',
    'session.refused',
    'session.ended',
    'user.recovery_requested',
    'user.password_changed',
    'mfa.enrolment_started',
    'mfa.enrolled',
    'user.identity_linked',
    'user.email_change_started',
    'user.email_changed',
    'tenant.switch_denied',
  ]) {
    assert.ok(seen.has(action), `${action} is not among ${[...seen].join(' ')}`);
  }
  assert.equal(rows.find((r) => r.action === 'session.refused').outcome, 'refused');
  for (const row of rows) assert.ok(row.request_id, `${row.action} names its request`);
  const { data: mine } = await c.from('audit').select('tenant_id');
  for (const row of mine ?? []) assert.equal(row.tenant_id, tenant, "an owner reads his own tenant's rows");
  for (const change of [
    c.from('audit').delete().eq('entity_id', id),
    c.from('audit').update({ action: 'x' }).eq('entity_id', id),
    service().from('audit').delete().eq('entity_id', id),
  ]) {
    assert.ok((await change).error, 'an audit row is neither changed nor removed');
  }
});

test('audit: a replayed refresh token', async () => {
  const { c, id } = await confirmed('replay');
  const tokens = [ok(await c.auth.getSession()).session.refresh_token];
  for (let i = 0; i < 3; i++)
    tokens.push(ok(await client().auth.refreshSession({ refresh_token: tokens.at(-1) })).session.refresh_token);
  // An older one is taken for a parallel tab as long as the last refresh is
  // fresh (refresh_reuse_interval, a second here).
  let error = null;
  for (let tries = 0; tries < 20 && !error; tries++) {
    await sleep(1500);
    ({ error } = await client().auth.refreshSession({ refresh_token: tokens[0] }));
  }
  assert.deepEqual([error.status, error.code], [400, 'refresh_token_already_used']);
  assert.ok((await actionsOf(id)).some((r) => r.action === 'session.refresh_replayed'));
  assert.ok((await client().auth.refreshSession({ refresh_token: tokens.at(-1) })).error, 'the whole session is dead');
});

test('a page elsewhere gets nothing by a cookie, a form or the service key', async () => {
  const { email } = await confirmed('crossed');
  // A form may be posted (RFC 6749), but no cookie comes of it that later
  // requests would carry; JSON in disguise is refused.
  for (const [status, contentType, body] of [
    [200, 'application/x-www-form-urlencoded', new URLSearchParams({ email, password }).toString()],
    [415, 'text/plain', JSON.stringify({ email, password })],
  ]) {
    const response = await fetch(`${url}/auth/v1/token?grant_type=password`, {
      method: 'POST',
      body,
      headers: { 'Content-Type': contentType, Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' },
    });
    assert.deepEqual([response.status, response.headers.get('set-cookie')], [status, null], contentType);
  }
  for (const headers of [{ Origin: 'https://evil.example' }, { 'Sec-Fetch-Site': 'cross-site' }, { Cookie: 'a=b' }]) {
    const response = await fetch(`${url}/auth/v1/admin/users`, { headers: { ...headers, apikey: serviceKey } });
    assert.equal(response.status, 401, `a service key with ${Object.keys(headers)}`);
  }
  for (const path of [`/auth/v1/user?access_token=${serviceKey}`, `/auth/v1/admin/users?apikey=${serviceKey}`])
    assert.equal((await fetch(url + path)).status, 401);
  for (const origin of ['https://evil.example', 'null', `${url}.evil.example`]) {
    const { headers } = await fetch(`${url}/auth/v1/settings`, { headers: { Origin: origin } });
    assert.equal(headers.get('access-control-allow-credentials'), null, origin);
  }
});

test("a stranger's text breaks no line of the log and comes back in no header", async () => {
  const nasty = ['a\u001b[31mred', '{"level":"ERROR"}', 'x'.repeat(7000), '"quoted"', '%0d%0aSet-Cookie: a=b'];
  for (const text of nasty) {
    const response = await fetch(`${url}/auth/v1/${encodeURIComponent(text)}`, {
      headers: {
        'User-Agent': text.replaceAll('\u001b', ''),
        apikey: anonKey,
        'X-Request-Id': text.replaceAll('\u001b', ''),
      },
    });
    assert.equal(response.status, 404);
    assert.match(response.headers.get('x-request-id'), /^[\w.-]{8,128}$/, 'a bad request id is replaced');
    assert.equal(response.headers.get('set-cookie'), null);
    await client().auth.signInWithPassword({ email: `${text}@people.example`, password });
  }
  const given = await fetch(`${url}/auth/v1/health`, { headers: { 'X-Request-Id': 'given-by-the-client-1' } });
  assert.equal(given.headers.get('x-request-id'), 'given-by-the-client-1');
});
