// Clients of the server under test, which HOLDFAST_URL, ANON_KEY and
// SERVICE_ROLE_KEY name.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { createClient } from '@supabase/supabase-js';

export const url = required('HOLDFAST_URL');
export const anonKey = required('ANON_KEY');
export const serviceKey = required('SERVICE_ROLE_KEY');
export const password = 'holdfast-demo';
export const engine = process.env.HOLDFAST_ENGINE ?? '';

function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the suite by "make supabase"`);
  return value;
}

// secret are the members of bodies that a server must not write into its log.
const secret = new Set([
  'password',
  'current_password',
  'access_token',
  'refresh_token',
  'provider_token',
  'provider_refresh_token',
  'id_token',
  'auth_code',
  'code_verifier',
  'token_hash',
  'hashed_token',
  'secret',
  'client_secret',
]);

// keep notes the secrets of a body for the look at the log that follows the run.
function keep(text) {
  const found = [];
  const look = (value) => {
    if (!value || typeof value !== 'object') return;
    for (const [name, v] of Object.entries(value)) {
      if (secret.has(name) && typeof v === 'string' && v.length >= 8) found.push(v);
      else look(v);
    }
  };
  try {
    look(JSON.parse(text));
  } catch {
    return; // no JSON, no members
  }
  if (found.length && process.env.SECRETS_FILE) appendFileSync(process.env.SECRETS_FILE, `${found.join('\n')}\n`);
}

async function watched(input, init) {
  if (typeof init?.body === 'string') keep(init.body);
  const response = await fetch(input, init);
  if ((response.headers.get('content-type') ?? '').includes('json')) keep(await response.clone().text());
  return response;
}

// patient waits as a 429 asks; the suite signs in more often than the limit for
// one address allows.
async function patient(input, init) {
  for (let tries = 0; ; tries++) {
    const response = await watched(input, init);
    if (response.status !== 429 || tries === 3) return response;
    await sleep(1000 * Number(response.headers.get('retry-after')));
  }
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// client is an unmodified supabase-js. Node 20 has no WebSocket, so it is given
// a transport that is never opened.
export function client(key = anonKey, options = {}) {
  return createClient(url, key, {
    auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
    realtime: { transport: class {} },
    global: { fetch: patient },
    ...options,
  });
}

const signedIn = new Map();

// as is a client that is signed in as one of the demo's users, the same one
// each time.
export function as(email) {
  if (!signedIn.has(email)) signedIn.set(email, signIn(email));
  return signedIn.get(email);
}

export async function signIn(email, secret = password) {
  const c = client();
  ok(await c.auth.signInWithPassword({ email, password: secret }));
  return c;
}

export const service = () => client(serviceKey);

// ok returns an answer's data and fails when it is an error.
export function ok({ data, error, status }) {
  assert.equal(error, null, `${status ?? ''} ${JSON.stringify(error)} ${error?.message ?? ''}`);
  return data;
}

export async function token(c) {
  return ok(await c.auth.getSession()).session.access_token;
}

export function claims(jwt) {
  return JSON.parse(Buffer.from(jwt.split('.')[1], 'base64url'));
}

export async function tenantOf(c) {
  return claims(await token(c)).tenant_id;
}

// call is a plain request with a client's token, for what supabase-js hides.
export async function call(c, path, init = {}) {
  const headers = { apikey: anonKey, ...init.headers };
  if (c) headers.Authorization = `Bearer ${await token(c)}`;
  const response = await patient(url + path, { ...init, headers });
  const text = await response.text();
  let body = text;
  if ((response.headers.get('content-type') ?? '').includes('json') && text) body = JSON.parse(text);
  return { status: response.status, headers: response.headers, body };
}

let serial = 0;

// unique makes a code that no other run and no demo record has.
export const unique = (prefix) => `${prefix}-${Date.now().toString(36)}-${++serial}`.toUpperCase();

// signUpFounder is the owner of a tenant of his own, with nothing in it.
export async function signUpFounder() {
  const c = client();
  const email = `${unique('founder')}@new.example`.toLowerCase();
  ok(await c.auth.signUp({ email, password, options: { data: { tenant_id: randomUUID() } } }));
  return c;
}
