import { useRef, useState } from 'preact/hooks';
import { api } from '../lib/client';
import { nameOf, type Collection, type Permissions } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { dateTime } from '../lib/format';
import { _, language } from '../lib/i18n';
import type { Row } from '../database';
import { Button, Copy, Note } from './basic';
import { Ask, Dialog } from './dialog';
import { Input } from './form';
import { hrefOf } from './value';

interface Made {
  id: string;
  url: string;
  expires_at: string;
}

// The records whose document can be lent to somebody without an account.
const places: Record<string, string> = {
  incidents: 'incidents',
  checklist_runs: 'checklist-runs',
  training_assignments: 'training-assignments',
  risk_register_versions: 'risk-register-versions',
};

// ShareButton lends the document of a record to somebody without an account, for those who may.
export function ShareButton({ c, r, p }: { c: Collection; r: Row; p: Permissions }) {
  const [isOpen, setOpen] = useState(false);
  const isPrintable = c.name !== 'training_assignments' || r['status'] === 'completed';
  if (!places[c.name] || !isPrintable || !p.collections['shared_documents']?.read || p.read_only) return null;
  return (
    <>
      <Button icon="copy" onClick={() => setOpen(true)}>
        {_('Share')}
      </Button>
      {isOpen ? <Share c={c} r={r} close={() => setOpen(false)} /> : null}
    </>
  );
}

// Share asks until when and with which password, and then shows the link, once. The password is kept in no draft.
function Share({ c, r, close }: { c: Collection; r: Row; close: () => void }) {
  const draft = useDraft(`share ${r.id}`);
  const [days, setDays] = draft.field('days', '7');
  const [password, setPassword] = useState('');
  const [made, setMade] = useState<Made | null>(null);
  const sent = useRef(false);
  if (!made)
    return (
      <Ask
        title={_('Share {what}', { what: nameOf(c, r) })}
        text={_('Whoever has the link and the password reads the document as you do then, without an account.')}
        yes={_('Make a link')}
        close={() => sent.current || close()}
        draft={draft}
        act={async () => {
          const path = `/v1/${places[c.name]}/${r.id}/share`;
          const json = { password, expires_in_days: Number(days), language: language.get() };
          const answer = await api<Made>(path, { method: 'POST', json });
          sent.current = true;
          setMade(answer);
        }}
      >
        <Input
          label={_('Days until it ends')}
          type="number"
          min="1"
          max="90"
          whole
          value={days}
          put={setDays}
          required
        />
        <Input
          label={_('Password')}
          type="password"
          autocomplete="new-password"
          value={password}
          put={setPassword}
          help={_('Tell it on another way than the link.')}
          required
        />
      </Ask>
    );
  return (
    <Dialog
      title={_('The link is made')}
      close={close}
      footer={
        <Button kind="primary" onClick={close}>
          {_('Close')}
        </Button>
      }
    >
      <Note>
        <span class="break">{made.url}</span> <Copy text={made.url} label={_('Copy')} />
      </Note>
      <p>{_('It is shown this once, and ends {when}.', { when: dateTime(made.expires_at) })}</p>
      <p>
        <a href={hrefOf('shared_documents', made.id)}>{_('Who opened it, and revoke it')}</a>
      </p>
    </Dialog>
  );
}
