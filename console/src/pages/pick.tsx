import { useRoute } from 'preact-iso';
import { useState } from 'preact/hooks';
import { beep } from '../lib/beep';
import { rpc, supabase, want } from '../lib/client';
import { usePermissions } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { toFault } from '../lib/fault';
import { itemOf, scan, sentenceOf, text } from '../lib/floor';
import { number } from '../lib/format';
import { unitColumns } from '../lib/handling';
import { _, plural } from '../lib/i18n';
import { queryClient, useQuery } from '../lib/query';
import type { Row } from '../database';
import { Badge, Button, Empty, LinkButton, Meter, Problem, Skeleton } from '../ui/basic';
import { Ask } from '../ui/dialog';
import { Input, Select } from '../ui/form';
import { Icon } from '../ui/icon';
import { fail, toast } from '../ui/overlay';
import { AmountOf, Carried } from '../ui/handling';
import { ScanField, type Said } from '../ui/scan';
import { isWeightOff, WeightOf } from '../ui/weight';

const columns = `*,zone:zone_id(id,code,name),item:item_id(id,sku,name,base_uom,tracking,catch_weight,${unitColumns}),lot:lot_id(id,lot_no)`;
const shortReasons: [string, string][] = [
  ['empty', 'The bin is empty'],
  ['fewer', 'There are fewer'],
  ['damaged', 'Goods are damaged'],
  ['not found', 'I cannot find them'],
];

// PickPage leads through a pick list, one line at a time, in walking order.
export function PickPage() {
  const { params } = useRoute();
  const id = params['id'] as string;
  const p = usePermissions();
  const list = useQuery({
    queryKey: ['c', 'pick_lists', 'one', id, 'floor'],
    queryFn: () => want<Row | null>(supabase.from('pick_lists').select('*').eq('id', id).maybeSingle()),
    meta: { live: true },
  });
  const lines = useQuery({
    queryKey: ['c', 'pick_lines', 'floor', id],
    queryFn: () => want(supabase.from('pick_lines').select(columns).eq('pick_list_id', id).order('seq').limit(500)),
    meta: { live: true },
  });
  const [later, setLater] = useState<string[]>([]);
  const [busy, setBusy] = useState(false);
  const [started, setStarted] = useState(false);
  if (list.isPending || lines.isPending || !p) return <Skeleton lines={6} />;
  if (list.error ?? lines.error)
    return (
      <Problem error={list.error ?? lines.error} retry={() => void Promise.all([list.refetch(), lines.refetch()])} />
    );
  const l = list.data;
  if (!l)
    return (
      <Empty
        title={_('This pick list is not yours')}
        action={<LinkButton href="/console/floor">{_('Floor work')}</LinkButton>}
        icon="pick"
      />
    );
  const all = lines.data ?? [];
  const open = all.filter((x) => x['status'] === 'pending');
  const at = open.find((x) => !later.includes(x.id)) ?? open[0];
  const again = () =>
    Promise.all([list.refetch(), lines.refetch(), queryClient.invalidateQueries({ queryKey: ['my-picks'] })]);
  const claim = async () => {
    setBusy(true);
    try {
      await rpc('claim_pick_list', { pick_list_id: id });
      setStarted(true);
      await again();
    } catch (e) {
      fail(e);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="floor">
      <header class="stack tight">
        <nav class="crumbs" aria-label={_('Where you are')}>
          <a href="/console/floor">{_('Floor work')}</a>
          <span aria-hidden="true">/</span>
        </nav>
        <h1 tabIndex={-1}>
          {text(l['pick_no'])} <Badge state={l['status']} />
        </h1>
        <div class="row nowrap">
          <span class="muted nobreak">
            {_('{n} of {m} lines done', { n: number(all.length - open.length), m: number(all.length) })}
          </span>
          <span class="grow">
            <Meter
              value={all.length ? ((all.length - open.length) / all.length) * 100 : 0}
              warn={1000}
              bad={1000}
              label={_('Lines done')}
            />
          </span>
        </div>
      </header>
      {l['status'] === 'released' && !started ? (
        <>
          <ol class="choices">
            {open.map((x) => (
              <li key={x.id} class="row">
                <b class="nobreak">{text((x['zone'] as Row | null)?.['code'])}</b>
                <span class="grow clip muted">{text((x['item'] as Row | null)?.['name'])}</span>
                <b class="num">{number(Number(x['qty']))}</b>
                <Carried item={(x['item'] ?? {}) as Row} quantity={Number(x['qty'])} />
              </li>
            ))}
          </ol>
          <Button kind="primary" size="big" busy={busy} onClick={() => void claim()}>
            {_('Start picking')}
          </Button>
        </>
      ) : at && ['released', 'in_progress'].includes(text(l['status'])) ? (
        <Line
          key={at.id}
          line={at}
          last={open.length === 1}
          done={again}
          skip={() => setLater([...later.filter((x) => x !== at.id), at.id])}
        />
      ) : (
        <Finished short={all.filter((x) => x['status'] === 'short').length} cancelled={l['status'] === 'cancelled'} />
      )}
    </div>
  );
}

function Finished({ short, cancelled }: { short: number; cancelled: boolean }) {
  return (
    <div class="finished">
      <span class="mark">
        <Icon name={cancelled ? 'close' : 'check'} size={36} />
      </span>
      <h2>{cancelled ? _('This list was cancelled') : _('Everything on this list is picked')}</h2>
      {short ? <p class="muted">{plural(short, '{n} line was short', '{n} lines were short')}</p> : null}
      <LinkButton kind="primary" size="big" href="/console/floor">
        {_('Next')}
      </LinkButton>
    </div>
  );
}

// Line is one place to go to: scan it, scan the goods, take them, next.
function Line({
  line,
  last,
  done,
  skip,
}: {
  line: Row;
  last: boolean;
  done: () => Promise<unknown>;
  skip: () => void;
}) {
  const zone = (line['zone'] ?? {}) as Row;
  const item = (line['item'] ?? {}) as Row;
  const lot = line['lot'] as Row | null;
  const left = Number(line['qty']) - Number(line['qty_picked'] ?? 0);
  const [seen, setSeen] = useState<{ zone?: string; item?: string; lot?: string; serials: string[] }>({ serials: [] });
  const [said, setSaid] = useState<Said | null>(null);
  const draft = useDraft(`pick ${line.id}`);
  const [quantity, setQuantity] = draft.field('quantity', String(left));
  const [weight, setWeight] = draft.field('weight', '');
  const [weightReason, setWeightReason] = draft.field('weight_reason', '');
  const [isOff, setOff] = useState(false);
  const [busy, setBusy] = useState(false);
  const [short, setShort] = useState(false);
  const serial = item['tracking'] === 'serial';
  const say = (ok: boolean, words: string) => {
    beep(ok);
    setSaid({ ok, text: words });
  };
  const read = async (code: string) => {
    setBusy(true);
    try {
      const s = await scan(code, { pick_line_id: line.id });
      const what = itemOf(s);
      if (s.kind === 'zone') {
        setSeen((now) => ({ ...now, zone: text(s.record?.['code']) }));
        say(true, _('Right place: {code}', { code: text(s.record?.['code']) }));
      } else if (what) {
        const number = s.kind === 'serial' ? text(s.record?.['serial']) : (s.parsed?.serial ?? '');
        const lot = s.parsed?.lot_no ?? (s.kind === 'lot' ? text(s.record?.['lot_no']) : undefined);
        setSeen((now) => ({
          ...now,
          item: text(what['sku']),
          lot: lot ?? now.lot,
          serials: number ? [...new Set([...(left > 1 ? now.serials : []), number])] : now.serials,
        }));
        say(true, _('Right goods: {sku}', { sku: text(what['sku']) }));
      } else say(false, _('That is neither the place nor the goods'));
    } catch (e) {
      say(false, sentenceOf(e));
    } finally {
      setBusy(false);
    }
  };
  const confirm = async () => {
    setBusy(true);
    const taken = Number(quantity);
    try {
      await rpc('pick_line', {
        pick_line_id: line.id,
        quantity: taken,
        weight_kg: weight ? Number(weight) : undefined,
        weight_reason: weightReason || undefined,
        zone_scan: seen.zone,
        item_scan: seen.item,
        lot_no: seen.lot,
        serials: seen.serials.length ? seen.serials : undefined,
      });
      beep(true);
      setOff(false);
      draft.restart();
      toast(_('{n} × {sku} picked', { n: number(taken), sku: text(item['sku']) }), [
        _('Undo'),
        () => {
          rpc('unpick', { pick_line_id: line.id, quantity: taken, to_zone_id: zone.id }).then(() => {
            toast(_('Put back'));
            void done();
          }, fail);
        },
      ]);
      await done();
    } catch (e) {
      say(false, sentenceOf(e));
      setOff(isWeightOff(e));
      // Wrong goods are scanned anew: what was read of them is not sent again.
      if (toFault(e).code === 'HF025') setSeen((now) => ({ zone: now.zone, serials: [] }));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <ScanField
        label={seen.zone ? _('Scan the goods') : _('Scan the place or the goods')}
        put={read}
        said={said}
        busy={busy}
      />
      <div class="task">
        <Step what={_('Go to the place')} seen={!!seen.zone}>
          <span class="large">{text(zone['code'])}</span>
          <span class="muted">{text(zone['name'])}</span>
        </Step>
        <Step what={_('Take')} seen={!!seen.item}>
          <span class="large">{text(item['sku'])}</span>
          <span>{text(item['name'])}</span>
          {lot ? <span class="strong">{_('Lot {no}', { no: text(lot['lot_no']) })}</span> : null}
          {line['serial'] ? <span class="strong">{_('Serial number {no}', { no: text(line['serial']) })}</span> : null}
          {serial && seen.serials.length ? <span class="small muted">{seen.serials.join(', ')}</span> : null}
          <Carried item={item} quantity={left} large />
        </Step>
        <div>
          <AmountOf
            label={_('Of {n}', { n: number(left) })}
            item={item}
            value={quantity}
            put={setQuantity}
            max={left}
          />
          {item['catch_weight'] ? (
            <WeightOf value={weight} put={setWeight} isOff={isOff} reason={weightReason} putReason={setWeightReason} />
          ) : null}
        </div>
      </div>
      <Button kind="primary" size="big" busy={busy} disabled={!(Number(quantity) > 0)} onClick={() => void confirm()}>
        {last && Number(quantity) === left ? _('Take it, and done') : _('Take it')}
      </Button>
      <div class="two">
        <Button size="big" onClick={() => setShort(true)}>
          {_('Not enough here')}
        </Button>
        <Button size="big" disabled={last} onClick={skip}>
          {_('Later')}
        </Button>
      </div>
      {short ? <Short line={line} item={item} left={left} close={() => setShort(false)} done={done} /> : null}
    </>
  );
}

export function Step({ what, seen, children }: { what: string; seen: boolean; children: preact.ComponentChildren }) {
  return (
    <div class={seen ? 'done' : ''}>
      <span class="what">
        {what}
        {seen ? (
          <span class="good">
            <Icon name="check" size={14} />
            {_('scanned')}
          </span>
        ) : null}
      </span>
      {children}
    </div>
  );
}

interface Shorted {
  reallocated: Row[];
  short: unknown[];
}

function Short({
  line,
  item,
  left,
  close,
  done,
}: {
  line: Row;
  item: Row;
  left: number;
  close: () => void;
  done: () => Promise<unknown>;
}) {
  const draft = useDraft(`short_pick ${line.id}`);
  const [found, setFound] = draft.field('found', '0');
  const [weight, setWeight] = draft.field('weight', '');
  const [weightReason, setWeightReason] = draft.field('weight_reason', '');
  const [isOff, setOff] = useState(false);
  const [reason, setReason] = draft.field('reason', 'empty');
  const [note, setNote] = draft.field('note', '');
  return (
    <Ask
      title={_('Not enough here')}
      text={_('What is missing is looked for in other places, and this one will be counted.')}
      yes={_('Say so')}
      close={close}
      draft={draft}
      act={async () => {
        const said = _(shortReasons.find(([v]) => v === reason)?.[1] ?? reason);
        const r = await rpc<Shorted>('short_pick', {
          pick_line_id: line.id,
          found: Number(line['qty_picked'] ?? 0) + Number(found),
          weight_kg: weight ? Number(weight) : undefined,
          weight_reason: weightReason || undefined,
          reason: note ? `${said}: ${note}` : said,
        }).catch((e) => {
          setOff(isWeightOff(e));
          throw e;
        });
        toast(
          r.reallocated.length
            ? _('The rest is in another place: it is on your list')
            : _('There is no more anywhere: the order is told'),
        );
        await done();
      }}
    >
      <AmountOf
        label={_('How many did you find and take?')}
        item={item}
        value={found}
        put={setFound}
        max={left - 0.0001}
      />
      {item['catch_weight'] && Number(found) > 0 ? (
        <WeightOf value={weight} put={setWeight} isOff={isOff} reason={weightReason} putReason={setWeightReason} />
      ) : null}
      <Select label={_('Why?')} value={reason} put={setReason} options={shortReasons.map(([v, t]) => [v, _(t)])} />
      <Input label={_('Note')} value={note} put={setNote} />
    </Ask>
  );
}
