import { store } from './store';

// What the address of a mailed, handed or printed link brought. It is read once and taken out of the address and the
// history before anything else runs; what it stands for is done when the person presses a button, because programs
// that look through mails open links too.
export type Arrival =
  | { kind: 'link'; hash: string; type: string }
  | { kind: 'tokens'; access_token: string; refresh_token: string; type: string }
  | { kind: 'failed'; code: string; said: string }
  | { kind: 'invitation'; token: string }
  | { kind: 'setup'; token: string }
  | { kind: 'half' };

export const arrival = store<Arrival | null>(read());

// exchanging is true where a provider sent this browser back with a code that supabase-js redeems.
export const exchanging = arrival.get() === null && atHome() && new URLSearchParams(location.search).has('code');

// Links lead to the start of the console and nowhere else.
function atHome(): boolean {
  return location.pathname.replace(/\/$/, '') === '/console';
}

function read(): Arrival | null {
  if (!atHome()) return null;
  const given = new URLSearchParams(location.search);
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) given.set(name, value);
  const found = arrivalOf((name) => given.get(name) ?? '');
  if (found) forgetAddress();
  return found;
}

// forgetAddress takes parameters and fragment out of the address and out of this entry of the history.
export function forgetAddress(): void {
  history.replaceState(null, '', location.pathname);
}

function arrivalOf(given: (name: string) => string): Arrival | null {
  if (given('setup')) return { kind: 'setup', token: given('setup') };
  if (given('token_hash')) return { kind: 'link', hash: given('token_hash'), type: given('type') || 'email' };
  if (given('access_token'))
    return {
      kind: 'tokens',
      access_token: given('access_token'),
      refresh_token: given('refresh_token'),
      type: given('type'),
    };
  if (given('error') || given('error_code'))
    return { kind: 'failed', code: given('error_code') || given('error'), said: given('error_description') };
  if (given('invite_token')) return { kind: 'invitation', token: given('invite_token') };
  if (given('code') && !begunHere()) return { kind: 'failed', code: 'begun_elsewhere', said: '' };
  if (given('message')) return { kind: 'half' };
  return null;
}

// begunHere reports that this browser asked for the code that came: it keeps the other half.
function begunHere(): boolean {
  try {
    return localStorage.getItem('holdfast.session-code-verifier') !== null;
  } catch {
    return false;
  }
}
