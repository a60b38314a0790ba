import { words, type Permissions } from '../lib/catalog';
import { _ } from '../lib/i18n';
import { canReassign, dueSays, isLate, isToDo, isUrgent, stepsOf, type Action } from './actions';
import { Badge, Button } from './basic';
import { Icon } from './icon';
import { Menu } from './overlay';
import { hrefOf } from './value';
import { verbFor } from './verbs';

// Step is what somebody is about to do with an action: lead it to a state, or hand it to somebody.
export type Step = { x: Action; to: string };

export interface CardGiven {
  x: Action;
  p: Permissions;
  names: Map<string, string>;
  step: (s: Step) => void;
  choose?: (id: string) => void;
  isChosen?: boolean;
}

// stepFor is what leads an action to a state, as a button says it.
function stepFor(x: Action, to: string): string {
  if (x.status === 'done' && to === 'in_progress') return _('Send back');
  return to === 'cancelled' ? _('Cancel the action') : verbFor(to);
}

const ofSource: Record<string, string> = {
  checklist_answer: 'checklist_answers',
  compliance_event: 'compliance_events',
  score: 'predictive_scores',
  talk: 'toolbox_talks',
};

// StandsOn is the record that an action came from, as a link for whoever reads it.
export function StandsOn({ x, p }: Pick<CardGiven, 'x' | 'p'>) {
  if (x.incident)
    return (
      <a href={hrefOf('incidents', x.incident.id)} title={x.incident.title}>
        {x.incident.incident_no} {x.incident.title}
      </a>
    );
  const collection = ofSource[x.source];
  if (!collection || !x.source_id || !p.collections[collection]?.read) return <>{words(x.source)}</>;
  return <a href={hrefOf(collection, x.source_id)}>{words(x.source)}</a>;
}

// ownerOf is the person in charge.
export const ownerOf = (x: Action, names: Map<string, string>) =>
  x.assignee_user_id ? (names.get(x.assignee_user_id) ?? _('A colleague')) : _('nobody yet');

export function Due({ x }: { x: Action }) {
  return (
    <span class={`small ${isLate(x) ? 'down strong' : 'muted'}`}>
      {dueSays(x)}
      {isLate(x) && x.escalated_to ? `, ${_('told to: {role}', { role: words(x.escalated_to) })}` : ''}
    </span>
  );
}

export function Tick({ x, choose, isChosen }: Pick<CardGiven, 'x' | 'choose' | 'isChosen'>) {
  if (!choose || !isToDo(x)) return null;
  return (
    <input
      type="checkbox"
      class="tick"
      aria-label={_('Choose {what}', { what: x.action_no })}
      checked={!!isChosen}
      onChange={() => choose(x.id)}
    />
  );
}

// Steps are what the reader may do next: the usual step as a button, the others behind it.
export function Steps({ x, p, step }: Pick<CardGiven, 'x' | 'p' | 'step'>) {
  const all = stepsOf(x, p);
  const others = all.slice(1);
  const mayHand = isToDo(x) && canReassign(p);
  const first = all[0];
  return (
    <div class="row tight">
      {first ? (
        <Button size="small" kind={first === 'cancelled' ? 'danger' : 'primary'} onClick={() => step({ x, to: first })}>
          {stepFor(x, first)}
          <span class="sr"> {x.action_no}</span>
        </Button>
      ) : null}
      <span class="push" />
      {others.length || mayHand ? (
        <Menu icon="more" label={_('More for {what}', { what: x.action_no })}>
          {(close) => (
            <>
              {others.map((to) => (
                <button key={to} type="button" onClick={() => (close(), step({ x, to }))}>
                  <Icon name={to === 'cancelled' ? 'close' : to === 'in_progress' ? 'undo' : 'check'} size={16} />
                  {stepFor(x, to)}
                </button>
              ))}
              {mayHand ? (
                <button type="button" onClick={() => (close(), step({ x, to: 'assignee' }))}>
                  <Icon name="user" size={16} />
                  {_('Reassign')}
                </button>
              ) : null}
            </>
          )}
        </Menu>
      ) : null}
    </div>
  );
}

// ActionCard is one action on the board: what, what it stands on, whose, by when, and what is done next.
export function ActionCard({ x, p, names, step, choose, isChosen }: CardGiven) {
  return (
    <li class={isLate(x) ? 'late' : ''}>
      <div class="row tight">
        <Tick x={x} choose={choose} isChosen={isChosen} />
        <span class="small muted">{x.action_no}</span>
      </div>
      <a class="action-title" id={`action-${x.id}`} href={hrefOf('actions', x.id)}>
        {x.title}
      </a>
      <p class="small muted clip stands">
        <StandsOn x={x} p={p} />
      </p>
      <p class="small muted">{x.control_level ? words(x.control_level) : _('No level of control')}</p>
      <p class="small clip">{ownerOf(x, names)}</p>
      <div class="row tight">
        <Due x={x} />
        <span class="push" />
        {isUrgent(x) ? <Badge state={x.priority} /> : null}
      </div>
      <Steps x={x} p={p} step={step} />
    </li>
  );
}
