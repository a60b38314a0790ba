import type { ComponentChildren } from 'preact';
import type { Permissions } from '../lib/catalog';
import { ago, brief, date } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { formatView } from '../lib/records';
import { Badge, Card } from './basic';
import { clockNames } from './clocknames';
import type { Overview } from './overview';
import { hrefOf } from './value';

// So many of each are named; the way to all is beneath.
const shown = 3;

interface WaitProps {
  title: string;
  n: number;
  kind?: 'bad' | 'warn';
  // What it is, or that there is none.
  says: string;
  href?: string;
  children?: ComponentChildren;
}

// Wait is one kind of what wants somebody: how many, the nearest of them, and the way to all.
function Wait({ title, n, kind = 'warn', says, href, children }: WaitProps) {
  return (
    <Card flush title={<h3>{title}</h3>} footer={n && href ? <a href={href}>{_('All of them')}</a> : undefined}>
      <div class={`n ${n ? kind : ''}`}>{brief(n)}</div>
      <p class="small muted">{says}</p>
      {children}
    </Card>
  );
}

// Waiting is what wants somebody now: the reader's own actions, and what the law and the organisation's dates ask for.
export function Waiting({ o, p }: { o: Overview; p: Permissions }) {
  return (
    <section class="stack tight" aria-label={_('What waits for me')}>
      <h2>{_('What waits for me')}</h2>
      <div class="waits">
        <Mine o={o} p={p} />
        <Investigations o={o} />
        <LawClocks o={o} p={p} />
        <Certificates o={o} />
      </div>
    </section>
  );
}

function Mine({ o, p }: { o: Overview; p: Permissions }) {
  const { my_overdue_actions: n, my_actions: list } = o.waiting;
  const href = `/console/c/actions${formatView({
    conditions: [
      ['assignee_user_id', 'eq', p.user_id],
      ['status', 'in', '(open,in_progress)'],
      ['due_at', 'lt', o.timestamp],
    ],
    order: ['due_at', 'asc'],
  })}`;
  const says = n
    ? plural(n, 'action of mine is past its day', 'actions of mine are past their day')
    : _('No action of mine is past its day.');
  return (
    <Wait title={_('My overdue actions')} n={n} kind="bad" says={says} href={href}>
      <ul class="lines">
        {list.slice(0, shown).map((a) => (
          <li key={a.id}>
            <a class="grow clip" href={hrefOf('actions', a.id)}>
              {String(a.title)}
            </a>
            <span class="small down nobreak">{ago(a.due_at)}</span>
          </li>
        ))}
      </ul>
    </Wait>
  );
}

function Investigations({ o }: { o: Overview }) {
  const { investigations_due: n, investigations: list, today } = o.waiting;
  const href = `/console/c/incidents${formatView({
    conditions: [
      ['status', 'in', '(reported,triaged,investigating)'],
      ['due_on', 'lte', today],
    ],
    order: ['due_on', 'asc'],
  })}`;
  const says = n
    ? plural(n, 'was to be concluded by today', 'were to be concluded by today')
    : _('None was to be concluded by today.');
  return (
    <Wait title={_('Investigations due')} n={n} says={says} href={href}>
      <ul class="lines">
        {list.slice(0, shown).map((i) => (
          <li key={i.id}>
            <a class="grow clip" href={hrefOf('incidents', i.id)}>
              {String(i.title)}
            </a>
            <span class="small down nobreak">{date(i.due_on)}</span>
          </li>
        ))}
      </ul>
    </Wait>
  );
}

// LawClocks are by when the law wants something told; which, only who reads them sees.
function LawClocks({ o, p }: { o: Overview; p: Permissions }) {
  const clocks = o.waiting.legal_clocks;
  if (!clocks) return null;
  const n = clocks.running + clocks.overdue;
  const may = !!p.collections['legal_clocks']?.read;
  const says = clocks.overdue
    ? plural(clocks.overdue, '{n} of them is past its time', '{n} of them are past their time')
    : n
      ? _('none is past its time')
      : _('No deadline of the law runs. One begins with the facts of an injury.');
  return (
    <Wait
      title={_('Deadlines of the law')}
      n={n}
      kind={clocks.overdue ? 'bad' : 'warn'}
      says={says}
      href={may ? '/console/c/legal_clocks?f=state.eq.running&order=due_at.asc' : undefined}
    >
      <ul class="lines">
        {clocks.nearest.slice(0, shown).map((c) => (
          <li key={c.id}>
            <a class="grow" href={hrefOf('incidents', c.incident_id)}>
              {clockNames[c.code]?.() ?? c.code}
              <span class="small muted block">{c.incident_no}</span>
            </a>
            <Badge tone={c.overdue ? 'bad' : 'warn'}>{ago(c.due_at)}</Badge>
          </li>
        ))}
      </ul>
    </Wait>
  );
}

function Certificates({ o }: { o: Overview }) {
  const { certificates_ending: n, certificates_until: until, today } = o.waiting;
  const href = `/console/c/training_assignments${formatView({
    conditions: [
      ['status', 'eq', 'completed'],
      ['expires_on', 'gte', today],
      ['expires_on', 'lte', until],
    ],
  })}`;
  const says = n
    ? plural(n, 'ends by {when}', 'end by {when}', { when: date(until) })
    : _('None on record ends by {when}.', { when: date(until) });
  return <Wait title={_('Certificates that end')} n={n} says={says} href={href} />;
}
