import { useEffect, useState } from 'preact/hooks';
import { api, invoke, session, supabase, want } from '../lib/client';
import { usePermissions, words, type Permissions } from '../lib/catalog';
import { ago, date, number, percent } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { queryClient, useQuery } from '../lib/query';
import { useStore } from '../lib/store';
import { Badge, Button, Card, Empty, Head, Meter, Problem, Skeleton } from '../ui/basic';
import { Icon } from '../ui/icon';
import { Tile } from '../ui/tile';
import type { Row } from '../database';

interface Snapshot {
  timestamp: string;
  zones: { total: number };
  inventory: { metrics: { total_items: number; low_stock_count: number; total_stock_value: number } };
  pick_lists: { active: number };
  shipments: { active: number };
  drivers: { active: number };
  safety: { metrics: { total_incidents: number; critical_incidents: number; open_incidents: number } };
  import: { metrics: { total_jobs: number; failed_jobs: number; completed_jobs: number } };
}

interface Kpis {
  timestamp: string;
  date_range_days: number;
  kpis: { tsr: number; critical_incidents: number; open_actions: number; overdue_actions: number; checklist_compliance: number };
  distribution: { by_category: Record<string, number>; by_severity: Record<string, number> };
}

interface Summary {
  inventory: { health: { score: number; fast_movers: number; slow_stock: number; dead_stock: number; critical_items: number } };
  shipments: { stats: { total: number; active: number; in_transit: number; completed_today: number } };
}

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

// Home is the overview, made for what the person does.
export function Home() {
  const p = usePermissions();
  if (!p) return <Skeleton lines={6} />;
  if (p.role === 'operator' || p.role === 'driver') return <Work p={p} />;
  return <Overview p={p} />;
}

function useGreeting(): string {
  const s = useStore(session);
  const name = String(s?.user.user_metadata['name'] ?? '').split(' ')[0];
  return name ? _('Hello, {name}', { name }) : _('Overview');
}

function Overview({ p }: { p: Permissions }) {
  const may = (f: string) => p.functions[f] === true;
  const snapshot = useQuery({ queryKey: ['snapshot'], queryFn: () => invoke<Snapshot>('get-dashboard-snapshot-v2?lightweight=true'), ...fresh });
  const kpis = useQuery({ queryKey: ['kpis'], queryFn: () => invoke<Kpis>('safety-kpis?days=30'), enabled: may('safety-kpis'), ...fresh });
  const summary = useQuery({ queryKey: ['summary'], queryFn: () => invoke<Summary>('admin-dashboard-summary'), enabled: may('admin-dashboard-summary'), ...fresh });
  const again = () => void queryClient.invalidateQueries({ predicate: (q) => q.meta?.['live'] === true });
  const s = snapshot.data;
  const k = kpis.data?.kpis;
  const title = useGreeting();
  const safetyFirst = p.role === 'safety';
  const warehouse = (
    <section class="stack tight" aria-label={_('Warehouse')}>
      <h2>{_('Warehouse')}</h2>
      <div class="tiles">
        <Tile name={_('Low stock')} icon="box" value={s?.inventory.metrics.low_stock_count} kind={s?.inventory.metrics.low_stock_count ? 'warn' : ''} note={s ? _('of {n} items', { n: number(s.inventory.metrics.total_items) }) : ''} href="/console/c/items?f=low_stock.is.true&order=available.asc" />
        <Tile name={_('Pick lists under way')} icon="pick" value={s?.pick_lists.active} note={_('released or being picked')} href="/console/c/pick_lists?f=status.in.(released,in_progress)" />
        <Tile name={_('Shipments under way')} icon="truck" value={s?.shipments.active} note={summary.data ? _('{n} on the road, {m} done today', { n: summary.data.shipments.stats.in_transit, m: summary.data.shipments.stats.completed_today }) : ''} href="/console/c/shipments?f=status.in.(planned,packed,ready,in_transit,arrived,exception)" />
        <Tile name={_('Stock value')} icon="gauge" value={s?.inventory.metrics.total_stock_value} note={summary.data ? _('health {n} of 100', { n: number(summary.data.inventory.health.score, 0) }) : ''} href="/console/c/items?order=stock_value.desc" />
      </div>
    </section>
  );
  const safety = (
    <section class="stack tight" aria-label={_('Safety')}>
      <h2>{_('Safety')}</h2>
      <div class="tiles">
        <Tile name={_('Open incidents')} icon="alert" value={s?.safety.metrics.open_incidents} note={k ? _('{n} reports in 30 days', { n: number(k.tsr) }) : ''} href="/console/c/incidents?f=status.not.in.(closed,void)" />
        <Tile name={_('Critical incidents')} icon="bolt" value={k ? k.critical_incidents : s?.safety.metrics.critical_incidents} kind={k?.critical_incidents ? 'bad' : ''} note={_('in 30 days')} href="/console/c/incidents?f=severity.eq.critical" />
        <Tile name={_('Overdue actions')} icon="clock" value={k?.overdue_actions} kind={k?.overdue_actions ? 'bad' : ''} note={k ? _('of {n} open', { n: number(k.open_actions) }) : ''} href="/console/c/actions?f=status.in.(open,in_progress)&order=due_on.asc" />
        <Tile name={_('Inspections done in time')} icon="shield" value={k?.checklist_compliance} show={(n) => percent(n)} kind={k && k.checklist_compliance < 90 ? 'warn' : ''} note={_('in 30 days')} href="/console/c/checklist_runs?order=due_at.desc" />
      </div>
    </section>
  );
  return (
    <>
      <Head title={title} sub={_('What needs somebody today, and how the site is doing.')}>
        <Age at={s?.timestamp} again={again} />
      </Head>
      <Problem error={snapshot.error} retry={again} />
      {safetyFirst ? safety : warehouse}
      {safetyFirst ? warehouse : safety}
      <div class="split">
        <div class="stack">
          <Late p={p} />
          <Recent p={p} />
        </div>
        <div class="stack">
          <Fullest p={p} />
          {kpis.data ? <Kinds by={kpis.data.distribution.by_category} /> : null}
        </div>
      </div>
    </>
  );
}

function useRows(key: unknown[], ask: () => PromiseLike<{ data: Row[] | null; error: unknown }>, enabled: boolean) {
  return useQuery({ queryKey: key, queryFn: () => want(ask()), enabled, ...fresh });
}

// Late are the orders whose day has come, the oldest promise first.
function Late({ p }: { p: Permissions }) {
  const now = new Date().toISOString();
  const filter = `f=type.eq.outbound&f=status.in.(confirmed,in_progress,on_hold)&f=promised_at.lt.${now.slice(0, 10)}`;
  const q = useRows(
    ['late'],
    () => supabase.from('orders').select('id,order_no,party_name,promised_at,status,stage').eq('type', 'outbound').in('status', ['confirmed', 'in_progress', 'on_hold']).lt('promised_at', now).order('promised_at').limit(6),
    !!p.collections['orders']?.read,
  );
  if (!p.collections['orders']?.read) return null;
  return (
    <Card flush title={_('Late orders')} actions={<a href={`/console/c/orders?${filter}&order=promised_at.asc`}>{_('All late orders')}</a>}>
      <Problem error={q.error} />
      {q.isPending ? (
        <div class="body">
          <Skeleton lines={4} />
        </div>
      ) : q.data?.length ? (
        <ul class="lines">
          {q.data.map((o) => (
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

function Recent({ p }: { p: Permissions }) {
  const q = useRows(['recent-incidents'], () => supabase.from('incidents').select('id,incident_no,title,severity,status,occurred_at').order('occurred_at', { ascending: false }).limit(6), !!p.collections['incidents']?.read);
  if (!p.collections['incidents']?.read) return null;
  return (
    <Card flush title={_('Recent incidents')} actions={<a href="/console/c/incidents?order=occurred_at.desc">{_('All incidents')}</a>}>
      {q.isPending ? (
        <div class="body">
          <Skeleton lines={4} />
        </div>
      ) : (
        <ul class="lines">
          {(q.data ?? []).map((i) => (
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

function Fullest({ p }: { p: Permissions }) {
  const q = useRows(['fullest'], () => supabase.from('zones').select('id,code,name,utilization').eq('kind', 'bin').not('utilization', 'is', null).order('utilization', { ascending: false }).limit(6), !!p.collections['zones']?.read);
  if (!p.collections['zones']?.read) return null;
  return (
    <Card flush title={_('Fullest places')} actions={<a href="/console/c/zones?f=utilization.gte.85&order=utilization.desc">{_('All above 85 %')}</a>}>
      {q.isPending ? (
        <div class="body">
          <Skeleton lines={4} />
        </div>
      ) : (
        <ul class="lines">
          {(q.data ?? []).map((z) => (
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

function Kinds({ by }: { by: Record<string, number> }) {
  const all = Object.entries(by).sort((a, b) => b[1] - a[1]);
  const most = Math.max(1, ...all.map(([, n]) => n));
  return (
    <Card flush title={_('Reports by kind, 30 days')}>
      <ul class="lines">
        {all.map(([kind, n]) => (
          <li key={kind}>
            <a class="grow" href={`/console/c/incidents?f=kind.eq.${kind}`}>
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

// Work is the start of those who work on the floor: their own tasks, large.
function Work({ p }: { p: Permissions }) {
  const title = useGreeting();
  const picks = useRows(['my-picks'], () => supabase.from('pick_lists').select('id,pick_no,status,priority').in('status', ['released', 'in_progress']).order('priority').limit(20), !!p.collections['pick_lists']?.read);
  const trips = useRows(['my-trips'], () => supabase.from('shipments').select('id,shipment_no,status,stop_seq,eta').in('status', ['ready', 'in_transit', 'exception']).order('stop_seq').limit(20), p.role === 'driver' && !!p.collections['shipments']?.read);
  const tasks = useRows(['my-actions'], () => supabase.from('actions').select('id,action_no,title,due_on,status').in('status', ['open', 'in_progress']).order('due_on').limit(20), !!p.collections['actions']?.read);
  const points = useQuery({ queryKey: ['engagement'], queryFn: () => api<{ total_points: number }>('/functions/v1/safety-engagement'), ...fresh });
  const line = (r: Row, name: string, collection: string, text: string, state: unknown) => (
    <li key={r.id}>
      <a class="strong nobreak" href={`/console/c/${collection}/${r.id}`}>
        {String(r[name])}
      </a>
      <span class="grow clip muted">{text}</span>
      <Badge state={state} />
    </li>
  );
  return (
    <>
      <Head title={title} sub={_('Your work, the most urgent first.')}>
        {p.collections['incidents']?.create ? (
          <a class="btn primary big" href="/console/c/incidents/new">
            <Icon name="alert" />
            {_('Report something unsafe')}
          </a>
        ) : null}
      </Head>
      <div class="halves">
        {p.collections['pick_lists']?.read ? (
          <Card flush title={_('To pick')} actions={<span class="muted small">{plural(picks.data?.length ?? 0, '{n} list', '{n} lists')}</span>}>
            {picks.data?.length ? <ul class="lines">{picks.data.map((r) => line(r, 'pick_no', 'pick_lists', _('Priority {n}', { n: String(r['priority']) }), r['status']))}</ul> : <Empty title={_('Nothing to pick')} icon="check" />}
          </Card>
        ) : null}
        {p.role === 'driver' ? (
          <Card flush title={_('To drive')}>
            {trips.data?.length ? <ul class="lines">{trips.data.map((r) => line(r, 'shipment_no', 'shipments', r['eta'] ? ago(r['eta']) : '', r['status']))}</ul> : <Empty title={_('No trip is planned')} icon="truck" />}
          </Card>
        ) : null}
        <Card flush title={_('Safety actions')}>
          {tasks.data?.length ? <ul class="lines">{tasks.data.map((r) => line(r, 'action_no', 'actions', `${String(r['title'])}${r['due_on'] ? ` · ${date(r['due_on'])}` : ''}`, r['status']))}</ul> : <Empty title={_('Nothing is left to do')} icon="check" />}
        </Card>
        <Card title={_('Your safety points')}>
          <div class="row">
            <span style={{ fontSize: '2rem', fontWeight: 650 }}>{points.data ? number(points.data.total_points) : '–'}</span>
            <span class="muted">{_('for reports, talks and checks')}</span>
          </div>
        </Card>
      </div>
    </>
  );
}
