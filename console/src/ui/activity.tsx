import { useState } from 'preact/hooks';
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
