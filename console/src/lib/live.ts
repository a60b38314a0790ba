import { queryClient } from './query';
import { claimsOf } from './claims';
import { live, session, token } from './client';

// One stream of events for all tabs of a browser: the tab that holds the lock
// reads it and tells the others.

const channel = 'BroadcastChannel' in window ? new BroadcastChannel('holdfast.events') : null;
let stop: AbortController | null = null;
let due = 0;

interface Told {
  tenant: string;
  live?: boolean;
  type?: string;
}

function heard(t: Told): void {
  const s = session.get();
  if (!s || claimsOf(s).tenant_id !== t.tenant) return;
  if (t.live !== undefined) live.set(t.live);
  if (t.type && !due) due = window.setTimeout(refresh, 1500);
}

// What is shown is read again, at most once in a few seconds however much happens.
function refresh(): void {
  due = 0;
  void queryClient.invalidateQueries({
    predicate: (q) => q.meta?.['live'] === true,
    refetchType: document.hidden ? 'none' : 'active',
  });
}

function tell(t: Told): void {
  heard(t);
  channel?.postMessage(t);
}

export function follow(tenant: string): () => void {
  const mine = new AbortController();
  stop?.abort();
  stop = mine;
  if (channel) channel.onmessage = (e: MessageEvent<Told>) => heard(e.data);
  const lead = () => read(tenant, mine.signal);
  if (navigator.locks)
    void navigator.locks.request(`holdfast.events.${tenant}`, { signal: mine.signal }, lead).catch(() => undefined);
  else void lead();
  return () => mine.abort();
}

async function read(tenant: string, signal: AbortSignal): Promise<void> {
  let last = '';
  for (let wait = 1000; !signal.aborted; wait = Math.min(wait * 2, 30_000)) {
    try {
      const t = await token();
      const r = await fetch('/v1/events', {
        signal,
        headers: { Authorization: `Bearer ${t}`, ...(last ? { 'Last-Event-ID': last } : {}) },
      });
      if (!r.ok || !r.body) throw new Error(String(r.status));
      wait = 1000;
      tell({ tenant, live: true });
      last = await lines(r.body, tenant, last);
    } catch {
      if (signal.aborted) return;
    }
    tell({ tenant, live: false });
    await new Promise((done) => setTimeout(done, wait));
  }
}

// lines reads a stream of server-sent events to its end and returns the last id.
async function lines(body: ReadableStream<Uint8Array>, tenant: string, last: string): Promise<string> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return last;
    const all = (rest + value).split('\n');
    rest = all.pop() ?? '';
    for (const line of all) {
      if (line.startsWith('id:')) last = line.slice(3).trim();
      if (line.startsWith('event:')) tell({ tenant, type: line.slice(6).trim() });
    }
  }
}
