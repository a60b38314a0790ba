import { createClient, type Session } from '@supabase/supabase-js';
import type { Answer as FunctionAnswer, AnyRecords, Database, EdgeFunction, Row, Verb, VerbArgs } from '../database';
import { arrival, exchanging, forgetAddress } from './arrival';
import { begin, end, lose } from './attempt';
import { begun } from './early';
import { Fault, fromResponse, lostAnswer, remember, toFault } from './fault';
import { queryClient } from './query';
import { store } from './store';

// The server takes browsers without a key of their own; supabase-js wants one.
const key = 'sb_publishable_console';

// away is true while the server does not answer.
export const away = store(false);

// proof is set while the person is asked to show a credential again; it is told the outcome.
export const proof = store<{ done: (shown: boolean) => void } | null>(null);
let asked: Promise<boolean> | undefined;

// prove asks once, however many requests wait for it.
function prove(): Promise<boolean> {
  asked ??= new Promise<boolean>((done) => proof.set({ done })).finally(() => {
    proof.set(null);
    asked = undefined;
  });
  return asked;
}

// A session that was ended elsewhere is refused with 401. GET /user tells why, and supabase-js forgets a session that is gone,
// which leads to the sign-in.
let looking = false;
// behind is how many milliseconds this clock is before the server's, by the whole second of its last answer.
let behind = 0;

// serverNow is a moment that the server does not take for the future, however wrong the clock of a phone is.
export const serverNow = () => new Date(Date.now() + behind);

function look(): void {
  if (looking || !session.get()) return;
  looking = true;
  setTimeout(() => void supabase.auth.getUser().finally(() => (looking = false)));
}

// A refusal by a limit that is over within this many seconds is waited for, of what asks and of what changes something:
// nothing was done. For a longer one the page says how long.
const longestPause = 5;
const pauses = 3;

// pausedFor is how many seconds a refused request waits before it is sent again, 0 = it is not. Sign-ins are the person's to repeat.
function pausedFor(r: Response, input: RequestInfo | URL, before: number): number {
  if (
    r.status !== 429 ||
    before >= pauses ||
    String(input instanceof Request ? input.url : input).includes('/auth/v1/')
  )
    return 0;
  const seconds = Number(r.headers.get('Retry-After')) || 1;
  return seconds <= longestPause ? seconds : 0;
}

// patientFetch is fetch that waits out short limits.
async function patientFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  for (let before = 0; ; before++) {
    const r = await fetch(input, init);
    const pause = pausedFor(r, input, before);
    if (!pause) return r;
    await new Promise((done) => setTimeout(done, 1000 * pause));
    init?.signal?.throwIfAborted();
  }
}

async function watched(input: RequestInfo | URL, init?: RequestInit, again = false): Promise<Response> {
  let r: Response;
  try {
    r = await patientFetch(input, init);
  } catch (e) {
    if ((e as Error).name !== 'AbortError') away.set(true);
    throw e;
  }
  const said = Date.parse(r.headers.get('Date') ?? '');
  if (said) behind = said - Date.now();
  away.set(r.status === 502 || r.status === 503 || r.status === 504);
  if (!r.ok) {
    const f = await fromResponse(r);
    if (!again && f.code === 'reauthentication_needed' && (await prove())) return watched(input, init, true);
    if (f.status === 401 && !String(input instanceof Request ? input.url : input).includes('/auth/v1/')) look();
    remember(f.message, { status: f.status, requestId: f.requestId, retryAfter: f.retryAfter, code: f.code });
  }
  return r;
}

const keyHeader = 'Idempotency-Key';

// placeOf names where a request that changes something was sent from and what it is; '' for one that only asks, and for
// those of identity, whose answers the server does not keep (docs/api.md).
function placeOf(input: RequestInfo | URL, init?: RequestInit): string {
  const method = init?.method ?? 'GET';
  const to = new URL(input instanceof Request ? input.url : input, location.href);
  if (method === 'GET' || method === 'HEAD' || to.pathname.startsWith('/auth/')) return '';
  return `${location.pathname} ${method} ${to.pathname}${to.search}`;
}

// The server is asked about a request that still runs this often, each time after as many seconds as it says.
const patience = 30;

// send sends what changes something under a key that stays until the server said what became of it: pressed again over a
// lost answer it is done once. What only asks is sent as it is.
async function send(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const place = placeOf(input, init);
  if (!place) return watched(input, init);
  const attempt = begin(place, init?.body);
  const headers = new Headers(init?.headers);
  headers.set(keyHeader, attempt.key);
  for (let tries = patience; ; tries--) {
    let r: Response;
    try {
      r = await watched(input, { ...init, headers });
    } catch {
      lose(attempt);
      throw lostAnswer('again');
    }
    const f = r.ok ? null : await fromResponse(r);
    if (f?.code === 'HF015' && tries) {
      await new Promise((done) => setTimeout(done, 1000 * (f.retryAfter || 1)));
      continue;
    }
    if (f?.code === 'HF014') void queryClient.invalidateQueries();
    const unknown = f && (f.status >= 500 || f.code === 'HF015');
    if (unknown) lose(attempt);
    // What was refused was not done; but only a refusal under a key that nothing was lost under says so of all that was sent.
    else if (r.ok || f?.code === 'HF014' || !attempt.lost) end(attempt);
    else lose(attempt);
    if (f && (unknown || (attempt.lost && f.code !== 'HF014')))
      remember(f.message, {
        status: f.status,
        requestId: f.requestId,
        retryAfter: f.retryAfter,
        code: f.code,
        lost: 'again',
      });
    return r;
  }
}

export const supabase = createClient<Database>(location.origin, key, {
  auth: {
    flowType: 'pkce',
    storageKey: 'holdfast.session',
    detectSessionInUrl: true,
    experimental: { passkey: true },
  } as object,
  global: { fetch: (input, init) => send(input, init) },
});

// records is a collection whose name is not known before.
export const records = (name: string) => (supabase as unknown as AnyRecords).from(name);

// session is undefined until it is known whether there is one.
export const session = store<Session | null | undefined>(begun);
// live is true while changes are told as they happen.
export const live = store(false);
// choosingPassword is true from the link that asks for a new password until it is chosen, across reloads of this tab.
export const choosingPassword = store(sessionStorage.getItem('holdfast.password') !== null);
choosingPassword.watch(() => {
  if (choosingPassword.get()) sessionStorage.setItem('holdfast.password', '1');
  else sessionStorage.removeItem('holdfast.password');
});

// ended is true after a session that the person did not end here, until the next one.
export const ended = store(false);
let leaving = false;

// leave ends the session here, or everywhere.
export async function leave(scope: 'local' | 'global'): Promise<void> {
  leaving = true;
  await supabase.auth.signOut({ scope }).finally(() => (leaving = false));
}

supabase.auth.onAuthStateChange((event, s) => {
  if (event === 'SIGNED_OUT') {
    choosingPassword.set(false);
    ended.set(!leaving && !!session.get());
  } else if (s) ended.set(false);
  const old = session.get();
  if (old?.access_token !== s?.access_token || old === undefined) session.set(s);
});

// A code that came back from a provider and opens nothing is told, and leaves the address.
if (exchanging)
  void supabase.auth.initialize().then(({ error }) => {
    if (!error) return;
    arrival.set({ kind: 'failed', code: error.code ?? '', said: error.message });
    forgetAddress();
  });

// The types of links after which a password is chosen.
const withPassword = ['recovery', 'invite'];

// redeemLink opens the session that a mailed link stands for, in the place of the one there is, which ends. It returns
// true for the first half of a change of address, which opens none.
export async function redeemLink(hash: string, type: string): Promise<boolean> {
  const before = session.get()?.access_token;
  const { data, error } = await supabase.auth.verifyOtp({ token_hash: hash, type: type as 'email' });
  if (error) throw toFault(error);
  if (!data.session) return true;
  if (withPassword.includes(type)) choosingPassword.set(true);
  endSession(before);
  return false;
}

// beginSession takes up a session whose tokens a link brought.
export async function beginSession(
  tokens: { access_token: string; refresh_token: string },
  type: string,
): Promise<boolean> {
  const before = session.get()?.access_token;
  const { error } = await supabase.auth.setSession(tokens);
  if (error) throw toFault(error);
  if (withPassword.includes(type)) choosingPassword.set(true);
  endSession(before);
  return false;
}

function endSession(accessToken?: string): void {
  if (accessToken)
    void fetch('/auth/v1/logout?scope=local', {
      method: 'POST',
      headers: { Authorization: `Bearer ${accessToken}` },
    }).catch(() => undefined);
}

// askForMail asks the server to mail a link or a code. It names no challenge, so that the link works in any browser;
// supabase-js would bind it to this one.
export function askForMail<T = object>(what: 'recover' | 'otp' | 'signup', body: object): Promise<T> {
  return api<T>(`/auth/v1/${what}?redirect_to=${encodeURIComponent(`${location.origin}/console/`)}`, {
    method: 'POST',
    json: body,
  });
}

export async function token(): Promise<string> {
  // The request that waits for a proof may hold the session's lock.
  if (proof.get()) return session.get()?.access_token ?? '';
  const { data } = await supabase.auth.getSession();
  return data.session?.access_token ?? '';
}

// Call is a request with a body in JSON, where it has one; asks is set on a POST that changes nothing.
type Call = RequestInit & { json?: unknown; asks?: boolean };

// api calls a route that is no collection; its answer is the body.
export async function api<T>(path: string, init: Call = {}): Promise<T> {
  const r = await call(path, init);
  const text = await r.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

export async function call(path: string, init: Call = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const t = await token();
  if (t) headers.set('Authorization', `Bearer ${t}`);
  if (init.json !== undefined) headers.set('Content-Type', 'application/json');
  let r: Response;
  try {
    r = await (init.asks ? watched : send)(path, {
      ...init,
      headers,
      body: init.json !== undefined ? JSON.stringify(init.json) : init.body,
    });
  } catch (e) {
    const changes = init.method && init.method !== 'GET' && !init.asks;
    throw changes && !(e instanceof Fault) ? lostAnswer('look') : toFault(e);
  }
  if (!r.ok) throw await fromResponse(r);
  return r;
}

// rpc says what a person did: POST /v1/rpc/{verb}.
export function rpc<T, V extends Verb = Verb>(verb: V, body: VerbArgs<V>): Promise<T> {
  return api<T>(`/v1/rpc/${verb}`, { method: 'POST', json: body });
}

// ask has a verb answer that changes nothing.
export function ask<T, V extends Verb = Verb>(verb: V, body: VerbArgs<V>): Promise<T> {
  return api<T>(`/v1/rpc/${verb}`, { method: 'POST', json: body, asks: true });
}

interface Answer<T> {
  data: T | null;
  error: unknown;
  count?: number | null;
}

// want awaits a request of supabase-js and throws what went wrong.
export async function want<T = Row[]>(request: PromiseLike<Answer<unknown>>): Promise<T> {
  const { data, error } = await request;
  if (error) throw toFault(error);
  return data as T;
}

// invoke calls a function of /functions/v1.
export async function invoke<N extends EdgeFunction>(name: N, query = '', body?: object): Promise<FunctionAnswer<N>> {
  const { data, error } = await supabase.functions.invoke<FunctionAnswer<N>>(
    name + query,
    body ? { method: 'POST', body: body as Record<string, unknown> } : { method: 'GET' },
  );
  if (!error) return data as FunctionAnswer<N>;
  const context = (error as { context?: unknown }).context;
  throw context instanceof Response ? await fromResponse(context) : toFault(context ?? error);
}

// download saves an answer as a file.
export async function download(path: string, name: string, headers: Record<string, string> = {}): Promise<void> {
  const r = await call(path, { headers });
  const a = document.createElement('a');
  a.href = URL.createObjectURL(await r.blob());
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10_000);
}

export { Fault };
