import { useState } from 'preact/hooks';
import { rpc } from '../lib/client';
import { words, type Catalog, type Collection, type Permissions } from '../lib/catalog';
import { ago, number } from '../lib/format';
import { _ } from '../lib/i18n';
import type { Row, Verb, VerbArgs } from '../database';
import { Button, Card, Meter } from './basic';
import { Icon } from './icon';
import { fail, toast } from './overlay';
import { Plain } from './plain';
import { Children } from './related';
import { useTimes } from './where';
import '../work.css';

interface Saying {
  name: Extract<Verb, `${string}_order`>;
  text: string;
  done: string;
  may: (o: Row) => boolean;
  reason?: boolean;
  kind?: 'primary' | 'danger';
}

const open = (o: Row) => ['confirmed', 'in_progress'].includes(String(o['status']));

const moved = (o: Row) => Number(o['qty_shipped'] ?? 0) + Number(o['qty_received'] ?? 0);

// What can be said about an order, in the order in which it is usually said.
const verbs: Saying[] = [
  {
    name: 'confirm_order',
    text: 'Confirm',
    done: 'The order is confirmed',
    kind: 'primary',
    may: (o) => o['status'] === 'draft',
  },
  {
    name: 'allocate_order',
    text: 'Promise stock',
    done: 'What is free was promised',
    kind: 'primary',
    may: (o) =>
      ['outbound', 'transfer'].includes(String(o['type'])) &&
      open(o) &&
      Number(o['qty_allocated']) < Number(o['qty_ordered']),
  },
  {
    name: 'resume_order',
    text: 'Let it go on',
    done: 'The order goes on',
    kind: 'primary',
    may: (o) => o['status'] === 'on_hold',
  },
  { name: 'hold_order', text: 'Put on hold', done: 'The order is on hold', reason: true, may: open },
  {
    name: 'deallocate_order',
    text: 'Give stock back',
    done: 'What was not picked is free again',
    may: (o) => open(o) && Number(o['qty_allocated']) > Number(o['qty_picked']),
  },
  {
    name: 'cancel_order',
    text: 'Cancel',
    done: 'The order is cancelled',
    reason: true,
    kind: 'danger',
    may: (o) => ['draft', 'confirmed', 'on_hold', 'in_progress'].includes(String(o['status'])) && moved(o) === 0,
  },
  {
    name: 'close_order',
    text: 'Close the rest',
    done: 'The rest is no longer waited for',
    reason: true,
    kind: 'danger',
    may: (o) => o['status'] === 'in_progress' && moved(o) > 0,
  },
];

// OrderVerbs are what this person can do about the order as it stands.
export function OrderVerbs({ o, p, done }: { o: Row; p: Permissions; done: () => void }) {
  const [asking, setAsking] = useState<Saying | null>(null);
  const [busy, setBusy] = useState('');
  const say = (v: Saying, reason?: string) => rpc(v.name, { order_id: o.id, reason } as VerbArgs<typeof v.name>);
  const at = verbs.filter((v) => p.verbs?.[v.name] && v.may(o));
  return (
    <>
      {at.map((v) => (
        <Button
          key={v.name}
          kind={v.kind}
          busy={busy === v.name}
          onClick={() => {
            if (v.reason || v.kind === 'danger') return setAsking(v);
            setBusy(v.name);
            void say(v)
              .then(() => {
                toast(_(v.done));
                done();
              })
              .catch(fail)
              .finally(() => setBusy(''));
          }}
        >
          {_(v.text)}
        </Button>
      ))}
      {asking ? (
        <Plain
          title={`${_(asking.text)}: ${String(o['order_no'])}`}
          text={asking.text}
          said={asking.done}
          reason={asking.reason}
          danger={asking.kind === 'danger'}
          done={done}
          close={() => setAsking(null)}
          act={(reason) => say(asking, asking.reason ? reason : undefined)}
        />
      ) : null}
    </>
  );
}

const stages: Record<string, string[]> = {
  outbound: ['unallocated', 'allocated', 'picking', 'picked', 'packed', 'shipped', 'delivered'],
  transfer: ['unallocated', 'allocated', 'picking', 'picked', 'packed', 'shipped', 'part_received', 'received'],
  inbound: ['expected', 'part_received', 'received'],
};

// OrderProgress is how far the order has come, by its quantities.
export function OrderProgress({ o }: { o: Row }) {
  const outbound = o['type'] !== 'inbound' && o['type'] !== 'return';
  const transfer = o['type'] === 'transfer';
  const list = stages[transfer ? 'transfer' : outbound ? 'outbound' : 'inbound'] as string[];
  const now = String(o['stage'] ?? '')
    .replace('part_allocated', 'unallocated')
    .replace('part_shipped', 'packed')
    .replace(transfer ? 'delivered' : '-', 'shipped');
  const at = list.indexOf(now);
  const ordered = Number(o['qty_ordered']) || 1;
  const part = (name: string) => Number(o[name] ?? 0);
  const bars: [string, string][] = outbound
    ? [
        ['qty_allocated', 'Promised'],
        ['qty_picked', 'Picked'],
        ['qty_packed', 'Packed'],
        ['qty_shipped', 'Shipped'],
        ...(transfer ? [['qty_received', 'Received'] as [string, string]] : []),
      ]
    : [['qty_received', 'Received']];
  const told = useTimes();
  const promised = `${told(o['promised_at'])} (${ago(o['promised_at'])})`;
  const late =
    o['promised_at'] &&
    new Date(String(o['promised_at'])) < new Date() &&
    !['completed', 'cancelled'].includes(String(o['status']));
  return (
    <Card
      title={_('How far it is')}
      actions={
        o['promised_at'] ? (
          <span class={`row tight ${late ? 'down strong' : 'muted'}`}>
            <Icon name="clock" size={16} />
            {late ? _('Late: promised {when}', { when: promised }) : _('Promised {when}', { when: promised })}
          </span>
        ) : null
      }
    >
      <div class="stack">
        {at >= 0 ? (
          <ol class="steps" aria-label={_('Stages')}>
            {list.map((s, i) => (
              <li key={s} aria-current={i === at ? 'step' : undefined}>
                <b>{i < at ? <Icon name="check" size={14} /> : i + 1}</b>
                {words(i === at ? String(o['stage']) : s)}
              </li>
            ))}
          </ol>
        ) : null}
        <div class="grid" style={{ '--min': '170px' }}>
          {bars
            .filter(([n]) => n in o)
            .map(([n, text]) => (
              <div key={n} class="stack tight">
                <div class="row">
                  <span class="muted small">{_(text)}</span>
                  <span class="push">
                    {_('{n} of {m}', { n: number(part(n)), m: number(Number(o['qty_ordered'])) })}
                  </span>
                </div>
                <Meter value={(part(n) / ordered) * 100} warn={1000} bad={1000} label={_(text)} />
              </div>
            ))}
        </div>
      </div>
    </Card>
  );
}

// OrderLines are what was asked for and where each line stands.
export function OrderLines({ o, catalog, p }: { o: Row; catalog: Catalog; p: Permissions }) {
  const c = catalog.get('order_lines');
  if (!c || !p.collections['order_lines']?.read) return null;
  return (
    <Card flush title={_('Lines')}>
      <Children
        c={c as Collection}
        column="order_id"
        id={o.id}
        catalog={catalog}
        p={p}
        columns={
          o['type'] === 'inbound'
            ? ['line_no', 'item_id', 'qty_ordered', 'qty_received', 'uom', 'unit_price', 'amount']
            : [
                'line_no',
                'item_id',
                'qty_ordered',
                'qty_allocated',
                'qty_picked',
                'qty_packed',
                'qty_shipped',
                'unit_price',
                'amount',
              ]
        }
        limit={30}
      />
    </Card>
  );
}
