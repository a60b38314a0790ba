// A morning at the desk of a warehouse: who has what open, what the catalogue
// costs, an order from draft to cancellation, a supplier's file and its way
// back. It prints what it saw as JSON. Everything it reads and sends is typed by
// `holdfast gen types ts`; none of it is cast.
import { createClient, type SupabaseClient } from '@supabase/supabase-js';
import type { Database, EdgeFunctions, Tables, TablesInsert } from '../types/database';

type Schema = Database['public'];
type Collection = keyof Schema['Tables'] & string;
type Verb = keyof Schema['Functions'] & string;
type Client = SupabaseClient<Database>;

declare const process: { env: Record<string, string | undefined>; exitCode?: number };

function setting(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

const url = setting('HOLDFAST_URL');
const key = setting('ANON_KEY');

// Refusal is an answer that is not what was asked for, with the code to branch on.
class Refusal extends Error {
  constructor(
    readonly what: string,
    readonly code: string,
    message: string,
  ) {
    super(`${what}: ${code} ${message}`);
  }
}

// fetched asks again when a limit says when.
async function fetched(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  for (let tries = 0; ; tries++) {
    const response = await fetch(input, init);
    if (response.status !== 429 || tries === 3) return response;
    const seconds = Number(response.headers.get('retry-after') ?? '1');
    await new Promise((done) => setTimeout(done, 1000 * seconds));
  }
}

// needed is the data of an answer of supabase-js, which has data or an error.
function needed<T>(what: string, answer: { data: T; error: { code?: string; message: string } | null }): NonNullable<T> {
  if (answer.error) throw new Refusal(what, answer.error.code ?? '', answer.error.message);
  if (answer.data === null || answer.data === undefined) throw new Refusal(what, '', 'no data');
  return answer.data;
}

class Desk {
  private constructor(
    readonly client: Client,
    private readonly token: string,
  ) {}

  static async open(email: string, password: string): Promise<Desk> {
    const client = createClient<Database>(url, key, {
      auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
      global: { fetch: fetched },
      // Node 20 has no WebSocket; none is opened.
      realtime: { transport: class {} as unknown as typeof WebSocket },
    });
    const { data, error } = await client.auth.signInWithPassword({ email, password });
    if (error) throw new Refusal('sign in', error.code ?? '', error.message);
    return new Desk(client, data.session.access_token);
  }

  async close(): Promise<void> {
    const { error } = await this.client.auth.signOut({ scope: 'local' });
    if (error) throw new Refusal('sign out', error.code ?? '', error.message);
  }

  // ask is a plain request, for what supabase-js has no call.
  private async ask(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set('apikey', key);
    headers.set('Authorization', `Bearer ${this.token}`);
    const response = await fetched(new URL(path, url), { ...init, headers });
    if (response.ok) return response;
    const refused: { code?: string; message?: string; error?: string } = await response.json();
    throw new Refusal(path, refused.code ?? String(response.status), refused.message ?? refused.error ?? '');
  }

  // pages goes through a list by the links of its full pages.
  async *pages<Name extends Collection, Column extends keyof Tables<Name> & string>(
    from: Name,
    columns: readonly Column[],
    query: Record<string, string>,
  ): AsyncGenerator<Pick<Tables<Name>, Column>[]> {
    const parameters = new URLSearchParams({ select: columns.join(','), ...query });
    let next: string | undefined = `/v1/${from}?${parameters}`;
    while (next) {
      const response: Response = await this.ask(next);
      const rows: Pick<Tables<Name>, Column>[] = await response.json();
      if (rows.length) yield rows;
      next = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
    }
  }

  // say runs a verb.
  async say<Name extends Verb>(verb: Name, args: Schema['Functions'][Name]['Args']): Promise<Schema['Functions'][Name]['Returns']> {
    const response = await this.ask(`/v1/rpc/${verb}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(args),
    });
    return response.json();
  }

  // run calls a function.
  async run<Name extends keyof EdgeFunctions & string>(name: Name, args: EdgeFunctions[Name]['Args']): Promise<EdgeFunctions[Name]['Returns']> {
    const response = await this.ask(`/functions/v1/${name}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(args),
    });
    return response.json();
  }

  // look is run for functions that only answer.
  async look<Name extends keyof EdgeFunctions & string>(name: Name, args: EdgeFunctions[Name]['Args']): Promise<EdgeFunctions[Name]['Returns']> {
    const parameters = new URLSearchParams();
    for (const [member, value] of Object.entries(args)) parameters.set(member, String(value));
    const response = await this.ask(`/functions/v1/${name}?${parameters}`);
    return response.json();
  }

  // upload makes an import job of a file.
  async upload(target: string, name: string, text: string): Promise<Pick<Tables<'import_jobs'>, 'id' | 'status'>> {
    const form = new FormData();
    form.set('target', target);
    form.set('file', new Blob([text], { type: 'text/csv' }), name);
    const response = await this.ask('/v1/import-jobs', { method: 'POST', body: form });
    return response.json();
  }
}

// open lists the orders that somebody waits for, with their lines and items.
async function open(desk: Desk): Promise<{ order: string; lines: number; units: number; first: string }[]> {
  const orders = needed(
    'orders',
    await desk.client
      .from('orders')
      .select('order_no, status, order_lines(line_no, qty_ordered, items(sku, name))')
      .in('status', ['confirmed', 'in_progress'])
      .order('order_no')
      .limit(20),
  );
  return orders.map((o) => ({
    order: o.order_no ?? '',
    lines: o.order_lines.length,
    units: o.order_lines.reduce((sum, line) => sum + line.qty_ordered, 0),
    first: o.order_lines[0]?.items.sku ?? '',
  }));
}

interface Catalogue {
  items: number;
  pages: number;
  ordered: boolean;
  stocked?: { id: string; sku: string };
}

// catalogue goes through all items, in the order of their SKU.
async function catalogue(desk: Desk): Promise<Catalogue> {
  const seen: Catalogue = { items: 0, pages: 0, ordered: true };
  let last = '';
  for await (const page of desk.pages('items', ['id', 'sku', 'available'], { order: 'sku', limit: '25' })) {
    seen.pages++;
    for (const item of page) {
      seen.items++;
      seen.ordered &&= last < item.sku;
      last = item.sku;
      if (!seen.stocked && item.available >= 1) seen.stocked = { id: item.id, sku: item.sku };
    }
  }
  return seen;
}

// journey takes an order from its draft to its cancellation, and notes its
// states.
async function journey(desk: Desk, itemID: string): Promise<string[]> {
  const draft: TablesInsert<'orders'> = { type: 'outbound', notes: 'made by the sample application' };
  const order = needed('new order', await desk.client.from('orders').insert(draft).select('id, status').single());
  const line: TablesInsert<'order_lines'> = { order_id: order.id, line_no: 1, item_id: itemID, qty_ordered: 1 };
  const { error } = await desk.client.from('order_lines').insert(line);
  if (error) throw new Refusal('new line', error.code, error.message);

  const states: string[] = [order.status];
  const dry = await desk.say('confirm_order', { order_id: order.id, dry_run: true });
  states.push(dry.dry_run ? `${dry.order.status}?` : 'written');
  const confirmed = await desk.say('confirm_order', { order_id: order.id, idempotency_key: `confirm-${order.id}` });
  states.push(confirmed.order.status);
  const again = await desk.say('confirm_order', { order_id: order.id, idempotency_key: `confirm-${order.id}` });
  states.push(again.order.version === confirmed.order.version ? 'repeated' : 'done twice');
  const held = await desk.say('hold_order', { order_id: order.id, reason: 'address unclear' });
  states.push(held.order.status);
  if (held.next.some((step) => step.verb === 'resume_order')) {
    states.push((await desk.say('resume_order', { order_id: order.id })).order.status);
  }
  states.push((await desk.say('cancel_order', { order_id: order.id, reason: 'no longer wanted' })).order.status);
  return states;
}

interface Import {
  valid: number;
  wrong: string[];
  imported: number;
  found: number;
  rolledBack: number;
  left: number;
}

// supplier imports a file of items, one of which has no price that can be read,
// and takes it back.
async function supplier(desk: Desk): Promise<Import> {
  const mark = `SAMPLE-${Date.now().toString(36).toUpperCase()}`;
  const file = `sku,name,unit_cost\n${mark}-1,Strap,1.20\n${mark}-2,Buckle,0.85\n${mark}-3,Hook,cheap\n`;
  const found = async (): Promise<number> => {
    const { count, error } = await desk.client.from('items').select('*', { count: 'exact', head: true }).like('sku', `${mark}-%`);
    if (error) throw new Refusal('count', error.code, error.message);
    return count ?? 0;
  };

  const job = await desk.upload('items', 'supplier.csv', file);
  const checked = await desk.run('process-import-job', { job_id: job.id });
  const applied = await desk.run('apply-import-job', { job_id: job.id });
  const there = await found();
  const undone = await desk.run('rollback-import-job', { job_id: job.id });
  return {
    valid: checked.stats.valid_rows,
    wrong: checked.errors.map((e) => `${e.line} ${e.column}`),
    imported: applied.imported_count,
    found: there,
    rolledBack: undone.rolled_back,
    left: await found(),
  };
}

// refused is the code that an application branches on.
async function refused(desk: Desk): Promise<string[]> {
  const codes: string[] = [];
  const twice = await desk.client.from('zones').insert([
    { code: 'SAMPLE-TWICE', name: 'One' },
    { code: 'SAMPLE-TWICE', name: 'Two' },
  ]);
  codes.push(twice.error?.code ?? 'taken');
  try {
    await desk.say('hold_order', { order_id: '0190c000-0000-7000-8000-000000000001', reason: 'none' });
  } catch (error) {
    codes.push(error instanceof Refusal ? error.code : String(error));
  }
  return codes;
}

async function main(): Promise<void> {
  const desk = await Desk.open(setting('EMAIL'), setting('PASSWORD'));
  const waiting = await open(desk);
  const items = await catalogue(desk);
  if (!items.stocked) throw new Error('nothing is in stock');
  const snapshot = await desk.look('get-dashboard-snapshot-v2', { lightweight: true });
  const safety = await desk.look('safety-kpis', { days: 30 });
  const report = {
    waiting: waiting.length,
    lines: waiting.every((order) => order.lines > 0 && order.units > 0 && order.first !== ''),
    items,
    dashboard: { items: snapshot.inventory.metrics.total_items, zones: snapshot.zones.total },
    safety: { days: safety.date_range_days, open: safety.kpis.open_actions },
    states: await journey(desk, items.stocked.id),
    supplier: await supplier(desk),
    refused: await refused(desk),
  };
  await desk.close();
  console.log(JSON.stringify(report));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
