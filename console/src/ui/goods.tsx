import { rpc, supabase, want } from '../lib/client';
import { nameOf, words, type Collection } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { number } from '../lib/format';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import type { Row } from '../database';
import { Empty, Skeleton } from './basic';
import { Ask } from './dialog';
import { Input, Select } from './form';
import { NumberInput } from './number';
import { toast } from './overlay';
import { Reference } from './reference';
import type { VerbGiven } from './given';

interface Level extends Row {
  item_id: string;
  zone_id: string;
  lot_id: string | null;
  serial: string | null;
  lpn: string | null;
  owner_id: string | null;
  stock_status: string;
  quantity: number;
  item: { sku: string; base_uom: string } | null;
  zone: { code: string } | null;
  lot: { lot_no: string } | null;
}

const columns: Record<string, string> = { items: 'item_id', zones: 'zone_id', stock_levels: 'id' };

// useLevels is what lies of an item, in a place, or under one line of the stock.
function useLevels(c: Collection, r: Row) {
  return useQuery({
    queryKey: ['c', 'stock_levels', 'goods', c.name, r.id],
    queryFn: () =>
      want<Level[]>(
        supabase
          .from('stock_levels')
          .select(
            'id,item_id,zone_id,lot_id,serial,lpn,owner_id,stock_status,quantity,item:item_id(sku,base_uom),zone:zone_id(code),lot:lot_id(lot_no)',
          )
          .eq((columns[c.name] ?? 'id') as 'id', r.id)
          .gt('quantity', 0)
          .order('id')
          .limit(500),
      ),
  });
}

// sayLevel says which goods a line of the stock is, as people tell them apart.
function sayLevel(l: Level): string {
  const which = [
    l.item?.sku,
    l.zone?.code,
    l.lot?.lot_no,
    l.serial,
    l.lpn,
    l.stock_status === 'available' ? '' : words(l.stock_status),
  ]
    .filter(Boolean)
    .join(' · ');
  return `${which}: ${number(Number(l.quantity))} ${l.item?.base_uom ?? ''}`;
}

// goodsOf names the goods of a line of the stock for a verb.
function goodsOf(l: Level) {
  const parts = { lot_id: l.lot_id, serial: l.serial, lpn: l.lpn, owner_id: l.owner_id };
  return {
    item_id: l.item_id,
    stock_status: l.stock_status as 'available',
    ...Object.fromEntries(Object.entries(parts).filter(([, v]) => v)),
  };
}

const placeField = (label: string) => ({ name: 'zone_id', type: 'uuid' as const, label, ref: 'zones' });

// MoveStock moves goods of an item or of a place to another place.
export function MoveStock({ c, r, done, close }: VerbGiven) {
  const levels = useLevels(c, r);
  const draft = useDraft(`move_stock ${r.id}`);
  const [chosen, setChosen] = draft.field('chosen', '');
  const [to, setTo] = draft.field('to', '');
  const [quantity, setQuantity] = draft.field('quantity', '');
  const at = chosen ? levels.data?.find((l) => l.id === chosen) : levels.data?.[0];
  const gone: [string, string][] = chosen && levels.data && !at ? [['', _('Choose')]] : [];
  // An amount is kept with the goods that it was typed for.
  const type = (v: string) => {
    if (at) setChosen(at.id);
    setQuantity(v);
  };
  return (
    <Ask
      title={_('Move goods: {what}', { what: nameOf(c, r) })}
      yes={_('Move goods')}
      close={close}
      draft={draft}
      error={levels.error}
      act={async () => {
        if (!at) return;
        await rpc('move_stock', {
          ...goodsOf(at),
          from_zone_id: at.zone_id,
          to_zone_id: to,
          quantity: Number(quantity),
        });
        toast(_('{n} × {sku} moved', { n: number(Number(quantity)), sku: at.item?.sku ?? '' }));
        done();
      }}
    >
      {levels.isPending ? (
        <Skeleton lines={2} />
      ) : !levels.data?.length ? (
        <Empty title={_('Nothing is in stock')} icon="box" />
      ) : null}
      {levels.data?.length ? (
        <>
          <Select
            label={_('Which goods?')}
            required
            value={at?.id ?? ''}
            put={setChosen}
            options={[...gone, ...levels.data.map((l): [string, string] => [l.id, sayLevel(l)])]}
          />
          <NumberInput
            label={_('How much?')}
            unit={at?.item?.base_uom}
            value={quantity}
            put={type}
            required
            autofocus
          />
          <Reference f={placeField('Into which place?')} text={to} put={setTo} required />
        </>
      ) : null}
    </Ask>
  );
}

// MovePlate moves a license plate with all that is on it.
export function MovePlate({ r, done, close }: VerbGiven) {
  const draft = useDraft(`move_plate ${r.id}`);
  const [to, setTo] = draft.field('to', '');
  const lpn = String(r['lpn'] ?? '');
  return (
    <Ask
      title={_('Move the plate: {what}', { what: lpn })}
      text={_('All that is on it goes along, also what is promised.')}
      yes={_('Move the plate')}
      close={close}
      draft={draft}
      act={async () => {
        await rpc('move_plate', { lpn, to_zone_id: to });
        toast(_('Plate {what} was moved', { what: lpn }));
        done();
      }}
    >
      <Reference f={placeField('Into which place?')} text={to} put={setTo} required />
    </Ask>
  );
}

const reasons: [string, string][] = [
  ['damage', 'Damaged'],
  ['found', 'Found'],
  ['lost', 'Lost'],
  ['expired', 'Expired'],
  ['correction', 'A mistake is corrected'],
];

// AdjustStock corrects what the books say of a place; what is worth much waits for a second person.
export function AdjustStock({ c, r, done, close }: VerbGiven) {
  const levels = useLevels(c, r);
  const draft = useDraft(`adjust_stock ${r.id}`);
  const [chosen, setChosen] = draft.field<string | null>('chosen', null);
  const [place, setPlace] = draft.field('place', c.name === 'zones' ? r.id : '');
  const [item, setItem] = draft.field('item', c.name === 'items' ? r.id : '');
  const [way, setWay] = draft.field('way', '-1');
  const [quantity, setQuantity] = draft.field('quantity', '');
  const [reason, setReason] = draft.field('reason', 'damage');
  const [note, setNote] = draft.field('note', '');
  const at = chosen === null ? levels.data?.[0] : levels.data?.find((l) => l.id === chosen);
  const isGone = !!chosen && !!levels.data && !at;
  const type = (v: string) => {
    if (at) setChosen(at.id);
    setQuantity(v);
  };
  const other: [string, string][] = isGone
    ? [['', _('Choose')]]
    : c.name === 'stock_levels'
      ? []
      : [['', _('Other goods')]];
  return (
    <Ask
      title={_('Adjust the stock: {what}', { what: nameOf(c, r) })}
      yes={_('Adjust the stock')}
      close={close}
      draft={draft}
      error={levels.error}
      act={async () => {
        const goods = at ? { ...goodsOf(at), zone_id: at.zone_id } : { item_id: item, zone_id: place };
        const out = await rpc<{ approval: Row | null }>('adjust_stock', {
          ...goods,
          quantity: Number(way) * Number(quantity),
          reason_code: reason,
          ...(note ? { note } : {}),
        });
        toast(out.approval ? _('It waits for a second person') : _('The stock is adjusted'));
        done();
      }}
    >
      {levels.isPending ? <Skeleton lines={2} /> : null}
      {levels.data ? (
        <Select
          label={_('Which goods?')}
          required={isGone}
          value={at?.id ?? ''}
          put={setChosen}
          options={[...levels.data.map((l): [string, string] => [l.id, sayLevel(l)]), ...other]}
        />
      ) : null}
      {levels.data && !at && !isGone && c.name !== 'items' ? (
        <Reference
          f={{ name: 'item_id', type: 'uuid', label: 'Item', ref: 'items' }}
          text={item}
          put={setItem}
          required
        />
      ) : null}
      {levels.data && !at && !isGone && c.name !== 'zones' ? (
        <Reference f={placeField('Zone')} text={place} put={setPlace} required />
      ) : null}
      <Select
        label={_('More or less than the books say?')}
        value={way}
        put={setWay}
        options={[
          ['-1', _('Less stock')],
          ['1', _('More stock')],
        ]}
      />
      <NumberInput label={_('By how much?')} unit={at?.item?.base_uom} value={quantity} put={type} required />
      <Select label={_('Why?')} value={reason} put={setReason} options={reasons.map(([v, t]) => [v, _(t)])} />
      <Input label={_('Note')} value={note} put={setNote} />
    </Ask>
  );
}

// PutBack puts goods of a pick line back to where they are free.
export function PutBack({ r, done, close }: VerbGiven) {
  const draft = useDraft(`unpick ${r.id}`);
  const [quantity, setQuantity] = draft.field('quantity', String(r['qty_picked'] ?? ''));
  const [to, setTo] = draft.field('to', String(r['zone_id'] ?? ''));
  return (
    <Ask
      title={_('Put back what was picked')}
      yes={_('Put back')}
      close={close}
      draft={draft}
      act={async () => {
        await rpc('unpick', { pick_line_id: r.id, quantity: Number(quantity), to_zone_id: to });
        toast(_('It is back in its place'));
        done();
      }}
    >
      <NumberInput label={_('How much?')} value={quantity} put={setQuantity} required autofocus />
      <Reference f={placeField('Into which place?')} text={to} put={setTo} required />
    </Ask>
  );
}
