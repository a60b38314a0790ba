import { useState } from 'preact/hooks';
import { rpc } from '../lib/client';
import type { Permissions } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { _ } from '../lib/i18n';
import { queryClient } from '../lib/query';
import type { Row } from '../database';
import { Button } from './basic';
import { Ask } from './dialog';
import { Input, Select } from './form';
import { toast } from './overlay';

const problems: [string, string][] = [
  ['REFUSED', 'Refused'],
  ['DAMAGED', 'Damaged'],
  ['LOST', 'Lost'],
  ['ADDRESS_UNKNOWN', 'Wrong address'],
  ['NOBODY_THERE', 'Nobody there'],
  ['OTHER', 'Something else'],
];

// Outcome says what became of a shipment on the road: it was handed over, or something was wrong.
export function Outcome({
  s,
  p,
  size = 'small',
}: {
  s: Row & { shipment_no: string; status: string; direction: string };
  p: Permissions;
  size?: 'small' | 'big' | 'plain';
}) {
  const [asking, setAsking] = useState<'deliver' | 'exception' | null>(null);
  const button = size === 'plain' ? undefined : size;
  const may = (v: string) => p.verbs?.[v] === true;
  if (
    s.direction !== 'outbound' ||
    !['in_transit', 'exception'].includes(s.status) ||
    !(may('deliver') || may('report_exception'))
  )
    return null;
  return (
    <>
      <div class={size === 'big' ? 'two' : 'row tight'}>
        {may('deliver') ? (
          <Button size={button} kind="primary" onClick={() => setAsking('deliver')}>
            {_('Delivered')}
          </Button>
        ) : null}
        {may('report_exception') && s.status === 'in_transit' ? (
          <Button size={button} onClick={() => setAsking('exception')}>
            {_('Problem')}
          </Button>
        ) : null}
      </div>
      {asking === 'deliver' ? <HandOver s={s} close={() => setAsking(null)} /> : null}
      {asking === 'exception' ? <Trouble s={s} close={() => setAsking(null)} /> : null}
    </>
  );
}

interface Asked {
  s: Row & { shipment_no: string };
  close: () => void;
}

const again = () =>
  queryClient.invalidateQueries({ predicate: (q) => q.queryKey[1] === 'shipments' || q.queryKey[1] === 'routes' });

function HandOver({ s, close }: Asked) {
  const draft = useDraft(`deliver ${s.id}`);
  const [name, setName] = draft.field('name', '');
  return (
    <Ask
      title={_('{no} is delivered', { no: s.shipment_no })}
      yes={_('Say so')}
      close={close}
      draft={draft}
      act={async () => {
        await rpc('deliver', { shipment_id: s.id, proof: { name } });
        toast(_('{no} is delivered', { no: s.shipment_no }));
        void again();
      }}
    >
      <Input label={_('Who took it?')} value={name} put={setName} required autofocus />
    </Ask>
  );
}

function Trouble({ s, close }: Asked) {
  const draft = useDraft(`report_exception ${s.id}`);
  const [code, setCode] = draft.field('code', 'REFUSED');
  const [note, setNote] = draft.field('note', '');
  return (
    <Ask
      title={_('A problem with {no}', { no: s.shipment_no })}
      yes={_('Say so')}
      close={close}
      draft={draft}
      act={async () => {
        await rpc('report_exception', { shipment_id: s.id, code, note: note || undefined });
        toast(_('It is noted'));
        void again();
      }}
    >
      <Select label={_('What happened?')} value={code} put={setCode} options={problems.map(([v, t]) => [v, _(t)])} />
      <Input label={_('Note')} value={note} put={setNote} />
    </Ask>
  );
}
