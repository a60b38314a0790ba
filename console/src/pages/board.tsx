import { lazy, useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { rpc, supabase, want } from '../lib/client';
import { usePermissions, words, type Permissions } from '../lib/catalog';
import { ago, dateTime, number } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { queryClient, useQuery } from '../lib/query';
import type { Row } from '../database';
import { Badge, Button, Empty, Head, LinkButton, Problem, Segments, Skeleton } from '../ui/basic';
import { Icon } from '../ui/icon';
import { fail, toast } from '../ui/overlay';
import { Outcome } from '../ui/stop';
import { hrefOf } from '../ui/value';
import '../board.css';

const Routes = lazy(() => import('./routes').then((m) => m.Routes));
const PlanRoute = lazy(() => import('../ui/plan-route').then((m) => m.PlanRoute));

const columns = ['planned', 'packed', 'ready', 'in_transit', 'exception', 'arrived'] as const;

// What a lane shows before it is asked for the rest.
const firstCards = 40;

interface Shipment extends Row {
  shipment_no: string;
  status: string;
  direction: string;
  carrier: string | null;
  route_id: string | null;
  tracking_no: string | null;
  planned_at: string | null;
  eta: string | null;
  stop_seq: number | null;
  exception_code: string | null;
  origin: { name?: string; city?: string; lat?: number; lon?: number } | null;
  destination: { name?: string; city?: string; lat?: number; lon?: number } | null;
  driver: { id: string; worker: { name: string } | null } | null;
}

const due = (s: Shipment) => (s.status === 'in_transit' || s.status === 'exception' ? s.eta : s.planned_at);
const late = (s: Shipment) => s.status !== 'arrived' && !!due(s) && Date.parse(due(s) as string) < Date.now();

// routable reports whether a route of the own fleet may take it.
const routable = (s: Shipment) =>
  s.direction === 'outbound' && ['planned', 'packed', 'ready'].includes(s.status) && !s.carrier && !s.route_id;

// mayRead reports whether the caller sees a column of shipments.
const mayRead = (p: Permissions, column: string) => p.collections['shipments']?.read?.fields?.includes(column) ?? true;

// BoardPage shows the shipments under way, by what comes next or by who drives.
export function BoardPage() {
  const p = usePermissions();
  const { query, route } = useLocation();
  const seesDrivers = !!p && mayRead(p, 'driver_id');
  const by = (query['by'] === 'driver' && seesDrivers) || query['by'] === 'route' ? query['by'] : 'state';
  const way = query['way'] === 'inbound' ? 'inbound' : query['way'] === 'all' ? 'all' : 'outbound';
  const q = useQuery({
    queryKey: ['c', 'shipments', 'board', way, seesDrivers],
    enabled: !!p,
    queryFn: () => {
      let r = supabase
        .from('shipments')
        .select(
          `id,shipment_no,status,direction,carrier,route_id,tracking_no,planned_at,eta,stop_seq,exception_code,origin,destination${seesDrivers ? ',driver:driver_id(id,worker:worker_id(name))' : ''}`,
        )
        .in('status', [...columns]);
      if (way !== 'all') r = r.eq('direction', way);
      return want<Shipment[]>(r.order('planned_at').limit(500));
    },
    meta: { live: true },
  });
  const [chosen, setChosen] = useState<Set<string>>(new Set());
  const [planning, setPlanning] = useState(false);
  const [whole, setWhole] = useState<string[]>([]); // lanes of which every card is shown
  if (!p) return <Skeleton lines={8} />;
  const choosing = query['choose'] === '1' && p.verbs?.['plan_route'] === true && by !== 'route';
  const choice = choosing ? { on: chosen, put: setChosen } : undefined;
  const go = (next: Record<string, string>) =>
    route(
      `/console/shipments?${new URLSearchParams({ by, way, ...(choosing ? { choose: '1' } : {}), ...next })}`,
      true,
    );
  const list = q.data ?? [];
  // What left, or went on a route meanwhile, is no longer chosen.
  const taken = list.filter((s) => chosen.has(s.id) && routable(s)).map((s) => s.id);
  const drivers = [...new Map(list.map((s) => [s.driver?.id ?? '', s.driver?.worker?.name ?? ''])).entries()].sort(
    (a, b) => (a[0] ? a[1] : '~').localeCompare(b[0] ? b[1] : '~'),
  );
  const lanes: [string, string, Shipment[]][] =
    by === 'state'
      ? columns.map((c) => [c, words(c), list.filter((s) => s.status === c)])
      : drivers.map(([id, name]) => [
          id,
          id ? name || _('Driver') : _('Nobody drives these yet'),
          list.filter((s) => (s.driver?.id ?? '') === id).sort((a, b) => (a.stop_seq ?? 999) - (b.stop_seq ?? 999)),
        ]);
  const overdue = list.filter(late).length;
  return (
    <>
      <Head
        title={_('Shipment board')}
        sub={
          overdue
            ? _('{n} under way, {m} of them late', { n: number(list.length), m: number(overdue) })
            : _('{n} under way, none of them late', { n: number(list.length) })
        }
      >
        {p.verbs?.['plan_route'] && by !== 'route' ? (
          <Button
            icon="truck"
            aria-pressed={choosing}
            onClick={() => (setChosen(new Set()), go({ choose: choosing ? '' : '1' }))}
          >
            {_('Plan a route')}
          </Button>
        ) : null}
        <LinkButton icon="list" href="/console/c/shipments">
          {_('All shipments')}
        </LinkButton>
      </Head>
      <div class="row">
        <Segments
          label={_('Group by')}
          options={[
            ['state', _('By state')],
            ...(seesDrivers ? [['driver', _('By driver')] as [string, string]] : []),
            ['route', _('On a map')],
          ]}
          at={by}
          go={(v) => go({ by: v })}
        />
        <Segments
          label={_('Direction')}
          options={[
            ['outbound', _('Outbound')],
            ['inbound', _('Inbound')],
            ['all', _('Both')],
          ]}
          at={way}
          go={(v) => go({ way: v })}
        />
      </div>
      {choosing ? (
        <div class="row choosing" role="status">
          <span class="grow">
            {taken.length
              ? plural(taken.length, '{n} shipment is chosen', '{n} shipments are chosen')
              : _('Choose shipments that have no carrier and are on no route yet.')}
          </span>
          <Button kind="primary" disabled={!taken.length} onClick={() => setPlanning(true)}>
            {_('Plan the route')}
          </Button>
        </div>
      ) : null}
      {planning ? <PlanRoute chosen={taken} close={() => setPlanning(false)} /> : null}
      <Problem error={q.error} retry={() => void q.refetch()} />
      {q.isPending ? (
        <Skeleton lines={8} />
      ) : !list.length && !q.error ? (
        <Empty title={_('No shipment is under way')} icon="truck" />
      ) : by === 'route' ? (
        <Routes list={list} p={p} />
      ) : (
        <div class="board" tabIndex={0} role="region" aria-label={_('Shipment board')}>
          {lanes.map(([id, name, all]) => (
            <section key={id} aria-label={name}>
              <h2>
                {name} <span class="muted">{number(all.length)}</span>
              </h2>
              <ul>
                {all.slice(0, whole.includes(id) ? all.length : firstCards).map((s) => (
                  <Ship key={s.id} s={s} p={p} state={by === 'driver'} choice={routable(s) ? choice : undefined} />
                ))}
              </ul>
              {all.length > firstCards && !whole.includes(id) ? (
                <Button size="small" onClick={() => setWhole([...whole, id])}>
                  {_('Show {n} more', { n: number(all.length - firstCards) })}
                </Button>
              ) : null}
            </section>
          ))}
        </div>
      )}
    </>
  );
}

// Ship is one card: what, whither, when, and what can be done next.
function Ship({
  s,
  p,
  state,
  choice,
}: {
  s: Shipment;
  p: Permissions;
  state: boolean;
  choice?: { on: Set<string>; put: (to: Set<string>) => void };
}) {
  const [busy, setBusy] = useState(false);
  const may = (v: string) => p.verbs?.[v] === true;
  const there = s.direction === 'inbound' ? s.origin : s.destination;
  const again = () => void queryClient.invalidateQueries({ queryKey: ['c', 'shipments'] });
  const dispatch = async () => {
    setBusy(true);
    try {
      await rpc('dispatch', { shipment_id: s.id });
      toast(_('{no} is on its way', { no: s.shipment_no }));
      again();
    } catch (e) {
      fail(e);
    } finally {
      setBusy(false);
    }
  };
  const when = due(s);
  const out = s.direction === 'outbound';
  return (
    <li class={late(s) ? 'late' : ''}>
      <div class="row tight">
        {choice ? (
          <input
            type="checkbox"
            class="tick"
            aria-label={_('Choose {what}', { what: s.shipment_no })}
            checked={choice.on.has(s.id)}
            onChange={(e) => {
              const to = new Set(choice.on);
              if (e.currentTarget.checked) to.add(s.id);
              else to.delete(s.id);
              choice.put(to);
            }}
          />
        ) : null}
        <a class="strong" href={hrefOf('shipments', s.id)}>
          {s.shipment_no}
        </a>
        <span class="push" />
        {state ? <Badge state={s.status} /> : null}
      </div>
      <p class="clip">
        {s.stop_seq ? <span class="muted">{_('Stop {n}', { n: s.stop_seq })} · </span> : null}
        {there?.name ?? there?.city ?? '–'}
        {there?.name && there.city ? <span class="muted"> · {there.city}</span> : null}
      </p>
      <p class="row tight small muted">
        {s.driver ? <Icon name="user" size={14} /> : <Icon name="truck" size={14} />}
        <span class="clip">{s.driver?.worker?.name ?? s.carrier ?? (mayRead(p, 'driver_id') ? _('no carrier yet') : '–')}</span>
        {when ? (
          <span class={`push nobreak ${late(s) ? 'down strong' : ''}`} title={dateTime(when)}>
            {late(s) ? _('late: {when}', { when: ago(when) }) : ago(when)}
          </span>
        ) : null}
      </p>
      {s.exception_code ? <p class="small down">{words(s.exception_code.toLowerCase())}</p> : null}
      {out && s.status === 'ready' && may('dispatch') ? (
        <div class="row tight">
          <Button size="small" kind="primary" busy={busy} onClick={() => void dispatch()}>
            {_('Dispatch')}
          </Button>
        </div>
      ) : null}
      <Outcome s={s} p={p} />
    </li>
  );
}
