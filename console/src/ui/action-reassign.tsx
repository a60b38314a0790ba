import { useState } from 'preact/hooks';
import { records, want } from '../lib/client';
import { words, type Permissions } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { _, plural } from '../lib/i18n';
import type { Row } from '../database';
import { ownerOf } from './action-card';
import { isToDo, readAgain, toDo, type Action } from './actions';
import { Ask } from './dialog';
import { Select } from './form';
import { toast } from './overlay';
import { usePeople } from './value';

// So many actions are named; of the others their number.
const named = 20;

// shownOwners are the conditions under which actions are still whose they were shown to be.
function shownOwners(list: Action[]): string {
  const owners = new Map<string, string[]>();
  for (const x of list) {
    const owner = x.assignee_user_id ? `eq.${x.assignee_user_id}` : 'is.null';
    owners.set(owner, [...(owners.get(owner) ?? []), x.id]);
  }
  return [...owners].map(([owner, ids]) => `and(id.in.(${ids.join()}),assignee_user_id.${owner})`).join();
}

// reassignActions hands actions to somebody in one request, and returns those that it left: what is not to be done any
// more keeps who did it, and what somebody else was given meanwhile stays theirs.
async function reassignActions(list: Action[], to: string): Promise<Action[]> {
  const changed = await want<Row[]>(
    records('actions').update({ assignee_user_id: to }).or(shownOwners(list)).in('status', toDo).select('id'),
  );
  const ids = new Set(changed.map((x) => x.id));
  return list.filter((x) => !ids.has(x.id));
}

// readLeft reads the actions that were left as they are now; what the reader does not see any more is not among them.
function readLeft(list: Action[]): Promise<Action[]> {
  return want<Action[]>(
    records('actions')
      .select('id,action_no,title,status,assignee_user_id')
      .in(
        'id',
        list.map((x) => x.id),
      ),
  );
}

const stateOf = (x?: Action) => (x ? words(x.status) : _('gone'));

// whyLeft says of actions that were not handed over why, each by its number.
function whyLeft(list: Action[], now: Map<string, Action>, names: Map<string, string>): string {
  const taken = list.flatMap((x) => now.get(x.id) ?? []).filter(isToDo);
  const over = list.filter((x) => !taken.some((t) => t.id === x.id));
  const says = (x: Action, state: string) => `${x.action_no} ${x.title} (${state})`;
  return [
    over.length
      ? _('Not reassigned, as they are not to be done any more: {what}.', {
          what: over.map((x) => says(x, stateOf(now.get(x.id)))).join(', '),
        })
      : '',
    taken.length
      ? _('Not reassigned, as they were given to somebody else meanwhile: {what}.', {
          what: taken.map((x) => says(x, ownerOf(x, names))).join(', '),
        })
      : '',
  ]
    .filter(Boolean)
    .join(' ');
}

// Reassign says of whom how many actions go to whom, and hands them over.
export function Reassign({
  list: chosen,
  p,
  names,
  close,
  handed,
  done,
}: {
  list: Action[];
  p: Permissions;
  names: Map<string, string>;
  close: () => void;
  handed: (ids: string[]) => void;
  done: (first: string) => void;
}) {
  // What is asked stays what was chosen, however the board changes meanwhile; what was handed over is asked no more.
  const [list, setList] = useState(chosen);
  const draft = useDraft(`reassign ${list.map((x) => x.id).join()}`);
  const [to, setTo] = draft.field('to', '');
  const people = usePeople(p);
  const moved = list.filter((x) => x.assignee_user_id !== to);
  const act = async () => {
    if (!to) throw new Error(_('Choose who takes them over.'));
    const left = await reassignActions(moved, to);
    handed(moved.filter((x) => !left.includes(x)).map((x) => x.id));
    if (left.length) {
      void readAgain();
      const now = new Map((await readLeft(left)).map((x) => [x.id, x]));
      const open = left.flatMap((x) => now.get(x.id) ?? []).filter((x) => isToDo(x) && x.assignee_user_id !== to);
      setList(open);
      const missed = left.filter((x) => now.get(x.id)?.assignee_user_id !== to);
      if (missed.length) throw new Error(whyLeft(missed, now, names));
    }
    toast(plural(moved.length, '{n} action was reassigned', '{n} actions were reassigned'));
    done((moved[0] ?? list[0])?.id ?? '');
  };
  return (
    <Ask
      title={list.length ? plural(list.length, 'Reassign {n} action', 'Reassign {n} actions') : _('Reassign')}
      yes={to && moved.length ? plural(moved.length, 'Reassign {n} action', 'Reassign {n} actions') : _('Reassign')}
      isIdle={!list.length || (!!to && !moved.length)}
      close={close}
      draft={draft}
      act={act}
    >
      <Select
        label={_('Who takes them over?')}
        required
        value={to}
        put={setTo}
        options={[['', '–'], ...people.map(([id, name]): [string, string] => [id, name])]}
      />
      <p role="status">{to ? fromSays(list, moved, names) : ''}</p>
      {to ? (
        <>
          <ul class="small muted">
            {moved.slice(0, named).map((x) => (
              <li key={x.id}>
                {x.action_no} {x.title}
              </li>
            ))}
          </ul>
          {moved.length > named ? <p class="small muted">{_('{n} more', { n: moved.length - named })}</p> : null}
        </>
      ) : null}
    </Ask>
  );
}

// fromSays is whose the actions are so far.
function fromSays(list: Action[], moved: Action[], names: Map<string, string>): string {
  if (!list.length) return '';
  if (!moved.length) return _('All of them are theirs already.');
  const from = new Map<string, number>();
  for (const x of moved) from.set(ownerOf(x, names), (from.get(ownerOf(x, names)) ?? 0) + 1);
  const soFar = _('So far: {list}', { list: [...from].map(([who, n]) => _('{who}: {n}', { who, n })).join(' · ') });
  const theirs = list.length - moved.length;
  return theirs ? `${soFar} · ${plural(theirs, '{n} is theirs already', '{n} are theirs already')}` : soFar;
}
