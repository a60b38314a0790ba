import { useEffect, useState } from 'preact/hooks';
import { ask } from '../lib/client';
import { nameOf, words, type Collection } from '../lib/catalog';
import { date, number } from '../lib/format';
import { _ } from '../lib/i18n';
import { today } from '../lib/zone';
import type { Row } from '../database';
import { Dialog } from './dialog';
import { Button, Problem } from './basic';
import { Input } from './form';

interface Day {
  on: string;
  closing_quantity: number;
  activities: { type: string; lines: number; quantity: number }[];
}

// OwnerActivity says day by day what was done with the goods of an owner, and what lay there: what a client is billed for.
export function OwnerActivity({ c, r, close }: { c: Collection; r: Row; close: () => void }) {
  const [from, setFrom] = useState(today(30));
  const [to, setTo] = useState(today());
  const [days, setDays] = useState<Day[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const show = () =>
    ask<{ days: Day[] }>('owner_activity', { owner_id: r.id, from, to }).then(
      (a) => (setError(null), setDays(a.days)),
      setError,
    );
  return (
    <Dialog
      kind="wide"
      title={_('What was done for {name}', { name: nameOf(c, r) })}
      close={close}
      submit={() => void show()}
      footer={
        <Button type="submit" kind="primary">
          {_('Show')}
        </Button>
      }
    >
      <Input label={_('First day')} type="date" value={from} put={setFrom} required />
      <Input label={_('Last day')} type="date" value={to} put={setTo} required />
      <Problem error={error} />
      {days ? (
        <table>
          <thead>
            <tr>
              <th>{_('Day')}</th>
              <th>{_('What was done')}</th>
              <th class="num">{_('In stock at its end')}</th>
            </tr>
          </thead>
          <tbody>
            {days.map((d) => (
              <tr key={d.on}>
                <td>{date(d.on)}</td>
                <td>{d.activities.map((a) => `${words(a.type)}: ${number(Number(a.quantity))}`).join(', ') || '–'}</td>
                <td class="num">{number(Number(d.closing_quantity))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : null}
    </Dialog>
  );
}

interface Lies {
  items: {
    item_id: string;
    sku: string;
    name: string;
    uom: string;
    on_hand: number;
    reserved: number;
    free: number;
    lots: { lot_no: string; expires_on?: string; on_hand: number; free: number }[];
  }[];
  next_sku?: string;
}

// OwnerStock says what lies here of the goods of an owner, by item and lot.
export function OwnerStock({ c, r, close }: { c: Collection; r: Row; close: () => void }) {
  const [items, setItems] = useState<Lies['items'] | null>(null);
  const [next, setNext] = useState<string | undefined>(undefined);
  const [error, setError] = useState<unknown>(null);
  const read = (after?: string) =>
    ask<Lies>('owner_stock', { owner_id: r.id, ...(after ? { after_sku: after } : {}) }).then((a) => {
      setError(null);
      setItems((now) => [...(after ? (now ?? []) : []), ...a.items]);
      setNext(a.next_sku);
    }, setError);
  useEffect(() => void read(), [r.id]);
  const amount = (of: number, uom: string) => `${number(Number(of))} ${uom}`;
  return (
    <Dialog
      kind="wide"
      title={_('What lies here of {name}', { name: nameOf(c, r) })}
      close={close}
      footer={next ? <Button onClick={() => void read(next)}>{_('More')}</Button> : undefined}
    >
      <Problem error={error} />
      {items?.length === 0 ? <p>{_('Nothing is in stock')}</p> : null}
      {items?.length ? (
        <table>
          <thead>
            <tr>
              <th>{_('SKU')}</th>
              <th class="num">{_('On hand')}</th>
              <th class="num">{_('Available')}</th>
            </tr>
          </thead>
          <tbody>
            {items.flatMap((item) => [
              <tr key={item.item_id}>
                <th scope="row">
                  {item.sku} · {item.name}
                </th>
                <td class="num">{amount(item.on_hand, item.uom)}</td>
                <td class="num">{amount(item.free, item.uom)}</td>
              </tr>,
              ...item.lots
                .filter((lot) => lot.lot_no)
                .map((lot) => (
                  <tr key={`${item.item_id} ${lot.lot_no}`}>
                    <td>
                      {lot.expires_on
                        ? _('Lot {no}, until {date}', { no: lot.lot_no, date: date(lot.expires_on) })
                        : _('Lot {no}', { no: lot.lot_no })}
                    </td>
                    <td class="num">{amount(lot.on_hand, item.uom)}</td>
                    <td class="num">{amount(lot.free, item.uom)}</td>
                  </tr>
                )),
            ])}
          </tbody>
        </table>
      ) : null}
    </Dialog>
  );
}
