// Tools that read the Swagger document before their first row: react-admin's data provider for Supabase as it is
// published, and the requests of n8n's Supabase node.
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { createClient } from '@supabase/supabase-js';
import core from 'ra-supabase-core';

const { HOLDFAST_URL: url, ANON_KEY: anon, SERVICE_ROLE_KEY: service } = process.env;
const email = 'manager@north.example';
const north = '11111111-1111-4111-8111-111111111111';

// note keeps a secret that the server's log must not show.
const note = (secret) => appendFileSync(process.env.SECRETS_FILE ?? '/dev/null', `${secret}\n`);

let provider;

before(async () => {
  // Node 20 has no WebSocket of its own, and nothing here listens to changes.
  const realtime = { transport: class {} };
  const supabaseClient = createClient(url, anon, { auth: { persistSession: false }, realtime });
  const { data, error } = await supabaseClient.auth.signInWithPassword({ email, password: 'holdfast-demo' });
  assert.equal(error, null);
  note(data.session.access_token);
  note(data.session.refresh_token);
  provider = core.supabaseDataProvider({ instanceUrl: url, apiKey: anon, supabaseClient });
});

// A guesser makes a page for each path that can be read, with the columns of its definition.
test('react-admin lists every collection that its schema names, with the columns that it names', async () => {
  const schema = await provider.getSchema();
  const readable = Object.keys(schema.paths).filter((path) => schema.paths[path].get && !path.startsWith('/rpc/') && path !== '/');
  assert.ok(readable.length > 60, `${readable.length} collections`);
  for (const path of readable) {
    const name = path.slice(1);
    const { data } = await provider.getList(name, {
      pagination: { page: 1, perPage: 5 }, sort: { field: 'id', order: 'ASC' }, filter: {},
    });
    const columns = Object.keys(schema.definitions[name].properties);
    for (const row of data) {
      // A column that the role may not read is no part of its schema and null in each row.
      const unnamed = Object.keys(row).filter((column) => !columns.includes(column) && row[column] !== null);
      assert.deepEqual(unnamed, [], `${name} has columns that its definition does not name`);
    }
  }
});

test('react-admin makes, changes, finds and removes a record', async () => {
  const [name, code] = ['Parcels', `RA-${Date.now()}`];
  const { data: made } = await provider.create('carriers', { data: { name, code } });
  const { data: changed } = await provider.update('carriers', { id: made.id, data: { name: `${name} II` }, previousData: made });
  assert.equal(changed.name, `${name} II`);
  const { data: found } = await provider.getList('carriers', {
    pagination: { page: 1, perPage: 5 }, sort: { field: 'id', order: 'ASC' }, filter: { 'code@ilike': code.slice(3) },
  });
  assert.deepEqual(found.map((row) => row.id), [made.id]);
  await provider.delete('carriers', { id: made.id, previousData: changed });
  const { data: left } = await provider.getMany('carriers', { ids: [made.id] });
  assert.deepEqual(left, []);
});

// ask is a request as n8n's node sends it: with the secret key in both headers, and all rows that it touched as answer.
async function ask(method, path, body) {
  const headers = { apikey: service, Authorization: `Bearer ${service}`, Prefer: 'return=representation', Accept: 'application/json' };
  if (body) headers['Content-Type'] = 'application/json';
  const r = await fetch(`${url}/rest/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
  const answer = await r.json();
  assert.ok(r.ok, `${method} ${path}: ${r.status} ${JSON.stringify(answer)}`);
  return answer;
}

test('n8n finds tables and columns, and its five operations on rows work', async () => {
  note(service);
  const { paths, definitions } = await ask('GET', '/');
  const tables = Object.keys(paths).filter((path) => path !== '/' && !path.startsWith('/rpc/')).map((path) => path.slice(1));
  for (const table of tables) {
    for (const column of Object.values(definitions[table].properties)) assert.ok(column.format, `a column of ${table} has no type`);
  }
  const code = `N8N-${Date.now()}`;
  const [made] = await ask('POST', '/carriers', [{ tenant_id: north, code, name: 'Made by a flow' }]);
  const [got] = await ask('GET', `/carriers?code=eq.${code}`);
  assert.equal(got.id, made.id);
  const all = await ask('GET', `/carriers?or=(code.eq.${code},name.eq.nothing)&limit=1000&offset=0&order=id.asc`);
  assert.equal(all.length, 1);
  const [changed] = await ask('PATCH', `/carriers?id=eq.${made.id}`, { name: 'Changed by a flow' });
  assert.equal(changed.name, 'Changed by a flow');
  const [removed] = await ask('DELETE', `/carriers?id=eq.${made.id}`);
  assert.equal(removed.id, made.id);
});
