// What the parts of this suite share: accounts that proved their address, and
// tenants that they own.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { client, ok, password, unique } from '../client.mjs';
import * as mailbox from './mailbox.mjs';

export const newAddress = (name) => `${unique(name)}@people.example`.toLowerCase();

// confirmed is a client signed in as a new account whose address was proved by
// the mailed code; options as createClient's.
export async function confirmed(name = 'person', data = {}, options) {
  const email = newAddress(name);
  const c = client(undefined, options);
  const { session } = ok(await c.auth.signUp({ email, password, options: { data } }));
  assert.equal(session, null, 'an address has to be proved');
  const { code } = await mailbox.letter(email, /Confirm/);
  ok(await c.auth.verifyOtp({ email, token: code, type: 'signup' }));
  return { c, email, id: ok(await c.auth.getUser()).user.id };
}

// founder owns a tenant of his own.
export async function founder() {
  const tenant = randomUUID();
  const person = await confirmed('founder', { tenant_id: tenant });
  return { ...person, tenant };
}

// pkce is the configuration of a client that uses PKCE, with a memory for what
// a browser's storage holds.
export function pkce() {
  const kept = new Map();
  const storage = {
    getItem: (k) => kept.get(k) ?? null,
    setItem: (k, v) => void kept.set(k, v),
    removeItem: (k) => void kept.delete(k),
  };
  return {
    auth: { flowType: 'pkce', storage, persistSession: true, autoRefreshToken: false, detectSessionInUrl: false },
  };
}

// press opens a mailed link as a person does: the page, then its button.
export async function press(link) {
  const shown = await fetch(link, { redirect: 'manual', headers: { Accept: 'text/html' } });
  if (shown.status !== 200) return new URL(shown.headers.get('location'));
  const done = await fetch(link, {
    method: 'POST',
    redirect: 'manual',
    headers: { Accept: 'text/html', 'Content-Type': 'application/x-www-form-urlencoded' },
  });
  return new URL(done.headers.get('location'));
}

// withPasskeys is a client that may use passkeys.
export const withPasskeys = (key) =>
  client(key, { auth: { persistSession: false, autoRefreshToken: false, experimental: { passkey: true } } });
