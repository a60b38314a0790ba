// What lies under every call: shapes of errors, bodies, paths, preflights.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anonKey, client, ok, password, url } from '../client.mjs';
import { confirmed } from './rig.mjs';

const ask = (path, init = {}) =>
  fetch(`${url}/auth/v1${path}`, {
    ...init,
    headers: {
      apikey: anonKey,
      Authorization: `Bearer ${anonKey}`,
      'Content-Type': 'application/json',
      ...init.headers,
    },
  });
const post = (path, body, headers) =>
  ask(path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), headers });

test('errors: of the dated form for who names a date, of the old form for others', async () => {
  const wrong = { email: 'nobody@people.example', password };
  for (const date of ['2024-01-01', '2026-12-31']) {
    const dated = await post('/token?grant_type=password', wrong, { 'X-Supabase-Api-Version': date });
    assert.deepEqual(
      [dated.status, await dated.json()],
      [400, { code: 'invalid_credentials', message: 'Invalid login credentials' }],
    );
    assert.deepEqual(
      [dated.headers.get('x-supabase-api-version'), dated.headers.get('x-sb-error-code')],
      ['2024-01-01', 'invalid_credentials'],
    );
  }
  for (const date of ['2023-01-01', 'yesterday']) {
    const old = await post('/token?grant_type=password', wrong, { 'X-Supabase-Api-Version': date });
    assert.deepEqual(
      [old.status, await old.json(), old.headers.get('x-supabase-api-version')],
      [400, { code: 400, error_code: 'invalid_credentials', msg: 'Invalid login credentials' }, null],
    );
  }
  const { error } = await client().auth.signUp({ email: 'weak@people.example', password: 'short' });
  assert.deepEqual([error.status, error.code, error.reasons], [422, 'weak_password', ['length']]);
});

test('bodies: unknown and null members, none at all, one that is no JSON, one too large', async () => {
  const { c, email } = await confirmed('transport');
  const signIn = await post('/token?grant_type=password', {
    email,
    password,
    code_challenge: null,
    options: { x: 1 },
    gotrue_meta_security: {},
  });
  assert.equal(signIn.status, 200);
  const { access_token } = await signIn.json();
  assert.equal(
    (await ask('/logout?scope=nonsense', { method: 'POST', headers: { Authorization: `Bearer ${access_token}` } }))
      .status,
    400,
  );
  assert.equal(
    (await ask('/logout/?scope=local', { method: 'POST', headers: { Authorization: `Bearer ${access_token}` } }))
      .status,
    204,
    'a trailing slash, and no body',
  );
  for (const bad of ['{', '[]', '"x"', '{"email":1}']) {
    const response = await post('/token?grant_type=password', bad);
    const { error_code } = await response.json();
    assert.deepEqual(
      [response.status, ['bad_json', 'validation_failed'].includes(error_code)],
      [400, true],
      `${bad}: ${error_code}`,
    );
  }
  const { error } = await c.auth.updateUser({ data: { text: 'x'.repeat(1 << 20) } });
  assert.deepEqual([error.status, error.code], [413, 'request_entity_too_large']);
  const { user } = ok(await c.auth.getUser());
  assert.equal(user.user_metadata.text, undefined);
});

test('X-JWT-AUD: the one audience there is, and no other', async () => {
  const { email } = await confirmed('audience');
  for (const [audience, status, code] of [
    ['authenticated', 200],
    ['', 200],
    ['somebody-else', 403, 'unexpected_audience'],
  ]) {
    const response = await post('/token?grant_type=password', { email, password }, { 'X-JWT-AUD': audience });
    assert.deepEqual([response.status, (await response.json()).error_code], [status, code], audience);
    assert.equal((await ask('/sso/saml/metadata', { headers: { 'X-JWT-AUD': audience } })).status, status, audience);
  }
});

test('paths: one that is not served, a method that is not, ids that are none', async () => {
  const nowhere = await ask('/nowhere');
  assert.deepEqual([nowhere.status, typeof (await nowhere.json()).error_code], [404, 'string']);
  const method = await ask('/token', { method: 'DELETE' });
  assert.deepEqual([method.status, method.headers.get('allow')], [405, 'OPTIONS, POST']);
  const { c } = await confirmed('paths');
  const { error } = await c.auth.mfa.unenroll({ factorId: 'no-uuid' });
  assert.deepEqual([error.status, error.code], [404, 'validation_failed']);
});

test("preflight: a page may send supabase-js's headers and read what it needs", async () => {
  const wanted =
    'authorization,apikey,content-type,x-client-info,x-supabase-api-version,x-retry-count,accept-profile,content-profile,prefer,range,x-region';
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
    const { status, headers } = await fetch(`${url}/auth/v1/user`, {
      method: 'OPTIONS',
      headers: {
        Origin: 'https://app.example',
        'Access-Control-Request-Method': method,
        'Access-Control-Request-Headers': wanted,
      },
    });
    assert.ok(status === 200 || status === 204, `${method}: ${status}`);
    assert.equal(headers.get('access-control-allow-origin'), '*');
    assert.ok(headers.get('access-control-allow-methods').includes(method));
    for (const name of wanted.split(',')) assert.ok(headers.get('access-control-allow-headers').includes(name), name);
  }
  const shown = (await fetch(`${url}/auth/v1/settings`, { headers: { Origin: 'https://app.example' } })).headers
    .get('access-control-expose-headers')
    .toLowerCase();
  for (const name of [
    'x-total-count',
    'link',
    'x-supabase-api-version',
    'x-cache',
    'retry-after',
    'content-range',
    'x-ratelimit-limit',
    'x-ratelimit-remaining',
    'x-ratelimit-reset',
    'x-ratelimit-used',
  ])
    assert.ok(shown.includes(name), name);
});
