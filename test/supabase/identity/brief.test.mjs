// A server without addresses, with short sessions and with its limits on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { client, ok, password, service, sleep, url } from '../client.mjs';
import * as carrier from './carrier.mjs';
import { newAddress } from './rig.mjs';

await carrier.open();

let serial = Date.now() % 1e7;
const newNumber = () => `4917${String(++serial).padStart(8, '0')}`;

const refused = ({ error }) => [error?.status, error?.code];

test('addresses are off: they sign nobody up or in, by password or by code', async () => {
  const email = newAddress('nobody');
  assert.deepEqual(refused(await client().auth.signUp({ email, password })), [400, 'email_provider_disabled']);
  assert.deepEqual(refused(await client().auth.signInWithPassword({ email, password })), [
    422,
    'email_provider_disabled',
  ]);
  assert.deepEqual(refused(await client().auth.resetPasswordForEmail(email)), [400, 'email_provider_disabled']);
  assert.deepEqual(refused(await client().auth.signInWithOtp({ email })), [422, 'email_provider_disabled']);
  assert.equal((await (await fetch(`${url}/auth/v1/settings`)).json()).external.email, false);
});

test('a session that was not refreshed in time has expired', async () => {
  const phone = newNumber();
  ok(await service().auth.admin.createUser({ phone, password, phone_confirm: true }));
  const c = client();
  const { session } = ok(await c.auth.signInWithPassword({ phone, password }));
  await sleep(1500);
  assert.deepEqual(refused(await c.auth.refreshSession(session)), [400, 'session_expired']);
  assert.equal((await client().auth.getUser(session.access_token)).error?.name, 'AuthSessionMissingError');
});

test('who guesses passwords is told to wait', async () => {
  const phone = newNumber();
  ok(await service().auth.admin.createUser({ phone, password, phone_confirm: true }));
  const hasty = client(undefined, { global: { fetch } }); // does not wait as it is told
  const answers = [];
  for (let n = 0; n < 200 && answers.at(-1)?.status !== 429; n++) {
    const { error } = await hasty.auth.signInWithPassword({ phone, password: `guess-${n}-of-many` });
    answers.push({ status: error.status, code: error.code });
  }
  assert.deepEqual(answers[0], { status: 400, code: 'invalid_credentials' });
  assert.deepEqual(answers.at(-1), { status: 429, code: 'over_request_rate_limit' });
  for (const [headers, want] of [
    [{ 'X-Supabase-Api-Version': '2024-01-01' }, { code: 'over_request_rate_limit' }],
    [{}, { code: 429, error_code: 'over_request_rate_limit' }],
  ]) {
    const response = await fetch(`${url}/auth/v1/token?grant_type=password`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ phone, password: 'one-guess-more' }),
    });
    const { error, message, retry_after, limit, remaining, reset_at, msg, ...rest } = await response.json();
    assert.deepEqual([response.status, error, remaining, rest], [429, 'rate_limit_exceeded', 0, want]);
    assert.deepEqual(
      [response.headers.get('retry-after'), typeof message, msg ?? message],
      [String(retry_after), 'string', message],
    );
    assert.ok(
      retry_after > 0 && limit > 0 && Date.parse(reset_at) > Date.now(),
      JSON.stringify({ retry_after, limit, reset_at }),
    );
  }
});
