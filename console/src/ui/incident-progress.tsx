import { useState } from 'preact/hooks';
import { nameOf, words, type Collection } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { _, plural } from '../lib/i18n';
import type { Row } from '../database';
import { Button, Card } from './basic';
import { blank, causeOf, causesOf, WhyFields } from './causes';
import { Ask } from './dialog';
import { Area, Input } from './form';
import type { IncidentGiven } from './given';
import { Icon } from './icon';
import { isOpen, useActions } from './incident-actions';
import { fail, toast } from './overlay';
import { write } from './record-form';
import { Reference } from './reference';
import { verbFor } from './verbs';
import { useTimes } from './where';

// Only what is serious must be investigated before it is closed (docs/safety.md).
const isSerious = (r: Row) =>
  ['high', 'critical'].includes(String(r['severity'])) || r['potential_severity'] === 'critical';

// passed says whether an incident went through a state, as far as the record tells.
function passed(r: Row, state: string, open: number): boolean {
  if (state === 'investigating') return !!r['investigated_at'];
  return state !== 'action_pending' || (r['status'] === 'closed' && open === 0);
}

// Progress is where the incident stands, what the next step needs, and the verbs that lead there.
export function Progress({ c, r, p, done }: IncidentGiven) {
  const told = useTimes();
  const [to, setTo] = useState('');
  const actions = useActions(r.id, p);
  const open = (actions.data ?? []).filter(isOpen).length;
  const status = String(r['status']);
  const steps = (c.fields.find((f) => f.name === 'status')?.one_of ?? []).filter((s) => s !== 'void');
  const at = steps.indexOf(status);
  const moves = (p.collections[c.name]?.moves ?? []).filter((m) => m.from.includes(status)).map((m) => m.to);
  const serious = isSerious(r) && !r['investigated_at'];
  const barred: Record<string, boolean> = { action_pending: open === 0 || serious, closed: open > 0 || serious };
  const finish = (s: string) => {
    toast(_('{what}: {state}', { what: nameOf(c, r), state: words(s) }));
    done();
  };
  const act = (s: string) => {
    if (s !== 'triaged' && s !== 'action_pending') return setTo(s);
    write(c, r, { status: s }).then(() => finish(s), fail);
  };
  const dialog = { c, r, to, close: () => setTo(''), finish: () => finish(to) };
  return (
    <Card
      label={_('Progress')}
      title={
        <ol class="steps" aria-label={_('Stages')}>
          {steps.map((s, i) => (
            <li key={s} aria-current={i === at ? 'step' : undefined}>
              <b>{i < at && passed(r, s, open) ? <Icon name="check" size={14} /> : i + 1}</b>
              {words(s)}
            </li>
          ))}
        </ol>
      }
    >
      <div class="row next">
        <p class="grow">{nextOf(r, open, serious, told)}</p>
        {moves.map((s) => (
          <Button
            key={s}
            kind={s === 'void' ? 'danger' : s === steps[at + 1] && !barred[s] ? 'primary' : undefined}
            disabled={barred[s]}
            onClick={() => act(s)}
          >
            {status === 'closed' ? _('Reopen') : s === 'action_pending' ? _('Wait for actions') : verbFor(s)}
          </Button>
        ))}
      </div>
      {to === 'investigating' ? <Investigate {...dialog} /> : null}
      {to === 'closed' ? <CloseIncident {...dialog} /> : null}
      {to === 'void' ? <VoidIncident {...dialog} /> : null}
    </Card>
  );
}

// nextOf says what the incident waits for.
function nextOf(r: Row, open: number, serious: boolean, told: (at: unknown) => string): string {
  const actions = plural(open, '{n} action is still open', '{n} actions are still open');
  switch (r['status']) {
    case 'reported':
      return _('Next somebody looks at it: is the severity right, and is it to be investigated?');
    case 'triaged':
      if (serious) return _('It is serious, or could have been: it is investigated before it is closed.');
      return open
        ? _('Next it is investigated, or waits for its actions: {actions}.', { actions })
        : _('Next it is investigated, or closed when nothing is left to do.');
    case 'investigating': {
      const causes = causesOf(r).length;
      const found = causes
        ? plural(causes, '{n} root cause is on record.', '{n} root causes are on record.')
        : _('It ends with a root cause: none is on record yet.');
      return open ? `${found} ${actions}.` : found;
    }
    case 'action_pending':
      return open
        ? _('It closes when each action is verified or cancelled: {actions}.', { actions })
        : _('No action is open: it can be closed.');
    case 'closed':
      return _('Closed {when}. What was concluded changes only by reopening it, with a reason.', {
        when: told(r['closed_at']),
      });
    default:
      return r['void_reason']
        ? _('It does not count: {why}', { why: String(r['void_reason']) })
        : _('It does not count.');
  }
}

interface Asked {
  c: Collection;
  r: Row;
  to: string;
  close: () => void;
  finish: () => void;
}

// Investigate asks who leads, until when, and why where it was closed before.
function Investigate({ c, r, close, finish }: Asked) {
  const draft = useDraft(`investigate ${r.id}`);
  const [lead, setLead] = draft.field('lead', String(r['lead_user_id'] ?? ''));
  const [due, setDue] = draft.field('due', String(r['due_on'] ?? ''));
  const [why, setWhy] = draft.field('why', '');
  const again = r['status'] === 'closed';
  const f = c.fields.find((x) => x.name === 'lead_user_id');
  return (
    <Ask
      title={again ? _('Reopen') : _('Investigate')}
      yes={again ? _('Reopen') : _('Investigate')}
      close={close}
      draft={draft}
      act={async () => {
        await write(c, r, {
          status: 'investigating',
          lead_user_id: lead || null,
          due_on: due || null,
          ...(again ? { reopen_reason: why } : {}),
        });
        finish();
      }}
    >
      {again ? <Input label={_('Why?')} value={why} put={setWhy} required /> : null}
      {f ? <Reference f={f} text={lead} put={setLead} required /> : null}
      <Input label={_('Done by')} type="date" value={due} put={setDue} required />
    </Ask>
  );
}

// CloseIncident asks for the root cause where an investigation has none, and for what was learned.
function CloseIncident({ c, r, close, finish }: Asked) {
  const draft = useDraft(`close ${r.id}`);
  const [lessons, setLessons] = draft.field('lessons', String(r['lessons'] ?? ''));
  const [cause, setCause] = draft.field('cause', blank);
  const needs = !!r['investigated_at'] && !causesOf(r).length;
  return (
    <Ask
      title={`${_('Close')}: ${nameOf(c, r)}`}
      text={
        needs ? _('An investigation ends with a root cause. Ask why until nothing lies behind the answer.') : undefined
      }
      yes={_('Close the incident')}
      close={close}
      draft={draft}
      act={async () => {
        await write(c, r, {
          status: 'closed',
          lessons: lessons || null,
          ...(needs ? { root_causes: [causeOf(cause)] } : {}),
        });
        finish();
      }}
    >
      {needs ? <WhyFields cause={cause} put={setCause} /> : null}
      <Area label={_('What was learned?')} value={lessons} put={setLessons} rows={3} />
    </Ask>
  );
}

function VoidIncident({ c, r, close, finish }: Asked) {
  const draft = useDraft(`void ${r.id}`);
  const [why, setWhy] = draft.field('why', '');
  return (
    <Ask
      danger
      title={`${verbFor('void')}: ${nameOf(c, r)}`}
      text={_('It stays on record and counts in no figure.')}
      yes={verbFor('void')}
      close={close}
      draft={draft}
      act={async () => {
        await write(c, r, { status: 'void', void_reason: why });
        finish();
      }}
    >
      <Input label={_('Why?')} value={why} put={setWhy} required />
    </Ask>
  );
}
