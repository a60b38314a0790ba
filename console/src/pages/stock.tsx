import { useLocation, useRoute } from 'preact-iso';
import { useState } from 'preact/hooks';
import { beep } from '../lib/beep';
import { ask, rpc, serverNow, supabase, want } from '../lib/client';
import { usePermissions } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { Fault, toFault } from '../lib/fault';
import { itemOf, scan, sentenceOf, text } from '../lib/floor';
import { ago, date, number } from '../lib/format';
import { factorOf, unitColumns, withUnits } from '../lib/handling';
import { _, plural } from '../lib/i18n';
import { queryClient, useQuery } from '../lib/query';
import { kept, useStore } from '../lib/store';
import type { Row, VerbArgs } from '../database';
import { Badge, Button, Empty, LinkButton, Note, Problem, Skeleton } from '../ui/basic';
import { Input, Select } from '../ui/form';
import { Icon } from '../ui/icon';
import { toast } from '../ui/overlay';
import { Kept } from '../ui/kept';
import { AmountOf, Carried } from '../ui/handling';
import { ScanField, type Said } from '../ui/scan';
import { isWeightOff, WeightOf } from '../ui/weight';
import { Step } from './pick';

function Top({ title, children }: { title: string; children?: preact.ComponentChildren }) {
  return (
    <header class="stack tight">
      <nav class="crumbs" aria-label={_('Where you are')}>
        <a href="/console/floor">{_('Floor work')}</a>
        <span aria-hidden="true">/</span>
      </nav>
      <h1 tabIndex={-1}>{title}</h1>
      {children}
    </header>
  );
}

function Finished({ title, children }: { title: string; children?: preact.ComponentChildren }) {
  return (
    <div class="finished">
      <span class="mark">
        <Icon name="check" size={36} />
      </span>
      <h2>{title}</h2>
      {children}
      <LinkButton kind="primary" size="big" href="/console/floor">
        {_('Next')}
      </LinkButton>
    </div>
  );
}

function useSaid() {
  const [said, setSaid] = useState<Said | null>(null);
  const [acts, setActs] = useState(0);
  const say = (ok: boolean, words: string) => {
    beep(ok);
    setSaid({ ok, text: words });
  };
  const act = async (f: () => Promise<void>) => {
    setActs((n) => n + 1);
    try {
      await f();
    } catch (e) {
      say(false, sentenceOf(e));
    } finally {
      setActs((n) => n - 1);
    }
  };
  return { said, busy: acts > 0, say, act };
}

const forget = () => void queryClient.invalidateQueries({ predicate: (q) => q.meta?.['live'] === true });

interface Suggested {
  zone: Row;
  room: number | null;
  why: string;
}

// PutPage takes the goods of a task to a place.
export function PutPage() {
  const { params } = useRoute();
  const id = params['id'] as string;
  const p = usePermissions();
  const q = useQuery({
    queryKey: ['c', 'putaway_tasks', 'floor', id],
    queryFn: () =>
      want<Row | null>(
        supabase
          .from('putaway_tasks')
          .select(
            `*,item:item_id(id,sku,name,base_uom,${unitColumns}),lot:lot_id(lot_no),from:from_zone_id(id,code,name),to:to_zone_id(id,code,name)`,
          )
          .eq('id', id)
          .maybeSingle(),
      ),
  });
  if (q.isPending || !p) return <Skeleton lines={6} />;
  if (q.error) return <Problem error={q.error} retry={() => void q.refetch()} />;
  if (!q.data)
    return (
      <Empty
        title={_('This task is not there any more')}
        icon="box"
        action={<LinkButton href="/console/floor">{_('Floor work')}</LinkButton>}
      />
    );
  return (
    <Put
      key={`${id} ${text(q.data['quantity_done'])}`}
      t={q.data}
      manager={!!p.verbs?.['release_picks']}
      again={() => void q.refetch()}
    />
  );
}

function Put({ t, manager, again }: { t: Row; manager: boolean; again: () => void }) {
  const item = (t['item'] ?? {}) as Row;
  const from = (t['from'] ?? {}) as Row;
  const left = Number(t['quantity']) - Number(t['quantity_done'] ?? 0);
  const [to, setTo] = useState<Row | null>(null);
  const [quantity, setQuantity] = useState(String(left));
  const [reason, setReason] = useState('');
  const [refused, setRefused] = useState(false);
  const { said, busy, say, act } = useSaid();
  const open = ['open', 'in_progress'].includes(text(t['status']));
  const places = useQuery({
    queryKey: ['putaway', t.id, left],
    queryFn: async () =>
      (
        await ask<{ zones: Suggested[] }>('suggest_putaway', {
          item_id: text(t['item_id']),
          quantity: left,
          lot_id: text(t['lot_id']) || undefined,
          from_zone_id: text(t['from_zone_id']) || undefined,
          task_id: text(t['id']),
        })
      ).zones,
    enabled: open && left > 0,
  });
  const planned = t['to'] as Row | null;
  const best = [
    ...(planned ? [{ zone: planned, room: null, why: _('planned for it') }] : []),
    ...(places.data ?? []).filter((s) => s.zone.id !== planned?.id),
  ].slice(0, 3);
  const read = (code: string) =>
    act(async () => {
      const s = await scan(code);
      if (s.kind === 'zone' && s.record) {
        if (s.record.id === from.id) return say(false, _('That is where the goods are now'));
        setTo(s.record);
        return say(true, _('To {code}', { code: text(s.record['code']) }));
      }
      const what = itemOf(s);
      say(
        what?.id === t['item_id'],
        what?.id === t['item_id']
          ? _('Right goods: {sku}', { sku: text(what?.['sku']) })
          : _('That is something else than the task’s goods'),
      );
    });
  const confirm = () =>
    act(async () => {
      try {
        await rpc('put_away', {
          task_id: t.id,
          to_zone_id: text(to?.id),
          quantity: Number(quantity),
          override_reason: reason || undefined,
        });
      } catch (e) {
        setRefused((e as { code?: string }).code === 'HF021');
        throw e;
      }
      beep(true);
      toast(
        _('{n} × {sku} in {code}', { n: number(Number(quantity)), sku: text(item['sku']), code: text(to?.['code']) }),
      );
      forget();
      again();
    });
  if (!open || left <= 0)
    return (
      <div class="floor">
        <Top title={text(t['task_no'])} />
        <Finished title={_('Everything is in its place')} />
      </div>
    );
  return (
    <div class="floor">
      <Top title={text(t['task_no'])} />
      <ScanField label={_('Scan the place')} put={read} said={said} busy={busy} />
      <div class="task">
        <Step what={_('Take')} seen={false}>
          <span class="large">{text(item['sku'])}</span>
          <span>{text(item['name'])}</span>
          {t['lot'] ? <span class="strong">{_('Lot {no}', { no: text((t['lot'] as Row)['lot_no']) })}</span> : null}
          <Carried item={item} quantity={left} large />
          <span class="muted">{_('from {code}', { code: `${text(from['code'])} · ${text(from['name'])}` })}</span>
        </Step>
        <Step what={_('Put it in')} seen={!!to}>
          {to ? (
            <>
              <span class="large">{text(to['code'])}</span>
              <span class="muted">{text(to['name'])}</span>
            </>
          ) : places.isPending ? (
            <Skeleton lines={2} />
          ) : best.length ? (
            <div class="choices">
              {best.map((s) => (
                <button key={s.zone.id} type="button" onClick={() => setTo(s.zone)}>
                  <span class="grow">
                    <b>{text(s.zone['code'])}</b>
                    <span>{_(s.why)}</span>
                  </span>
                  {s.room != null ? (
                    <span class="muted nobreak">{_('room for {n}', { n: number(s.room) })}</span>
                  ) : null}
                </button>
              ))}
            </div>
          ) : (
            <span class="muted">{_('No place is suggested: scan the one you take.')}</span>
          )}
        </Step>
        <div>
          <AmountOf
            label={_('Of {n}', { n: number(left) })}
            item={item}
            value={quantity}
            put={setQuantity}
            max={left}
          />
        </div>
      </div>
      {refused && manager ? (
        <Input label={_('Put it there all the same, because')} value={reason} put={setReason} />
      ) : null}
      <Button
        kind="primary"
        size="big"
        busy={busy}
        disabled={!to || !(Number(quantity) > 0)}
        onClick={() => void confirm()}
      >
        {to ? _('It is in {code}', { code: text(to['code']) }) : _('Scan or choose a place')}
      </Button>
      {to ? (
        <Button size="big" onClick={() => setTo(null)}>
          {_('Another place')}
        </Button>
      ) : null}
    </div>
  );
}

interface Coming {
  key: string;
  order_line_id?: string;
  item: Row;
  open?: number;
  quantity: string;
  weight?: string;
  weight_reason?: string;
  lot_no: string;
  expires_on: string;
  serials: string;
  discrepancy: string;
}

type Difference = NonNullable<VerbArgs<'receive'>['lines'][number]['discrepancy']>;
const dock = kept('dock', '');
const differences: ['' | Difference, string][] = [
  ['', 'As announced'],
  ['short', 'Too few came'],
  ['over', 'Too many came'],
  ['damaged', 'Damaged'],
  ['wrong_item', 'Wrong goods'],
  ['quality', 'Poor quality'],
  ['other', 'Something else'],
];

// ReceivePage takes goods in at a dock, against an order or without one.
export function ReceivePage() {
  const { query, route } = useLocation();
  const p = usePermissions();
  const orderId = query['order'] ?? '';
  const orders = useQuery({
    queryKey: ['c', 'orders', 'inbound'],
    queryFn: () =>
      want(
        supabase
          .from('orders')
          .select('id,order_no,party_name,promised_at,stage,qty_ordered,qty_received')
          .or('type.in.(inbound,return),and(type.eq.transfer,qty_shipped.gt.0)')
          .in('status', ['confirmed', 'in_progress'])
          .order('promised_at')
          .limit(30),
      ),
    enabled: !orderId && !query['item'],
    meta: { live: true },
  });
  const { said, busy, say, act } = useSaid();
  if (!p) return <Skeleton lines={6} />;
  if (!p.verbs?.['receive']) return <Empty title={_('Your role does not receive goods')} icon="shield" />;
  if (orderId || query['item'])
    return <Receive key={orderId + (query['item'] ?? '')} orderId={orderId} itemId={query['item'] ?? ''} />;
  const read = (code: string) =>
    act(async () => {
      const s = await scan(code);
      const item = itemOf(s);
      if (s.kind === 'order') route(`/console/floor/receive?order=${s.record?.id}`);
      else if (item) route(`/console/floor/receive?item=${item.id}`);
      else say(false, _('Scan an order’s number or the goods'));
    });
  return (
    <div class="floor">
      <Top title={_('Receive')} />
      <ScanField label={_('Scan the order or the goods')} put={read} said={said} busy={busy} />
      <Problem error={orders.error} />
      <h2>{_('What is expected')}</h2>
      {orders.isPending ? (
        <Skeleton lines={4} />
      ) : orders.data?.length ? (
        <div class="choices">
          {orders.data.map((o) => (
            <a key={o.id} href={`/console/floor/receive?order=${o.id}`}>
              <span class="grow">
                <b>{text(o['order_no'])}</b>
                <span>
                  {text(o['party_name'])} {o['promised_at'] ? `· ${ago(o['promised_at'])}` : ''}
                </span>
              </span>
              <Badge state={o['stage']} />
            </a>
          ))}
        </div>
      ) : (
        <Empty title={_('Nothing is expected')} icon="check">
          {_('Goods that nobody announced can be scanned above.')}
        </Empty>
      )}
    </div>
  );
}

const goodsColumns = `id,sku,name,base_uom,tracking,has_expiry,catch_weight,${unitColumns}`;

interface Received {
  receipt: Row;
  putaway_tasks: Row[];
}

function Receive({ orderId, itemId }: { orderId: string; itemId: string }) {
  const docks = useQuery({
    queryKey: ['c', 'zones', 'docks'],
    queryFn: () =>
      want(
        supabase
          .from('zones')
          .select('id,code,name,kind')
          .in('kind', ['dock', 'staging'])
          .eq('status', 'active')
          .order('code')
          .limit(100),
      ),
    staleTime: 60_000,
  });
  const order = useQuery({
    queryKey: ['c', 'orders', 'receive', orderId],
    queryFn: () =>
      want<Row | null>(
        supabase
          .from('orders')
          .select(
            `id,order_no,party_name,type,status,order_lines(id,line_no,uom,qty_ordered,qty_cancelled,qty_shipped,qty_received,item:item_id(${goodsColumns}))`,
          )
          .eq('id', orderId)
          .maybeSingle(),
      ),
    enabled: !!orderId,
  });
  const item = useQuery({
    queryKey: ['c', 'items', 'receive', itemId],
    queryFn: () => want<Row | null>(supabase.from('items').select(goodsColumns).eq('id', itemId).maybeSingle()),
    enabled: !!itemId,
  });
  if ((orderId && order.isPending) || (itemId && item.isPending) || docks.isPending) return <Skeleton lines={6} />;
  const wrong = order.error ?? item.error ?? docks.error;
  if (wrong) return <Problem error={wrong} retry={() => void Promise.all([order.refetch(), docks.refetch()])} />;
  if (!order.data && !item.data)
    return (
      <Empty
        title={_('This record is not there')}
        action={<LinkButton href="/console/floor/receive">{_('Receive')}</LinkButton>}
      />
    );
  return <Arrived order={order.data ?? null} item={item.data ?? null} docks={docks.data ?? []} />;
}

const blank = (i: Row): Coming => ({
  key: i.id,
  item: i,
  quantity: '0',
  lot_no: '',
  expires_on: '',
  serials: '',
  discrepancy: '',
});

const serialsOf = (l: Coming) =>
  l.serials
    .split(',')
    .map((x) => x.trim())
    .filter(Boolean);

// announced are the lines of an order that are not received whole.
function announced(order: Row): Coming[] {
  const transfer = order['type'] === 'transfer'; // of it comes in what has left
  return ((order['order_lines'] as Row[] | undefined) ?? [])
    .sort((a, b) => Number(a['line_no']) - Number(b['line_no']))
    .map((l) => ({
      ...blank(l['item'] as Row),
      key: l.id,
      order_line_id: l.id,
      open:
        ((transfer ? Number(l['qty_shipped']) : Number(l['qty_ordered']) - Number(l['qty_cancelled'] ?? 0)) -
          Number(l['qty_received'] ?? 0)) *
        factorOf(l['item'] as Row, l['uom'] as string | undefined), // a line is in its own unit, what comes in base units
    }))
    .filter((l) => (l.open ?? 0) > 0);
}

// Arrived is what stands on the dock, compared with what was announced.
function Arrived({ order, item, docks }: { order: Row | null; item: Row | null; docks: Row[] }) {
  const zone = useStore(dock);
  const draft = useDraft(`receive ${order?.id ?? item?.id ?? ''}`);
  const expected = order ? announced(order) : item ? [{ ...blank(item), quantity: '1' }] : [];
  const [typed, setTyped] = draft.field<Coming[]>('lines', expected);
  // What is expected is what the order says now, however long ago the rest was typed.
  const meet = (list: Coming[]): Coming[] => [
    ...list.map((l) => ({
      ...l,
      open: l.order_line_id ? (expected.find((x) => x.key === l.key)?.open ?? 0) : undefined,
    })),
    ...expected.filter((x) => !list.some((l) => l.key === x.key)),
  ];
  const lines = meet(typed);
  const setLines = (change: (now: Coming[]) => Coming[]) => setTyped((now) => change(meet(now)));
  const [result, setResult] = useState<Received | null>(null);
  const { said, busy, say, act } = useSaid();
  const at = docks.find((z) => z.id === zone) ?? docks[0];
  const put = (key: string, more: Partial<Coming>) =>
    setLines((now) => now.map((l) => (l.key === key ? { ...l, ...more } : l)));
  const read = (code: string) =>
    act(async () => {
      const s = await scan(code);
      if (s.kind === 'zone' && docks.some((z) => z.id === s.record?.id)) {
        dock.set(text(s.record?.id));
        return say(true, _('At {code}', { code: text(s.record?.['code']) }));
      }
      const what = await withUnits(itemOf(s));
      if (!what) return say(false, _('Scan the goods, or the dock they stand on'));
      const more = (Number(s.parsed?.count ?? 1) || 1) * factorOf(what, s.uom);
      const read = {
        ...(s.parsed?.lot_no ? { lot_no: s.parsed.lot_no } : {}),
        ...(s.parsed?.expires_on ? { expires_on: s.parsed.expires_on } : {}),
      };
      const serial = s.parsed?.serial;
      setLines((now) => {
        const hit = now.find((l) => l.item.id === what.id);
        if (!hit)
          return [
            ...now,
            {
              ...blank(what),
              quantity: String(more),
              ...read,
              serials: serial ?? '',
              discrepancy: order ? 'unannounced' : '',
            },
          ];
        const counted = {
          ...hit,
          quantity: String((Number(hit.quantity) || 0) + more),
          ...read,
          ...(serial ? { serials: [hit.serials, serial].filter(Boolean).join(', ') } : {}),
        };
        return now.map((l) => (l === hit ? counted : l));
      });
      say(true, `${text(what['sku'])} +${number(more)}`);
    });
  const coming = lines.filter((l) => Number(l.quantity) > 0 || l.discrepancy === 'short');
  // Serial numbers that were sold and did not come back are a question, one line after the other.
  const [accepted, setAccepted] = useState<string[]>([]);
  const [asked, setAsked] = useState<string[]>([]);
  const [isOff, setOff] = useState(false);
  const book = (isNew = accepted) =>
    act(async () => {
      setAccepted(isNew);
      const r = await rpc<Received>('receive', {
        order_id: order?.id,
        zone_id: text(at?.id),
        lines: coming.map((l) => ({
          ...(l.order_line_id ? { order_line_id: l.order_line_id } : { item_id: l.item.id }),
          quantity: Number(l.quantity),
          weight_kg: l.weight ? Number(l.weight) : undefined,
          weight_reason: l.weight_reason || undefined,
          lot_no: l.lot_no || undefined,
          expires_on: l.expires_on || undefined,
          serials: l.serials ? serialsOf(l) : undefined,
          discrepancy: (l.discrepancy || undefined) as Difference | undefined,
          accept_sold: isNew.includes(l.key) || undefined,
        })),
      }).catch((e) => {
        const f = toFault(e);
        setOff(isWeightOff(e));
        const isNamed = (l: Coming) => serialsOf(l).some((s) => f.message.includes(`serial number ${s} of`));
        setAsked(f.hint.includes('accept_sold') ? coming.filter(isNamed).map((l) => l.key) : []);
        throw e;
      });
      beep(true);
      draft.drop();
      setResult(r);
      forget();
    });
  if (result)
    return (
      <div class="floor">
        <Top title={text(result.receipt['receipt_no'])} />
        <Finished title={_('The goods are in')}>
          {result.putaway_tasks.length ? (
            <div class="choices" style={{ inlineSize: '100%' }}>
              {result.putaway_tasks.map((t) => (
                <a key={t.id} href={`/console/floor/put/${t.id}`}>
                  <span class="grow">
                    <b>{_('Put away {no}', { no: text(t['task_no']) })}</b>
                    <span>{number(Number(t['quantity']))}</span>
                  </span>
                  <Icon name="chevron" />
                </a>
              ))}
            </div>
          ) : null}
        </Finished>
      </div>
    );
  return (
    <div class="floor">
      <Top title={order ? text(order['order_no']) : _('Unannounced goods')}>
        {order ? <p class="muted">{text(order['party_name'])}</p> : null}
      </Top>
      <ScanField label={_('Scan the goods')} put={read} said={said} busy={busy} />
      <Select
        label={_('Where do they stand?')}
        value={at?.id ?? ''}
        put={(v) => dock.set(v)}
        options={docks.map((z) => [z.id, `${text(z['code'])} · ${text(z['name'])}`])}
      />
      <Kept draft={draft} />
      {!lines.length ? <Note kind="good">{_('Everything on this order is received.')}</Note> : null}
      {lines.map((l) => (
        <div key={l.key} class="task">
          <div class={Number(l.quantity) > 0 ? 'done' : ''}>
            <b>{text(l.item['sku'])}</b>
            <span>{text(l.item['name'])}</span>
            {l.open != null ? (
              <span class="muted small">{_('{n} expected', { n: number(l.open) })}</span>
            ) : (
              <span class="small muted">{_('not announced')}</span>
            )}
            {l.open != null ? <Carried item={l.item} quantity={l.open} /> : null}
          </div>
          <div>
            <AmountOf
              label={_('Came: {sku}', { sku: text(l.item['sku']) })}
              item={l.item}
              value={l.quantity}
              put={(quantity) => put(l.key, { quantity })}
            />
            {l.open != null && Number(l.quantity) !== l.open ? (
              <button type="button" class="link" onClick={() => put(l.key, { quantity: String(l.open) })}>
                {_('All {n} came', { n: number(l.open) })}
              </button>
            ) : null}
          </div>
          {Number(l.quantity) > 0 || l.discrepancy ? (
            <div class="form">
              {l.item['catch_weight'] && order?.['type'] !== 'transfer' ? (
                <WeightOf
                  value={l.weight ?? ''}
                  put={(weight) => put(l.key, { weight })}
                  isOff={isOff}
                  reason={l.weight_reason ?? ''}
                  putReason={(weight_reason) => put(l.key, { weight_reason })}
                />
              ) : null}
              {l.item['tracking'] === 'lot' ? (
                <Input label={_('Lot')} value={l.lot_no} put={(lot_no) => put(l.key, { lot_no })} required />
              ) : null}
              {l.item['has_expiry'] ? (
                <Input
                  label={_('Expires on')}
                  type="date"
                  value={l.expires_on}
                  put={(expires_on) => put(l.key, { expires_on })}
                />
              ) : null}
              {l.item['tracking'] === 'serial' ? (
                <Input
                  label={_('Serial numbers')}
                  value={l.serials}
                  put={(serials) => put(l.key, { serials })}
                  help={_('Several with commas between')}
                  required
                />
              ) : null}
              {l.order_line_id ? (
                <Select
                  label={_('Compared with the order')}
                  value={l.discrepancy}
                  put={(discrepancy) => put(l.key, { discrepancy })}
                  options={differences.map(([v, t]) => [v, _(t)])}
                />
              ) : null}
            </div>
          ) : null}
        </div>
      ))}
      {asked.length ? (
        <Note kind="warn">
          {_('Goods that come back are taken in under a return order.')}{' '}
          <Button busy={busy} onClick={() => void book([...accepted, ...asked])}>
            {_('Take it in as new all the same')}
          </Button>
        </Note>
      ) : null}
      <Button
        kind="primary"
        size="big"
        busy={busy}
        disabled={!coming.length || !at || lines.some((l) => Number.isNaN(Number(l.quantity)))}
        onClick={() => void book()}
      >
        {coming.length ? plural(coming.length, 'Take {n} line in', 'Take {n} lines in') : _('Nothing entered yet')}
      </Button>
    </div>
  );
}

interface Found {
  key: string;
  item: Row;
  lot?: Row;
  serial?: string;
  counted: string;
}

interface Counted {
  count_task: Row;
  lines: Row[];
}

// CountPage counts a place: of a task, or one that is scanned.
export function CountPage() {
  const { params } = useRoute();
  const { query, route } = useLocation();
  const p = usePermissions();
  const id = params['id'] ?? '';
  const t = useQuery({
    queryKey: ['c', 'count_tasks', 'floor', id],
    queryFn: () =>
      want<Row | null>(
        supabase
          .from('count_tasks')
          .select(`*,zone:zone_id(id,code,name),item:item_id(id,sku,name,base_uom,tracking,${unitColumns})`)
          .eq('id', id)
          .maybeSingle(),
      ),
    enabled: !!id,
  });
  const named = useQuery({
    queryKey: ['c', 'zones', 'floor', query['zone']],
    queryFn: () =>
      want<Row | null>(
        supabase
          .from('zones')
          .select('id,code,name')
          .eq('id', query['zone'] ?? '')
          .maybeSingle(),
      ),
    enabled: !id && !!query['zone'],
  });
  const [zone, setZone] = useState<Row | null>(null);
  const { said, busy, say, act } = useSaid();
  if (!p || (id && t.isPending)) return <Skeleton lines={6} />;
  if (t.error) return <Problem error={t.error} retry={() => void t.refetch()} />;
  if (id)
    return t.data ? (
      <Count t={t.data} />
    ) : (
      <Empty
        title={_('This count is not there')}
        icon="list"
        action={<LinkButton href="/console/floor">{_('Floor work')}</LinkButton>}
      />
    );
  const place = zone ?? named.data ?? null;
  return (
    <div class="floor">
      <Top title={_('Count a place')} />
      <ScanField
        label={_('Scan the place')}
        said={said}
        busy={busy}
        put={(code) =>
          act(async () => {
            const s = await scan(code);
            if (s.kind !== 'zone') return say(false, _('That is no place'));
            setZone(s.record);
            say(true, text(s.record?.['code']));
          })
        }
      />
      {place ? (
        <>
          <div class="task">
            <Step what={_('Count what is in')} seen={!!zone}>
              <span class="large">{text(place['code'])}</span>
              <span class="muted">{text(place['name'])}</span>
            </Step>
          </div>
          <Button
            kind="primary"
            size="big"
            busy={busy}
            onClick={() =>
              void act(async () => {
                const r = await rpc<Counted>('start_count', { zone_id: place.id });
                route(`/console/floor/count/${r.count_task.id}`);
              })
            }
          >
            {_('Begin')}
          </Button>
        </>
      ) : (
        <Waiting />
      )}
    </div>
  );
}

// Waiting says what comes first, and offers the counts that somebody asked for.
function Waiting() {
  const open = useQuery({
    queryKey: ['c', 'count_tasks', 'waiting'],
    queryFn: () =>
      want(
        supabase
          .from('count_tasks')
          .select('id,count_no,due_on,status,zone:zone_id(code,name)')
          .in('status', ['open', 'counting', 'recount'])
          .order('due_on')
          .limit(20),
      ),
    meta: { live: true },
  });
  return (
    <>
      <Note>
        {_(
          'Scan the label of the place, or type its code. Then scan what lies there, piece by piece or with its number.',
        )}
      </Note>
      <Problem error={open.error} />
      <h2>{_('Counts that wait')}</h2>
      {open.isPending ? (
        <Skeleton lines={3} />
      ) : open.data?.length ? (
        <div class="choices">
          {open.data.map((t) => (
            <a key={t.id} href={`/console/floor/count/${t.id}`}>
              <span class="grow">
                <b>{text((t['zone'] as Row | null)?.['code'])}</b>
                <span>
                  {text(t['count_no'])} {t['due_on'] ? `· ${date(t['due_on'])}` : ''}
                </span>
              </span>
              <Badge state={t['status']} />
            </a>
          ))}
        </div>
      ) : open.error ? null : (
        <Empty title={_('Nobody asked for a count')} icon="check">
          {_('Any place may be counted: scan it above.')}
        </Empty>
      )}
    </>
  );
}

function Count({ t }: { t: Row }) {
  const zone = (t['zone'] ?? {}) as Row;
  const only = t['item'] as Row | null;
  const draft = useDraft(`count ${t.id}`);
  const [lines, putLines] = draft.field<Found[]>('lines', only ? [{ key: only.id, item: only, counted: '0' }] : []);
  // When the last number was typed: the server takes off the books what moved between that moment and the sending.
  const [countedAt, setCountedAt] = draft.field<string | undefined>('counted_at', undefined);
  const setLines = (change: (now: Found[]) => Found[]) => {
    putLines(change);
    setCountedAt(serverNow().toISOString());
  };
  const [result, setResult] = useState<Counted | null>(null);
  const { said, busy, say, act } = useSaid();
  const read = (code: string) =>
    act(async () => {
      const s = await scan(code, { count_task_id: t.id });
      const item = await withUnits(itemOf(s));
      if (s.kind === 'zone') return say(true, _('Right place: {code}', { code: text(s.record?.['code']) }));
      if (!item) return say(false, _('Scan the goods'));
      const lot = s.kind === 'lot' ? (s.record ?? undefined) : undefined;
      const serial = s.kind === 'serial' ? text(s.record?.['serial']) : undefined;
      const key = [item.id, lot?.id, serial].filter(Boolean).join(' ');
      const more = (Number(s.parsed?.count ?? 1) || 1) * factorOf(item, s.uom);
      setLines((now) =>
        now.some((l) => l.key === key)
          ? now.map((l) =>
              l.key === key ? { ...l, counted: serial ? '1' : String((Number(l.counted) || 0) + more) } : l,
            )
          : [...now, { key, item, lot, serial, counted: String(more) }],
      );
      say(true, `${text(item['sku'])} +${number(more)}`);
    });
  const enter = () =>
    act(async () => {
      const found = lines.map((l) => ({
        item_id: l.item.id,
        lot_id: l.lot?.id,
        serial: l.serial,
        counted: Number(l.counted) || 0,
      }));
      const r = await rpc<Counted>('enter_count', { count_task_id: t.id, counted_at: countedAt, lines: found }).catch(
        (e: unknown) => {
          // Goods moved since: the same number, sent again after another look, is of that look.
          if (e instanceof Fault && e.fields(['counted_at']).length) setCountedAt(undefined);
          throw e;
        },
      );
      beep(true);
      draft.drop();
      setResult(r);
      forget();
    });
  const over = !['open', 'counting'].includes(text(t['status']));
  if (result || over) {
    // Who counts blind is not shown what differs.
    const shown = (result?.lines ?? []).every((l) => l['variance'] != null);
    const off = (result?.lines ?? []).filter((l) => Number(l['variance']) !== 0).length;
    const waits = text((result?.count_task ?? t)['status']) === 'counted';
    return (
      <div class="floor">
        <Top title={text(zone['code'])} />
        <Finished title={waits ? _('It waits for a second person') : _('The count is booked')}>
          {result && (off || (shown && !waits)) ? (
            <p class="muted">
              {off
                ? plural(off, '{n} line differs from the books', '{n} lines differ from the books')
                : _('Everything is as the books say')}
            </p>
          ) : null}
        </Finished>
      </div>
    );
  }
  return (
    <div class="floor">
      <Top title={_('Count {code}', { code: text(zone['code']) })}>
        <p class="muted">{text(zone['name'])}</p>
      </Top>
      <ScanField label={_('Scan the goods')} put={read} said={said} busy={busy} />
      <Kept draft={draft} />
      {lines.map((l) => (
        <div key={l.key} class="task">
          <div>
            <b>{text(l.item['sku'])}</b>
            <span>{text(l.item['name'])}</span>
            {l.lot ? <span class="strong">{_('Lot {no}', { no: text(l.lot['lot_no']) })}</span> : null}
            {l.serial ? <span class="strong">{_('Serial number {no}', { no: l.serial })}</span> : null}
          </div>
          <div>
            <AmountOf
              label={_('Found: {sku}', { sku: text(l.item['sku']) })}
              item={l.item}
              value={l.counted}
              put={(counted) => setLines((now) => now.map((x) => (x.key === l.key ? { ...x, counted } : x)))}
            />
          </div>
        </div>
      ))}
      <Note>{_('What you do not enter counts as not found.')}</Note>
      <Button
        kind="primary"
        size="big"
        busy={busy}
        disabled={lines.some((l) => Number.isNaN(Number(l.counted)))}
        onClick={() => void enter()}
      >
        {lines.length
          ? plural(lines.length, 'That is all: {n} line', 'That is all: {n} lines')
          : _('The place is empty')}
      </Button>
    </div>
  );
}
