import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { beep } from '../lib/beep';
import { api, rpc, supabase } from '../lib/client';
import { nameOf, useCatalog, usePermissions, words, type Permissions } from '../lib/catalog';
import { collectionOf, itemOf, scan, sentenceOf, text, type Scanned } from '../lib/floor';
import { ago, date, number } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { next, useTrips } from '../lib/trip';
import type { Row } from '../database';
import { Badge, Button, Card, Empty, Head, LinkButton, Skeleton } from '../ui/basic';
import { Icon } from '../ui/icon';
import { ScanField, type Said } from '../ui/scan';
import { hrefOf } from '../ui/value';
import { fresh, useGreeting, useRows } from './home';

export function FloorPage() {
  const p = usePermissions();
  return p ? <Work p={p} /> : <Skeleton lines={6} />;
}

// Where a verb that a scan offers is said.
function hrefFor(verb: string, s: Scanned): string | null {
  const id = s.record?.id ?? '';
  switch (verb) {
    case 'receive':
      return s.kind === 'order'
        ? `/console/floor/receive?order=${id}`
        : `/console/floor/receive?item=${itemOf(s)?.id ?? ''}`;
    case 'claim_pick_list':
      return `/console/floor/pick/${id}`;
    case 'start_count':
      return s.kind === 'zone' ? `/console/floor/count?zone=${id}` : null;
    default:
      return null;
  }
}

// Where each kind of work is done.
const workPages: Record<string, (id: string) => string> = {
  pick: (id) => `/console/floor/pick/${id}`,
  put_away: (id) => `/console/floor/put/${id}`,
  count: (id) => `/console/floor/count/${id}`,
  replenish: (id) => hrefOf('replenish_tasks', id),
};

// Work is the start of those who work on the floor: scan something, or take the next task.
export function Work({ p }: { p: Permissions }) {
  const title = useGreeting();
  const { route } = useLocation();
  const catalog = useCatalog();
  const reads = (n: string) => !!p.collections[n]?.read;
  const floor = !!p.verbs?.['pick_line'];
  const picks = useRows(
    ['my-picks'],
    () =>
      supabase
        .from('pick_lists')
        .select('id,pick_no,status,priority,wave_no,assigned_worker_id,pick_lines(id,status)')
        .in('status', ['released', 'in_progress'])
        .order('assigned_worker_id', { nullsFirst: false })
        .order('priority')
        .limit(20),
    reads('pick_lists'),
  );
  const puts = useRows(
    ['my-putaways'],
    () =>
      supabase
        .from('putaway_tasks')
        .select('id,task_no,quantity,quantity_done,item:item_id(sku,name),from:from_zone_id(code)')
        .in('status', ['open', 'in_progress'])
        .order('id')
        .limit(20),
    floor && reads('putaway_tasks'),
  );
  const counts = useRows(
    ['my-counts'],
    () =>
      supabase
        .from('count_tasks')
        .select('id,count_no,due_on,status,zone:zone_id(code,name)')
        .in('status', ['open', 'counting', 'recount'])
        .order('due_on')
        .limit(20),
    floor && reads('count_tasks'),
  );
  const trips = useRows(
    ['my-trips'],
    () =>
      supabase
        .from('shipments')
        .select('id,shipment_no,status,stop_seq,eta')
        .in('status', ['ready', 'in_transit', 'exception'])
        .is('route_id', null)
        .order('stop_seq')
        .limit(20),
    p.role === 'driver' && reads('shipments'),
  );
  const routes = useTrips(['started', 'planned'], 20, p.role === 'driver' && reads('routes'));
  const tasks = useRows(
    ['my-actions'],
    () =>
      supabase
        .from('actions')
        .select('id,action_no,title,due_on,status')
        .in('status', ['open', 'in_progress'])
        .order('due_on')
        .limit(20),
    reads('actions'),
  );
  const checks = useRows(
    ['my-inspections'],
    () =>
      supabase
        .from('checklist_runs')
        .select('id,title,due_at,status')
        .in('status', ['scheduled', 'in_progress'])
        .or(`assignee_user_id.eq.${p.user_id},assignee_user_id.is.null`)
        .lte('due_at', new Date(Date.now() + 86_400_000).toISOString().slice(0, 13) + ':59:59Z')
        .order('assignee_user_id', { nullsFirst: false })
        .order('due_at')
        .limit(20),
    reads('checklist_runs') && !!p.collections['checklist_answers']?.create,
  );
  const points = useQuery({
    queryKey: ['engagement'],
    queryFn: () => api<{ total_points: number }>('/functions/v1/safety-engagement'),
    ...fresh,
  });
  const [found, setFound] = useState<Scanned | null>(null);
  const [said, setSaid] = useState<Said | null>(null);
  const [busy, setBusy] = useState(false);
  const take = async () => {
    setBusy(true);
    setSaid(null);
    try {
      const work = await rpc<{ kind?: string; task: Row | null; why: string }>('next_task', { claim: true });
      const to = work.kind ? workPages[work.kind] : undefined;
      if (to && work.task) route(to(work.task.id));
      else setSaid({ ok: true, text: _(work.why) });
    } catch (e) {
      setSaid({ ok: false, text: sentenceOf(e) });
    } finally {
      setBusy(false);
    }
  };
  const read = async (code: string) => {
    setBusy(true);
    try {
      const s = await scan(code);
      beep(true);
      setFound(s);
      setSaid(null);
    } catch (e) {
      beep(false);
      setFound(null);
      setSaid({ ok: false, text: sentenceOf(e) });
    } finally {
      setBusy(false);
    }
  };
  const line = (r: Row, href: string, name: string, note: string, state: unknown) => (
    <li key={r.id}>
      <a class="strong nobreak" href={href}>
        {name}
      </a>
      <span class="grow clip muted">{note}</span>
      <Badge state={state} />
    </li>
  );
  const records = found?.record ? collectionOf[found.kind] : undefined;
  return (
    <>
      <Head title={title} sub={_('Scan something, or take the next task.')}>
        {p.verbs?.['next_task'] ? (
          <Button size="big" icon="pick" onClick={() => void take()} busy={busy}>
            {_('Next task')}
          </Button>
        ) : null}
        {p.collections['incidents']?.create ? (
          <a class="btn primary big" href="/console/report">
            <Icon name="alert" />
            {_('Report something unsafe')}
          </a>
        ) : null}
      </Head>
      {p.verbs?.['scan'] ? <ScanField label={_('Scan or type any code')} put={read} said={said} busy={busy} /> : null}
      {found?.record && records ? (
        <Card
          title={`${words(found.kind)}: ${nameOf(catalog?.get(records), found.record)}`}
          actions={<a href={hrefOf(records, found.record.id)}>{_('Open the record')}</a>}
        >
          <div class="stack">
            <div class="row">
              {found.item ? <span>{nameOf(catalog?.get('items'), found.item)}</span> : null}
              {found.record['status'] ? <Badge state={found.record['status']} /> : null}
              {found.uom ? <span class="muted">{_('per {unit}', { unit: found.uom })}</span> : null}
              {found.record['available'] != null ? (
                <span class="muted">{_('{n} available', { n: number(Number(found.record['available'])) })}</span>
              ) : null}
            </div>
            <div class="row">
              {found.next.map((n) => {
                const to = hrefFor(n.verb, found);
                return to ? (
                  <LinkButton key={n.verb} kind="primary" size="big" href={to}>
                    {_(n.label)}
                  </LinkButton>
                ) : null;
              })}
            </div>
          </div>
        </Card>
      ) : null}
      <div class="halves">
        {reads('pick_lists') ? (
          <Card
            flush
            title={_('To pick')}
            actions={<span class="muted small">{plural(picks.data?.length ?? 0, '{n} list', '{n} lists')}</span>}
          >
            {picks.data?.length ? (
              <ul class="lines">
                {picks.data.map((r) => {
                  const all = (r['pick_lines'] as { status: string }[] | undefined) ?? [];
                  return line(
                    r,
                    floor ? `/console/floor/pick/${r.id}` : hrefOf('pick_lists', r.id),
                    text(r['pick_no']),
                    `${_('Priority {n}', { n: text(r['priority']) })}${all.length ? ` · ${_('{n} of {m} lines done', { n: all.filter((x) => x.status !== 'pending').length, m: all.length })}` : ''}${r['assigned_worker_id'] ? '' : ` · ${_('nobody’s yet')}`}`,
                    r['status'],
                  );
                })}
              </ul>
            ) : (
              <Empty title={_('Nothing to pick')} icon="check" />
            )}
          </Card>
        ) : null}
        {floor ? (
          <Card
            flush
            title={_('To put away')}
            actions={
              p.verbs?.['receive'] ? (
                <LinkButton size="small" icon="download" href="/console/floor/receive">
                  {_('Receive')}
                </LinkButton>
              ) : null
            }
          >
            {puts.data?.length ? (
              <ul class="lines">
                {puts.data.map((r) =>
                  line(
                    r,
                    `/console/floor/put/${r.id}`,
                    text(r['task_no']),
                    `${number(Number(r['quantity']) - Number(r['quantity_done'] ?? 0))} × ${text((r['item'] as Row | null)?.['sku'])} · ${text((r['from'] as Row | null)?.['code'])}`,
                    'open',
                  ),
                )}
              </ul>
            ) : (
              <Empty title={_('Nothing to put away')} icon="check" />
            )}
          </Card>
        ) : null}
        {floor ? (
          <Card
            flush
            title={_('To count')}
            actions={
              p.verbs?.['start_count'] ? (
                <LinkButton size="small" icon="plus" href="/console/floor/count">
                  {_('Count a place')}
                </LinkButton>
              ) : null
            }
          >
            {counts.data?.length ? (
              <ul class="lines">
                {counts.data.map((r) =>
                  line(
                    r,
                    `/console/floor/count/${r.id}`,
                    text((r['zone'] as Row | null)?.['code']),
                    `${text(r['count_no'])}${r['due_on'] ? ` · ${date(r['due_on'])}` : ''}`,
                    r['status'],
                  ),
                )}
              </ul>
            ) : (
              <Empty title={_('Nothing to count')} icon="check" />
            )}
          </Card>
        ) : null}
        {p.role === 'driver' ? (
          <Card flush title={_('To drive')}>
            {routes.data?.length ? (
              <ul class="lines">
                {routes.data.map((t) => {
                  const to = next(t)?.destination;
                  return line(
                    t,
                    `/console/routes/${t.id}`,
                    t.route_no,
                    `${date(t.date)} · ${to ? _('next: {place}', { place: to.name ?? to.city ?? '–' }) : _('every stop is done')}`,
                    t.status,
                  );
                })}
              </ul>
            ) : null}
            {routes.data?.length && !trips.data?.length ? null : trips.data?.length ? (
              <ul class="lines">
                {trips.data.map((r) =>
                  line(
                    r,
                    hrefOf('shipments', r.id),
                    text(r['shipment_no']),
                    r['eta'] ? ago(r['eta']) : '',
                    r['status'],
                  ),
                )}
              </ul>
            ) : (
              <Empty title={_('No trip is planned')} icon="truck" />
            )}
          </Card>
        ) : null}
        {checks.data?.length ? (
          <Card flush title={_('To inspect')}>
            <ul class="lines">
              {checks.data.map((r) =>
                line(r, `/console/inspections/${r.id}`, text(r['title']), ago(r['due_at']), r['status']),
              )}
            </ul>
          </Card>
        ) : null}
        <Card flush title={_('Safety actions')}>
          {tasks.data?.length ? (
            <ul class="lines">
              {tasks.data.map((r) =>
                line(
                  r,
                  hrefOf('actions', r.id),
                  text(r['action_no']),
                  `${text(r['title'])}${r['due_on'] ? ` · ${date(r['due_on'])}` : ''}`,
                  r['status'],
                ),
              )}
            </ul>
          ) : (
            <Empty title={_('Nothing is left to do')} icon="check" />
          )}
        </Card>
        <Card title={_('Your safety points')}>
          <div class="row">
            <span style={{ fontSize: '2rem', fontWeight: 650 }}>
              {points.data ? number(points.data.total_points) : '–'}
            </span>
            <span class="muted">{_('for reports, talks and checks')}</span>
          </div>
        </Card>
      </div>
    </>
  );
}
