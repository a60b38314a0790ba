import { useRef, useState } from 'preact/hooks';
import { rpc } from '../lib/client';
import { nameOf } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { number } from '../lib/format';
import { _ } from '../lib/i18n';
import type { Row } from '../database';
import { Button, Copy, Note } from './basic';
import { Ask, Dialog } from './dialog';
import { Input } from './form';
import { hrefOf } from './value';
import type { VerbGiven } from './given';

interface Recalled {
  zones: { zone_id: string; code: string; quantity: number; reserved: number }[];
  customers: { party_name: string; party_code: string }[];
  orders: Row[];
  shipments: Row[];
}

// Recall recalls a lot, and then says where it lies and who was sent it, with the words of a letter to them.
export function Recall({ c, r, done, close }: VerbGiven) {
  const draft = useDraft(`recall_lot ${r.id}`);
  const [reason, setReason] = draft.field('reason', '');
  const [result, setResult] = useState<Recalled | null>(null);
  const sent = useRef(false);
  if (!result)
    return (
      <Ask
        danger
        title={_('{verb}: {what}?', { verb: _('Recall'), what: nameOf(c, r) })}
        text={_('What is not packed goes on hold. Then you see where it lies and who was sent it.')}
        yes={_('Recall')}
        close={() => sent.current || close()}
        draft={draft}
        act={async () => {
          const answer = await rpc<Recalled>('recall_lot', { lot_id: r.id, reason });
          sent.current = true;
          setResult(answer);
        }}
      >
        <Input label={_('Why?')} value={reason} put={setReason} required autofocus />
      </Ask>
    );
  const end = () => {
    close();
    done();
  };
  const letter = _(
    'We recall lot {lot}. Reason: {reason}. Please do not use or sell these goods and tell us how many you have.',
    { lot: String(r['lot_no']), reason },
  );
  return (
    <Dialog
      kind="wide"
      title={_('{what} is recalled', { what: nameOf(c, r) })}
      close={end}
      footer={
        <Button kind="primary" onClick={end}>
          {_('Close')}
        </Button>
      }
    >
      <h3>{_('Who was sent it')}</h3>
      {result.customers.length ? (
        <ul class="lines">
          {result.customers.map((x) => (
            <li key={x.party_name + x.party_code}>
              {x.party_name} <span class="muted">{x.party_code}</span>
            </li>
          ))}
        </ul>
      ) : (
        <p class="muted">{_('Nobody was sent it.')}</p>
      )}
      {result.customers.length ? (
        <Note>
          {letter} <Copy text={letter} label={_('Copy')} />
        </Note>
      ) : null}
      <h3>{_('Where it lies')}</h3>
      {result.zones.length ? (
        <ul class="lines">
          {result.zones.map((z) => (
            <li key={z.zone_id}>
              <a href={hrefOf('zones', z.zone_id)}>{z.code}</a> <span class="push">{number(Number(z.quantity))}</span>
            </li>
          ))}
        </ul>
      ) : (
        <p class="muted">{_('Nothing is in stock')}</p>
      )}
      {[...result.orders, ...result.shipments].length ? <h3>{_('Orders and shipments with it')}</h3> : null}
      <ul class="lines">
        {result.orders.map((o) => (
          <li key={o.id}>
            <a href={hrefOf('orders', o.id)}>{String(o['order_no'])}</a>{' '}
            <span class="muted">{String(o['party_name'] ?? '')}</span>
          </li>
        ))}
        {result.shipments.map((s) => (
          <li key={s.id}>
            <a href={hrefOf('shipments', s.id)}>{String(s['shipment_no'])}</a>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
