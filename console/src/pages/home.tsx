import { lazy } from 'preact-iso';
import { useEffect, useState } from 'preact/hooks';
import { claimsOf } from '../lib/claims';
import { invoke, session, supabase, want } from '../lib/client';
import { usePermissions, words, type Permissions } from '../lib/catalog';
import { early, ofSite } from '../lib/early';
import { ago, briefMoney, number, percent } from '../lib/format';
import { _ } from '../lib/i18n';
import { queryClient, useQuery } from '../lib/query';
import { useStore } from '../lib/store';
import { Badge, Button, Card, Empty, Head, Meter, Problem, Skeleton } from '../ui/basic';
import { Tile } from '../ui/tile';
import type { Answer, Row } from '../database';

const Setup = lazy(() => import('./setup').then((m) => m.Setup));
const Work = lazy(() => import('./floor').then((m) => m.Work));

export const fresh = { meta: { live: true } };

// age says how old a figure is, and keeps saying it.
export function Age({ at, again }: { at?: string; again: () => void }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const t = setInterval(() => tick((n) => n + 1), 10_000);
    return () => clearInterval(t);
  }, []);
  return (
    <span class="row tight small muted nobreak">
      {at ? <span>{_('As of {when}', { when: ago(at) })}</span> : null}
      <Button kind="quiet" size="small" icon="refresh" label={_('Refresh')} onClick={again} />
    </span>
  );
}

type Figures = Answer<'site-overview'>;

const askForFigures = async () =>
  ((await early(session.get()?.access_token)) as Figures | undefined) ?? invoke('site-overview');

const reads = (p: Permissions, collection: string) => !!p.collections[collection]?.read;

function claimsRole(): string {
  const s = session.get();
  return s ? (claimsOf(s).tenant_role ?? '') : '';
}

// The figures are asked for as soon as it is known who asks, before anything is drawn.
function ahead(): void {
  if (session.get() === undefined) return;
  waiting();
  if (ofSite(claimsRole())) void queryClient.prefetchQuery({ queryKey: ['overview'], queryFn: askForFigures });
}
const waiting = session.watch(ahead);
ahead();

// Home is the overview, made for what the person does.
export function Home() {
  const p = usePermissions();
  const role = p?.role ?? claimsRole();
  // The figures need not wait for all that the role may do.
  if (ofSite(role)) return <Overview p={p} role={role} />;
  if (!p) return <Skeleton lines={6} />;
  return role === 'client' ? <Consigned p={p} /> : <Work p={p} />;
}

// Consigned is the overview of a client, who sees its own goods alone: no figures of the site.
function Consigned({ p }: { p: Permissions }) {
  const title = useGreeting();
  return (
    <>
      <Head title={title} />
      {reads(p, 'orders') ? <OwnLate /> : null}
    </>
  );
}

export function useGreeting(): string {
  const s = useStore(session);
  const name = String(s?.user.user_metadata['name'] ?? '').split(' ')[0];
  return name ? _('Hello, {name}', { name }) : _('Overview');
}

function Overview({ p, role }: { p?: Permissions; role: string }) {
  const overview = useQuery({ queryKey: ['overview'], queryFn: askForFigures, ...fresh });
  const again = () => void queryClient.invalidateQueries({ predicate: (q) => q.meta?.['live'] === true });
  const s = overview.data;
  const k = s?.safety.kpis;
  const worth = s?.inventory.metrics.total_stock_value;
  const window = windowOf(s);
  const title = useGreeting();
  const safetyFirst = role === 'safety';
  const warehouse = (
    <section class="stack tight" aria-label={_('Warehouse')}>
      <h2>{_('Warehouse')}</h2>
      <div class="tiles">
        <Tile
          name={_('Low stock')}
          icon="box"
          value={s?.inventory.metrics.low_stock_count}
          kind={s?.inventory.metrics.low_stock_count ? 'warn' : ''}
          note={s ? _('of {n} items', { n: number(s.inventory.metrics.total_items) }) : ''}
          href="/console/c/items?f=low_stock.is.true&order=available.asc"
        />
        <Tile
          name={_('Pick lists under way')}
          icon="pick"
          value={s?.pick_lists.active}
          note={_('released or being picked')}
          href="/console/c/pick_lists?f=status.in.(released,in_progress)"
        />
        <Tile
          name={_('Shipments under way')}
          icon="truck"
          value={s?.shipments.active}
          note={
            s ? _('{n} on the road, {m} done today', { n: s.shipments.in_transit, m: s.shipments.completed_today }) : ''
          }
          href="/console/c/shipments?f=status.in.(planned,packed,ready,in_transit,arrived,exception)"
        />
        {worth === null ? null : (
          <Tile
            name={_('Stock value')}
            icon="gauge"
            value={worth}
            show={briefMoney}
            note={s ? _('health {n} of 100', { n: number(s.inventory.health.score, 0) }) : ''}
            href="/console/c/items?order=stock_value.desc"
          />
        )}
      </div>
    </section>
  );
  const safety = (
    <section class="stack tight" aria-label={_('Safety')}>
      <h2>{_('Safety')}</h2>
      <div class="tiles">
        <Tile
          name={_('Open incidents')}
          icon="alert"
          value={s?.safety.metrics.open_incidents}
          note={k ? _('{n} reports in 30 days', { n: number(k.tsr) }) : ''}
          href="/console/c/incidents?f=status.not.in.(closed,void)"
        />
        <Tile
          name={_('Critical incidents')}
          icon="bolt"
          value={k?.critical_incidents}
          kind={k?.critical_incidents ? 'bad' : ''}
          note={_('in 30 days')}
          href={`/console/c/incidents?f=severity.eq.critical&f=status.neq.void${window('reported_at')}`}
        />
        <Tile
          name={_('Overdue actions')}
          icon="clock"
          value={k?.overdue_actions}
          kind={k?.overdue_actions ? 'bad' : ''}
          note={k ? _('of {n} open', { n: number(k.open_actions) }) : ''}
          href={`/console/c/actions?f=status.in.(open,in_progress)&f=due_at.lt.${s?.timestamp ?? ''}&order=due_at.asc`}
        />
        <Tile
          name={_('Inspections done in time')}
          icon="shield"
          value={k?.checklist_compliance}
          show={(n) => percent(n)}
          kind={k && k.checklist_compliance < 90 ? 'warn' : ''}
          note={_('in 30 days')}
          href={`/console/c/checklist_runs?order=due_at.desc${window('due_at')}`}
        />
      </div>
    </section>
  );
  return (
    <>
      <Head title={title} sub={_('What needs somebody today, and how the site is doing.')}>
        <Age at={s?.timestamp} again={again} />
      </Head>
      <Problem error={overview.error} retry={again} />
      {p && (role === 'owner' || role === 'admin') ? <Setup p={p} /> : null}
      {safetyFirst ? safety : warehouse}
      {safetyFirst ? warehouse : safety}
      {p ? (
        <div class="split">
          <div class="stack">
            {reads(p, 'orders') ? <Late rows={s?.orders.late_orders} before={s?.timestamp} /> : null}
            {reads(p, 'incidents') ? <Recent rows={s?.safety.recent_incidents} /> : null}
          </div>
          <div class="stack">
            {reads(p, 'zones') ? <Fullest rows={s?.zones.fullest} /> : null}
            {s ? <Kinds by={s.safety.by_category} within={window('reported_at')} /> : null}
          </div>
        </div>
      ) : (
        <Skeleton lines={6} />
      )}
    </>
  );
}

export function useRows(
  key: unknown[],
  ask: () => PromiseLike<{ data: Row[] | null; error: unknown }>,
  enabled: boolean,
) {
  return useQuery({ queryKey: key, queryFn: () => want(ask()), enabled, ...fresh });
}

// late is the filter of the orders whose promise is past.
const late = (before: string) =>
  `f=type.in.(outbound,transfer)&f=status.in.(confirmed,in_progress,on_hold)&f=promised_at.lt.${before}`;

// OwnLate are the late orders of a client, for whom there are no figures of the site.
function OwnLate() {
  const [now] = useState(() => new Date().toISOString());
  const q = useRows(
    ['late'],
    () =>
      supabase
        .from('orders')
        .select('id,order_no,party_name,promised_at,status,stage')
        .in('type', ['outbound', 'transfer'])
        .in('status', ['confirmed', 'in_progress', 'on_hold'])
        .lt('promised_at', now)
        .order('promised_at')
        .limit(6),
    true,
  );
  return <Late rows={q.data} before={now} error={q.error} />;
}

// Late are the orders whose day has come, the oldest promise first.
function Late({ rows, before, error }: { rows?: Row[]; before?: string; error?: unknown }) {
  return (
    <Card
      flush
      title={_('Late orders')}
      actions={
        <a href={`/console/c/orders?${late(before ?? new Date().toISOString())}&order=promised_at.asc`}>
          {_('All late orders')}
        </a>
      }
    >
      <Problem error={error} />
      {!rows ? (
        <div class="body">
          <Skeleton lines={4} />
        </div>
      ) : rows.length ? (
        <ul class="lines">
          {rows.map((o) => (
            <li key={o.id}>
              <a class="strong nobreak" href={`/console/c/orders/${o.id}`}>
                {String(o['order_no'])}
              </a>
              <span class="grow clip">{String(o['party_name'] ?? '')}</span>
              <span class="small down nobreak">{ago(o['promised_at'])}</span>
              <Badge state={o['stage'] ?? o['status']} />
            </li>
          ))}
        </ul>
      ) : (
        <Empty title={_('No order is late')} icon="check" />
      )}
    </Card>
  );
}

function Recent({ rows }: { rows?: Row[] }) {
  return (
    <Card
      flush
      title={_('Recent incidents')}
      actions={<a href="/console/c/incidents?f=status.neq.void&order=reported_at.desc">{_('All incidents')}</a>}
    >
      {!rows ? (
        <div class="body">
          <Skeleton lines={4} />
        </div>
      ) : (
        <ul class="lines">
          {rows.map((i) => (
            <li key={i.id}>
              <Badge state={i['severity']} />
              <a class="grow clip" href={`/console/c/incidents/${i.id}`}>
                {String(i['title'])}
              </a>
              <span class="small muted nobreak">{ago(i['occurred_at'])}</span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Fullest({ rows }: { rows?: Row[] }) {
  return (
    <Card
      flush
      title={_('Fullest places')}
      actions={<a href="/console/c/zones?f=utilization.gte.85&order=utilization.desc">{_('All above 85 %')}</a>}
    >
      {!rows ? (
        <div class="body">
          <Skeleton lines={4} />
        </div>
      ) : (
        <ul class="lines">
          {rows.map((z) => (
            <li key={z.id}>
              <a class="strong nobreak" href={`/console/c/zones/${z.id}`}>
                {String(z['code'])}
              </a>
              <span class="grow">
                <Meter value={Number(z['utilization'])} label={_('Filled: {code}', { code: String(z['code']) })} />
              </span>
              <span class="num nobreak" style={{ minInlineSize: '56px' }}>
                {percent(Number(z['utilization']), 0)}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

// windowOf makes the filter of what the figures count: those of the days before they were taken.
function windowOf(s?: Figures): (field: string) => string {
  if (!s) return () => '';
  const from = new Date(Date.parse(s.timestamp) - s.safety.date_range_days * 86_400_000).toISOString();
  return (field) => `&f=${field}.gt.${from}&f=${field}.lte.${s.timestamp}`;
}

function Kinds({ by, within }: { by: Record<string, number>; within: string }) {
  const all = Object.entries(by).sort((a, b) => b[1] - a[1]);
  const most = Math.max(1, ...all.map(([, n]) => n));
  return (
    <Card flush title={_('Reports by kind, 30 days')}>
      <ul class="lines">
        {all.map(([kind, n]) => (
          <li key={kind}>
            <a class="grow" href={`/console/c/incidents?f=kind.eq.${kind}&f=status.neq.void${within}`}>
              {words(kind)}
            </a>
            <span style={{ inlineSize: '40%' }}>
              <Meter value={(n / most) * 100} warn={1000} bad={1000} label={words(kind)} />
            </span>
            <span class="num" style={{ minInlineSize: '32px' }}>
              {number(n)}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
