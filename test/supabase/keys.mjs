// A machine of a tenant works with supabase-js by a key of the tenant's own.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { call, client, ok, signUpFounder, unique } from './client.mjs';
import { totp } from './totp.mjs';

const path = '/auth/v1/tenant/service-accounts';
const json = (method, body) => ({
  method,
  body: JSON.stringify(body),
  headers: { 'Content-Type': 'application/json' },
});

describe('a key of a tenant', () => {
  let founder, account, machine;

  before(async () => {
    founder = await signUpFounder();
    const refused = await call(founder, path, json('POST', { name: 'ERP', role: 'manager', scopes: [] }));
    assert.deepEqual([refused.status, refused.body.error_code], [403, 'insufficient_aal'], 'one factor is not enough');
    const factor = ok(await founder.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'App' }));
    ok(await founder.auth.mfa.challengeAndVerify({ factorId: factor.id, code: totp(factor.totp.secret) }));
    const scopes = ['items:write', 'orders:read', 'rpc:confirm_order', 'functions:safety-kpis'];
    const made = await call(founder, path, json('POST', { name: 'ERP', role: 'manager', scopes }));
    assert.equal(made.status, 201, JSON.stringify(made.body));
    account = made.body;
    const key = await call(founder, `${path}/${account.id}/keys`, json('POST', {}));
    assert.equal(key.status, 201, JSON.stringify(key.body));
    machine = client(key.body.secret);
    account.key = key.body.secret;
  });

  test('reads and writes the collections of its scopes, as itself', async () => {
    const sku = unique('KEY');
    const item = ok(
      await machine
        .from('items')
        .insert({ sku, name: 'By a machine', base_uom: 'EA' })
        .select('sku,created_by')
        .single(),
    );
    assert.deepEqual(item, { sku, created_by: account.id });
    assert.deepEqual(ok(await founder.from('items').select('sku').eq('sku', sku)), [{ sku }], 'the tenant has it');
    assert.deepEqual(ok(await machine.from('orders').select('order_no')), []);
    const { error } = await machine.from('zones').select('code');
    assert.deepEqual([error.code, error.message], ['42501', 'this key has no scope zones:read']);
    assert.equal(
      (await machine.from('orders').select('order_no,order_lines(line_no)')).error.code,
      '42501',
      'embedded too',
    );
  });

  test('says the verbs and calls the functions of its scopes', async () => {
    const said = await machine.rpc('confirm_order', { order_id: account.id });
    assert.notEqual(said.error.code, '42501', 'there is no such order, but it may ask');
    assert.equal(
      (await machine.rpc('hold_order', { order_id: account.id })).error.message,
      'this key has no scope rpc:hold_order',
    );
    assert.equal(ok(await machine.functions.invoke('safety-kpis', { method: 'GET' })).kpis.tsr, 0);
    assert.equal((await machine.functions.invoke('safety-engagement', { method: 'GET' })).error.context.status, 403);
  });

  test('is nobody to the identity service', async () => {
    assert.equal((await machine.auth.getUser(account.key)).error.code, 'not_admin');
    assert.equal((await machine.auth.admin.listUsers()).error.code, 'not_admin');
  });

  test('is exchanged for a token, and is refused once it is revoked', async () => {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: account.id,
      client_secret: account.key,
      scope: 'orders:read',
    });
    const got = await call(null, '/auth/v1/token', { method: 'POST', body: form });
    assert.deepEqual(
      [got.status, got.body.token_type, got.body.expires_in, got.body.scope],
      [200, 'bearer', 900, 'orders:read'],
      JSON.stringify(got.body),
    );
    const short = client(undefined, { accessToken: async () => got.body.access_token });
    assert.deepEqual(ok(await short.from('orders').select('order_no')), []);
    assert.equal((await short.from('items').select('sku')).error.code, '42501');
    assert.equal((await call(founder, `${path}/${account.id}`, { method: 'DELETE' })).status, 204);
    assert.equal((await machine.from('orders').select('order_no')).status, 401);
    assert.equal((await short.from('orders').select('order_no')).status, 401);
  });
});
