import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { records, rpc, supabase, want } from '../lib/client';
import { usePermissions, words, type Permissions } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { ago, dateTime, number } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { queryClient, useQuery } from '../lib/query';
import type { Row } from '../database';
import { Badge, Button, Card, Empty, Head, LinkButton, Problem, Segments, Skeleton } from '../ui/basic';
import { Ask } from '../ui/dialog';
import { Input, Select } from '../ui/form';
import { NumberInput } from '../ui/number';
import { toast } from '../ui/overlay';
import { OfSeen } from '../ui/seen';
import { hrefOf } from '../ui/value';
import '../records.css';
import '../work.css';

type Part = 'waves' | 'replenish' | 'returns';

interface Order extends Row {
  order_no: string;
  party_name: string | null;
  carrier: string | null;
  promised_at: string | null;
  stage: string;
  status: string;
  order_lines?: { reservations: { id: string; pick_lines: { id: string }[] }[] }[];
}

interface Wave extends Row {
  wave_no: string;
  status: string;
  order_ids: string[];
  released_at: string | null;
  created_at: string;
}

interface Task extends Row {
  task_no: string;
  status: string;
  quantity: number;
  quantity_done: number;
  item: { sku: string; name: string } | null;
  from: { code: string } | null;
  to: { code: string } | null;
}

interface ReturnLine extends Row {
  line_no: number;
  qty_ordered: number;
  qty_received: number;
  item: { sku: string; name: string } | null;
}

const again = () => void queryClient.invalidateQueries({ queryKey: ['c'] });

// PlanPage is what a planner does in the morning: say what is fetched together,
// have pick faces filled up, and judge what came back.
export function PlanPage() {
  const p = usePermissions();
  const { query, route } = useLocation();
  if (!p) return <Skeleton lines={8} />;
  const parts: [Part, string][] = [];
  if (p.collections['waves']?.read) parts.push(['waves', _('Waves')]);
  if (p.collections['replenish_tasks']?.read) parts.push(['replenish', _('Replenishment')]);
  if (p.verbs?.['receive_return']) parts.push(['returns', _('Returns')]);
  const at = parts.find(([id]) => id === query['part'])?.[0] ?? parts[0]?.[0];
  return (
    <>
      <Head
        title={_('Planning')}
        sub={_('What is fetched together, what has to be brought forward, and what came back.')}
      />
      <div class="row">
        {at ? (
          <Segments<Part>
            label={_('What is planned')}
            options={parts}
            at={at}
            go={(v) => route(`/console/plan?part=${v}`, true)}
          />
        ) : null}
      </div>
      {at === 'waves' ? (
        <Waves p={p} />
      ) : at === 'replenish' ? (
        <Replenish p={p} />
      ) : at === 'returns' ? (
        <Returns />
      ) : (
        <Empty title={_('Nothing to plan for your role')} />
      )}
    </>
  );
}

function useVerb() {
  const [busy, setBusy] = useState('');
  const [error, setError] = useState<unknown>(null);
  const act = async (name: string, f: () => Promise<string>) => {
    setBusy(name);
    setError(null);
    try {
      toast(await f());
      again();
    } catch (e) {
      setError(e);
    } finally {
      setBusy('');
    }
  };
  return { busy, error, act };
}

function Waves({ p }: { p: Permissions }) {
  const orders = useQuery({
    queryKey: ['c', 'orders', 'to-plan'],
    queryFn: () =>
      want<Order[]>(
        supabase
          .from('orders')
          .select(
            'id,order_no,party_name,carrier,promised_at,stage,status,order_lines(reservations(id,pick_lines(id)))',
          )
          .eq('order_lines.reservations.state', 'active')
          .is('order_lines.reservations.picked', false)
          .eq('order_lines.reservations.pick_lines.status', 'pending')
          .in('type', ['outbound', 'transfer'])
          .in('status', ['confirmed', 'in_progress'])
          .in('stage', ['allocated', 'part_allocated'])
          .order('promised_at')
          .limit(200),
      ),
    meta: { live: true },
  });
  const waves = useQuery({
    queryKey: ['c', 'waves', 'newest'],
    queryFn: () =>
      want<Wave[]>(
        supabase
          .from('waves')
          .select('id,wave_no,status,order_ids,released_at,created_at')
          .neq('status', 'cancelled')
          .order('id', { ascending: false })
          .limit(40),
      ),
    meta: { live: true },
  });
  const [picked, setPicked] = useState<Set<string>>(new Set());
  const { busy, error, act } = useVerb();
  const may = p.verbs?.['plan_wave'] === true;
  const planned = waves.data?.filter((w) => w.status === 'planned') ?? [];
  const released = waves.data?.filter((w) => w.status === 'released').slice(0, 8) ?? [];
  const taken = new Set(planned.flatMap((w) => w.order_ids));
  // An order waits while goods are reserved for it that no pick list fetches.
  const waiting = (orders.data ?? []).filter(
    (o) => !taken.has(o.id) && o.order_lines?.some((l) => l.reservations.some((r) => !r.pick_lines.length)),
  );
  const chosen = waiting.filter((o) => picked.has(o.id));
  const toggle = (id: string) =>
    setPicked((old) => new Set(old.has(id) ? [...old].filter((x) => x !== id) : [...old, id]));
  const carriers = [...new Set(waiting.map((o) => o.carrier).filter((c): c is string => !!c))].sort();
  const plan = () =>
    act('plan', async () => {
      const r = await rpc<{ wave: Wave; orders: Row[] }>('plan_wave', { order_ids: chosen.map((o) => o.id) });
      setPicked(new Set());
      return plural(r.orders.length, '{no} has {n} order', '{no} has {n} orders', { no: r.wave.wave_no });
    });
  const promise = () =>
    act('promise', async () => {
      const r = await rpc<{ orders: Row[]; looked_at: number }>('allocate_open', {});
      if (r.orders.length)
        return plural(r.orders.length, '{n} order was promised goods', '{n} orders were promised goods');
      return r.looked_at
        ? plural(
            r.looked_at,
            '{n} order was looked at and could be promised nothing',
            '{n} orders were looked at and none could be promised anything',
          )
        : _('No order waits for goods that are free');
    });
  return (
    <div class="split">
      <Card
        flush
        title={plural(waiting.length, '{n} order waits to be fetched', '{n} orders wait to be fetched')}
        actions={
          may ? (
            <>
              {carriers.length > 1 ? (
                <select
                  class="input"
                  style={{ inlineSize: 'auto' }}
                  aria-label={_('Choose those of a carrier')}
                  value=""
                  onChange={(e) =>
                    setPicked(
                      new Set(
                        waiting
                          .filter((o) => e.currentTarget.value === '*' || o.carrier === e.currentTarget.value)
                          .map((o) => o.id),
                      ),
                    )
                  }
                >
                  <option value="">{_('Choose')}</option>
                  <option value="*">{_('All')}</option>
                  {carriers.map((c) => (
                    <option key={c}>{c}</option>
                  ))}
                </select>
              ) : null}
              {p.verbs?.['allocate_open'] ? (
                <Button busy={busy === 'promise'} onClick={() => void promise()}>
                  {_('Promise what is free')}
                </Button>
              ) : null}
              <Button kind="primary" busy={busy === 'plan'} disabled={!chosen.length} onClick={() => void plan()}>
                {chosen.length
                  ? plural(chosen.length, 'Plan a wave of {n} order', 'Plan a wave of {n} orders')
                  : _('Plan a wave')}
              </Button>
            </>
          ) : null
        }
      >
        <Problem error={error ?? orders.error} />
        {orders.isPending ? (
          <div class="body">
            <Skeleton lines={6} />
          </div>
        ) : waiting.length ? (
          <div class="table stacks" tabIndex={0} role="region" aria-label={_('Orders to be fetched')}>
            <table>
              <thead>
                <tr>
                  <th scope="col">{_('Order')}</th>
                  <th scope="col">{_('For')}</th>
                  <th scope="col">{_('Carrier')}</th>
                  <th scope="col">{_('Promised')}</th>
                  <th scope="col">{_('Stage')}</th>
                </tr>
              </thead>
              <tbody>
                {waiting.map((o) => (
                  <tr key={o.id} aria-selected={picked.has(o.id)}>
                    <td>
                      <span class="row nowrap tight">
                        {may ? (
                          <input
                            type="checkbox"
                            class="tick"
                            aria-label={_('Choose {what}', { what: o.order_no })}
                            checked={picked.has(o.id)}
                            onChange={() => toggle(o.id)}
                          />
                        ) : null}
                        <a class="strong nobreak" href={hrefOf('orders', o.id)}>
                          {o.order_no}
                        </a>
                      </span>
                    </td>
                    <td data-label={_('For')}>{o.party_name}</td>
                    <td data-label={_('Carrier')}>{o.carrier}</td>
                    <td
                      data-label={_('Promised')}
                      class={o.promised_at && Date.parse(o.promised_at) < Date.now() ? 'down strong' : ''}
                      title={o.promised_at ? dateTime(o.promised_at) : ''}
                    >
                      {o.promised_at ? ago(o.promised_at) : ''}
                    </td>
                    <td>
                      <Badge state={o.stage} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        ) : orders.error ? null : (
          <Empty title={_('No order waits: everything that is reserved is being fetched')} icon="check" />
        )}
      </Card>
      <div class="stack">
        <Card flush title={_('Planned')}>
          {planned.length ? (
            <ul class="lines" aria-label={_('Planned')}>
              {planned.map((w) => (
                <li key={w.id} style={{ flexWrap: 'wrap' }}>
                  <a class="strong nobreak" href={hrefOf('waves', w.id)}>
                    {w.wave_no}
                  </a>
                  <span class="grow muted" style={{ minInlineSize: 'max-content' }}>
                    {plural(w.order_ids.length, '{n} order', '{n} orders')}
                  </span>
                  {p.verbs?.['release_picks'] ? (
                    <>
                      <Button
                        size="small"
                        kind="primary"
                        busy={busy === w.id}
                        aria-label={_('Release {what}', { what: w.wave_no })}
                        onClick={() =>
                          void act(w.id, async () => {
                            const r = await rpc<{ pick_lists: Row[] }>('release_picks', { wave_id: w.id });
                            return plural(
                              r.pick_lists.length,
                              '{no} is {n} pick list now',
                              '{no} is {n} pick lists now',
                              { no: w.wave_no },
                            );
                          })
                        }
                      >
                        {_('Release')}
                      </Button>
                      <Button
                        size="small"
                        aria-label={_('Give up {what}', { what: w.wave_no })}
                        onClick={() =>
                          void act('', async () => {
                            await want(supabase.from('waves').update({ status: 'cancelled' }).eq('id', w.id));
                            return _('{no} is given up; its orders wait again', { no: w.wave_no });
                          })
                        }
                      >
                        {_('Give up')}
                      </Button>
                    </>
                  ) : null}
                </li>
              ))}
            </ul>
          ) : (
            <Empty title={_('No wave is planned')} icon="list">
              {_('Choose orders that can be fetched on one walk.')}
            </Empty>
          )}
        </Card>
        {released.length ? (
          <Card flush title={_('Released')}>
            <ul class="lines" aria-label={_('Released')}>
              {released.map((w) => (
                <li key={w.id}>
                  <a
                    class="strong nobreak"
                    href={`/console/c/pick_lists?f=wave_no.eq.${encodeURIComponent(w.wave_no)}`}
                  >
                    {w.wave_no}
                  </a>
                  <span class="grow muted">{plural(w.order_ids.length, '{n} order', '{n} orders')}</span>
                  <span class="small muted nobreak">{ago(w.released_at)}</span>
                </li>
              ))}
            </ul>
          </Card>
        ) : null}
      </div>
    </div>
  );
}

function Replenish({ p }: { p: Permissions }) {
  const tasks = useQuery({
    queryKey: ['c', 'replenish_tasks', 'open'],
    queryFn: () =>
      want<Task[]>(
        supabase
          .from('replenish_tasks')
          .select(
            'id,task_no,status,quantity,quantity_done,item:item_id(sku,name),from:from_zone_id(code),to:to_zone_id(code)',
          )
          .in('status', ['open', 'in_progress'])
          .order('id')
          .limit(200),
      ),
    meta: { live: true },
  });
  const rules = useQuery({
    queryKey: ['c', 'replenish_rules', 'count'],
    queryFn: async () =>
      (await records('replenish_rules').select('id', { count: 'exact', head: true }).is('archived_at', null)).count ??
      0,
    meta: { live: true },
  });
  const [bring, setBring] = useState<Task | null>(null);
  const [short, setShort] = useState<{ rule_id: string; quantity: number }[]>([]);
  const { busy, error, act } = useVerb();
  return (
    <Card
      flush
      title={plural(tasks.data?.length ?? 0, '{n} task is open', '{n} tasks are open')}
      actions={
        <>
          <OfSeen p={p} of="replenish_rules" />
          <a href="/console/c/replenish_rules">{plural(rules.data ?? 0, '{n} rule', '{n} rules')}</a>
          {p.verbs?.['plan_replenishment'] ? (
            <Button
              kind="primary"
              busy={busy === 'plan'}
              onClick={() =>
                void act('plan', async () => {
                  const r = await rpc<{ tasks: Row[]; short: { rule_id: string; quantity: number }[] }>(
                    'plan_replenishment',
                    {},
                  );
                  setShort(r.short);
                  return r.tasks.length
                    ? plural(r.tasks.length, '{n} task was opened', '{n} tasks were opened')
                    : _('Every pick face holds its least');
                })
              }
            >
              {_('Look what is due')}
            </Button>
          ) : null}
        </>
      }
    >
      <Problem error={error ?? tasks.error} />
      {short.length ? (
        <ul class="lines" aria-label={_('No reserve has these')}>
          {short.map((s) => (
            <li key={s.rule_id}>
              <Badge tone="warn">{_('No reserve')}</Badge>
              <a class="grow" href={hrefOf('replenish_rules', s.rule_id)}>
                {_('{n} are missing for this rule', { n: number(s.quantity) })}
              </a>
            </li>
          ))}
        </ul>
      ) : null}
      {tasks.isPending ? (
        <div class="body">
          <Skeleton lines={5} />
        </div>
      ) : tasks.data?.length ? (
        <ul class="lines" aria-label={_('Tasks')}>
          {tasks.data.map((t) => (
            <li key={t.id}>
              <a class="strong nobreak" href={hrefOf('replenish_tasks', t.id)}>
                {t.task_no}
              </a>
              <span class="grow">
                {t.item?.sku} <span class="muted">{t.item?.name}</span>
                <br />
                <span class="small">
                  {_('{n} from {from} to {to}', {
                    n: number(t.quantity - t.quantity_done),
                    from: t.from?.code ?? '',
                    to: t.to?.code ?? '',
                  })}
                </span>
              </span>
              {p.verbs?.['replenish'] ? (
                <Button size="small" aria-label={_('Brought: {what}', { what: t.task_no })} onClick={() => setBring(t)}>
                  {_('Brought')}
                </Button>
              ) : null}
            </li>
          ))}
        </ul>
      ) : tasks.error ? null : (
        <Empty
          title={_('Nothing has to be brought forward')}
          icon="check"
          action={
            rules.data === 0 && p.collections['replenish_rules']?.create ? (
              <LinkButton href="/console/c/replenish_rules/new">{_('Make a rule')}</LinkButton>
            ) : undefined
          }
        >
          {_('A rule says the least and the most of an item that a pick face should hold.')}
        </Empty>
      )}
      {bring ? <Bring t={bring} close={() => setBring(null)} /> : null}
    </Card>
  );
}

function Bring({ t, close }: { t: Task; close: () => void }) {
  const draft = useDraft(`replenish ${t.id}`);
  const open = t.quantity - t.quantity_done;
  const [quantity, setQuantity] = draft.field('quantity', String(open));
  return (
    <Ask
      title={_('{no} was brought', { no: t.task_no })}
      text={_('{n} from {from} to {to}', { n: number(open), from: t.from?.code ?? '', to: t.to?.code ?? '' })}
      yes={_('Say so')}
      close={close}
      draft={draft}
      act={async () => {
        await rpc('replenish', { task_id: t.id, quantity: Number(quantity) });
        toast(_('It is booked'));
        again();
      }}
    >
      <NumberInput label={_('How much?')} value={quantity} put={setQuantity} required autofocus />
    </Ask>
  );
}

function Returns() {
  const orders = useQuery({
    queryKey: ['c', 'orders', 'returns'],
    queryFn: () =>
      want<Order[]>(
        supabase
          .from('orders')
          .select('id,order_no,party_name,carrier,promised_at,stage,status,notes')
          .eq('type', 'return')
          .in('status', ['confirmed', 'in_progress'])
          .order('id')
          .limit(100),
      ),
    meta: { live: true },
  });
  const [taking, setTaking] = useState<Order | null>(null);
  return (
    <Card
      flush
      title={plural(
        orders.data?.length ?? 0,
        '{n} return is on its way or here',
        '{n} returns are on their way or here',
      )}
      actions={<a href="/console/c/orders?f=type.eq.return">{_('All returns')}</a>}
    >
      <Problem error={orders.error} />
      {orders.isPending ? (
        <div class="body">
          <Skeleton lines={4} />
        </div>
      ) : orders.data?.length ? (
        <ul class="lines" aria-label={_('Returns')}>
          {orders.data.map((o) => (
            <li key={o.id}>
              <a class="strong nobreak" href={hrefOf('orders', o.id)}>
                {o.order_no}
              </a>
              <span class="grow">
                {o.party_name} <span class="muted">{String(o['notes'] ?? '')}</span>
              </span>
              <Badge state={o.status} />
              <Button
                size="small"
                kind="primary"
                aria-label={_('Take {what} in', { what: o.order_no })}
                onClick={() => setTaking(o)}
              >
                {_('Take in')}
              </Button>
            </li>
          ))}
        </ul>
      ) : orders.error ? null : (
        <Empty
          title={_('Nothing comes back')}
          icon="check"
          action={<LinkButton href="/console/c/orders/new">{_('Announce a return')}</LinkButton>}
        />
      )}
      {taking ? <Judge o={taking} close={() => setTaking(null)} /> : null}
    </Card>
  );
}

const fates = ['restock', 'quarantine', 'scrap', 'refund_only'];

interface Fate {
  reason: string;
  quantity: string;
  disposition: string;
  zone: string;
}

// Judge says of each line how much came back and what becomes of it.
function Judge({ o, close }: { o: Order; close: () => void }) {
  const lines = useQuery({
    queryKey: ['c', 'order_lines', 'return', o.id],
    queryFn: () =>
      want<ReturnLine[]>(
        supabase
          .from('order_lines')
          .select('id,line_no,qty_ordered,qty_received,item:item_id(sku,name)')
          .eq('order_id', o.id)
          .order('line_no')
          .limit(100),
      ),
  });
  const zones = useQuery({
    queryKey: ['c', 'zones', 'for-returns'],
    queryFn: () =>
      want<{ id: string; code: string }[]>(
        supabase
          .from('zones')
          .select('id,code')
          .in('kind', ['bin', 'staging', 'quarantine', 'dock'])
          .eq('status', 'active')
          .order('code')
          .limit(1000),
      ),
  });
  const draft = useDraft(`receive_return ${o.id}`);
  const [said, setSaid] = draft.field<Record<string, Fate>>('said', {});
  const open = (lines.data ?? []).filter((l) => l.qty_ordered > l.qty_received);
  const of = (l: ReturnLine): Fate =>
    said[l.id] ?? { quantity: String(l.qty_ordered - l.qty_received), disposition: 'restock', zone: '', reason: '' };
  const put = (l: ReturnLine, part: Partial<Fate>) => setSaid({ ...said, [l.id]: { ...of(l), ...part } });
  return (
    <Ask
      kind="wide"
      title={_('{no}: what came back', { no: o.order_no })}
      text={_('Judge each piece: what is restocked can be sold at once.')}
      yes={_('Take in')}
      close={close}
      draft={draft}
      act={async () => {
        const judged = open.filter((l) => Number(of(l).quantity) > 0);
        await rpc('receive_return', {
          order_id: o.id,
          lines: judged.map((l) => ({
            order_line_id: l.id,
            quantity: Number(of(l).quantity),
            disposition: of(l).disposition as 'restock',
            ...(of(l).reason ? { reason: of(l).reason } : {}),
            ...(of(l).disposition === 'refund_only'
              ? {}
              : { zone_id: zones.data?.find((z) => z.code.toLowerCase() === of(l).zone.trim().toLowerCase())?.id }),
          })),
        });
        toast(plural(judged.length, '{n} line is taken in', '{n} lines are taken in'));
        again();
      }}
      error={lines.error ?? zones.error}
    >
      <datalist id="return-places">
        {(zones.data ?? []).map((z) => (
          <option key={z.id} value={z.code} />
        ))}
      </datalist>
      {open.map((l) => (
        <fieldset key={l.id} class="judge">
          <legend>
            <b>{l.item?.sku}</b> <span class="muted">{l.item?.name}</span>
          </legend>
          <NumberInput label={_('How much?')} value={of(l).quantity} put={(v) => put(l, { quantity: v })} />
          <Select
            label={_('What becomes of it?')}
            value={of(l).disposition}
            put={(v) => put(l, { disposition: v })}
            options={fates.map((f) => [f, words(f)])}
          />
          {of(l).disposition === 'quarantine' ? (
            <Input label={_('Why, where it never left?')} value={of(l).reason} put={(v) => put(l, { reason: v })} />
          ) : null}
          {of(l).disposition === 'refund_only' ? null : (
            <Input
              label={_('Into which place?')}
              list="return-places"
              value={of(l).zone}
              put={(v) => put(l, { zone: v })}
              required={Number(of(l).quantity) > 0}
            />
          )}
        </fieldset>
      ))}
      {lines.data && !open.length ? <Empty title={_('Every line is taken in')} icon="check" /> : null}
    </Ask>
  );
}
