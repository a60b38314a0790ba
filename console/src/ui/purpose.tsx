import type { ComponentChildren } from 'preact';
import { records, want } from '../lib/client';
import { titleOf, visible, type Catalog, type Collection, type Field, type Permissions } from '../lib/catalog';
import { number } from '../lib/format';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { selection, type Condition } from '../lib/records';
import type { Row } from '../database';
import { Card, Meter, Note, Problem, Skeleton } from './basic';
import { partsOf, purposes, type Part } from './purposes';
import { Rows } from './related';
import { OfSeen } from './seen';
import { hrefOf, Value } from './value';
import '../item.css';

const most = 12;

const aliasOf = (x: Part, i: number) => `part${i}_${x.of}`;

// usePurpose reads all parts of a record's page in one request.
function usePurpose(c: Collection, r: Row, parts: Part[], catalog: Catalog, p: Permissions) {
  return useQuery({
    queryKey: ['c', c.name, 'purpose', r.id],
    queryFn: async () => {
      const embedded = parts.map(
        (x, i) =>
          `${aliasOf(x, i)}:${x.of}!${x.by}(${[selection(catalog.get(x.of) as Collection, columnsIn(x, p), catalog, p), ...(x.also ?? [])].join(',')})`,
      );
      let q = records(c.name)
        .select(['id', ...embedded].join(','))
        .eq('id', r.id);
      parts.forEach((x, i) => {
        const referencedTable = aliasOf(x, i);
        for (const [field, op, value] of x.where ?? []) q = q.filter(`${referencedTable}.${field}`, op, value);
        const [field = 'id', way] = (x.order ?? 'id.desc').split('.');
        q = q
          .order(field, { referencedTable, ascending: way !== 'desc' })
          .limit((x.limit ?? most) + 1, { referencedTable });
      });
      return want<Row | null>(q.maybeSingle());
    },
    enabled: parts.length > 0,
    meta: { live: true },
  });
}

// columnsIn are the columns of a part that the reader may see.
function columnsIn(x: Part, p: Permissions): string[] {
  const seen = p.collections[x.of]?.read?.fields;
  return x.columns.split(',').filter((n) => !seen || seen.includes(n));
}

// Purpose is what a person opens a record for: what is to be known of it first, and what hangs on it.
export function Purpose({ c, r, catalog, p }: { c: Collection; r: Row; catalog: Catalog; p: Permissions }) {
  const made = purposes[c.name];
  const parts = partsOf(c.name, p);
  const q = usePurpose(c, r, parts, catalog, p);
  if (!made) return null;
  const fields = visible(c, p.collections[c.name]);
  const key = made.key.split(',').flatMap((n) => fields.filter((f) => f.name === n && r[n] != null && r[n] !== ''));
  const waits = made.waits?.(r);
  const known = parts.map((x, i) => [x, (q.data?.[aliasOf(x, i)] ?? []) as Row[]] as const);
  const full = known.filter(([x, rows], i) => rows.length > 0 || i === 0 || x.always);
  return (
    <>
      {waits ? <Note kind="warn">{_(waits)}</Note> : null}
      {key.length ? (
        <Card flush>
          <dl class="figures key">
            {key.map((f) => (
              <Figure key={f.name} c={c} f={f} r={r} />
            ))}
          </dl>
          {made.progress && q.data ? (
            <Progress p={p} list={known[0]?.[1] ?? []} part={parts[0] as Part} {...made.progress} />
          ) : null}
        </Card>
      ) : null}
      <Problem error={q.error} retry={() => void q.refetch()} />
      {parts.length && q.isPending ? <Skeleton lines={4} /> : null}
      {q.data
        ? besideEachOther(full).map((group) => (
            <div key={group[0]?.[0].of} class={group.length > 1 ? 'halves' : 'stack'}>
              {group.map(([x, rows]) => (
                <PartCard key={x.of + x.by} x={x} rows={rows} r={r} catalog={catalog} p={p} />
              ))}
            </div>
          ))
        : null}
    </>
  );
}

type Known = readonly [Part, Row[]];

// besideEachOther groups narrow parts that follow one another, two and two.
function besideEachOther(list: Known[]): Known[][] {
  const out: Known[][] = [];
  for (const known of list) {
    const last = out[out.length - 1];
    if (known[0].half && last?.length === 1 && last[0]?.[0].half) last.push(known);
    else out.push([known]);
  }
  return out;
}

function Figure({ c, f, r }: { c: Collection; f: Field; r: Row }) {
  const late =
    ['eta', 'due_on', 'service_due_on', 'inspection_due_on', 'expires_on'].includes(f.name) &&
    isPast(r[f.name]) &&
    !isOver(r['status']);
  return (
    <div>
      <dt>{_(f.label)}</dt>
      <dd class={late ? 'down' : ''}>
        <Value c={c} f={f} row={r} />
      </dd>
    </div>
  );
}

const isPast = (v: unknown) => new Date(String(v)).getTime() < Date.now() - (String(v).length === 10 ? 86_400_000 : 0);
const isOver = (state: unknown) =>
  ['completed', 'delivered', 'received', 'returned', 'cancelled', 'approved', 'retired'].includes(String(state));

// Progress is how far the lines are, as far as they are on the page.
function Progress({
  p,
  list,
  part,
  want: asked,
  have,
  said,
}: {
  p: Permissions;
  list: Row[];
  part: Part;
  want: string;
  have: string;
  said: string;
}) {
  if (list.length > (part.limit ?? most)) return null;
  const sum = (name: string) => list.reduce((n, l) => n + Number(l[name] ?? 0), 0);
  const all = sum(asked);
  if (!all) return null;
  return (
    <div class="body stack tight">
      <div class="row">
        <span class="muted">{_(said)}</span>
        <b>{_('{n} of {m}', { n: number(sum(have)), m: number(all) })}</b>
        <OfSeen p={p} of={part.of} fields={[asked, have]} />
      </div>
      <Meter value={(sum(have) / all) * 100} warn={1000} bad={1000} label={_('How far it is')} />
    </div>
  );
}

// hrefOfPart leads to the list of what a part shows.
function hrefOfPart(x: Part, r: Row): string {
  const conditions: Condition[] = [[x.by, 'eq', r.id], ...(x.where ?? []).filter(([f]) => !f.includes('.'))];
  const q = new URLSearchParams(conditions.map((w) => ['f', w.join('.')]));
  if (x.order) q.set('order', x.order);
  return `/console/c/${x.of}?${q}`;
}

function PartCard({ x, rows, r, catalog, p }: { x: Part; rows: Row[]; r: Row; catalog: Catalog; p: Permissions }) {
  const c = catalog.get(x.of) as Collection;
  const limit = x.limit ?? most;
  const shown = columnsIn(x, p);
  const isCut = rows.length > limit;
  const actions: ComponentChildren = (
    <>
      <OfSeen p={p} of={x.of} />
      <a class="small" href={hrefOfPart(x, r)}>
        {_('Show all')}
      </a>
    </>
  );
  return (
    <Card flush title={x.title ? _(x.title) : titleOf(c)} actions={actions}>
      {!rows.length ? (
        <p class="body muted">{_('None')}</p>
      ) : x.person ? (
        <Sent rows={rows.slice(0, limit)} p={p} isCut={isCut} />
      ) : (
        <Rows c={c} rows={rows.slice(0, limit)} shown={shown} />
      )}
      {isCut ? (
        <p class="body muted small">{_('The first {n} stand here; all of them are in the list.', { n: limit })}</p>
      ) : null}
    </Card>
  );
}

interface Sale {
  id: string;
  order_no: string;
  party_name: string | null;
}

// Sent are the orders that goods left with, and whose they are, each once. Of a list that is cut no sum is told.
function Sent({ rows, p, isCut }: { rows: Row[]; p: Permissions; isCut: boolean }) {
  const orders = rows.flatMap((l) =>
    (l['sale'] as { order: Sale | null } | null)?.order
      ? [[(l['sale'] as { order: Sale }).order, Number(l['quantity'])] as const]
      : [],
  );
  const each = new Map<string, { order: Sale; n: number }>();
  for (const [order, n] of orders) each.set(order.id, { order, n: (each.get(order.id)?.n ?? 0) + n });
  return (
    <ul class="lines">
      {[...each.values()].map(({ order, n }) => (
        <li key={order.id}>
          <a class="strong nobreak" href={hrefOf('orders', order.id)}>
            {order.order_no}
          </a>
          <span class="grow">{order.party_name}</span>
          {isCut ? null : (
            <>
              <OfSeen p={p} of="reservations" fields={['quantity']} />
              <span class="num">{number(n)}</span>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}
