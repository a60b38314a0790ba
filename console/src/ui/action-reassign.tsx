import { useState } from 'preact/hooks';
import { records, want } from '../lib/client';
import type { Permissions } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { _, plural } from '../lib/i18n';
import type { Row } from '../database';
import { ownerOf } from './action-card';
import { toDo, type Action } from './actions';
import { Ask } from './dialog';
import { Select } from './form';
import { toast } from './overlay';
import { usePeople } from './value';

// So many actions are named; of the others their number.
const named = 20;

// reassign hands actions to somebody in one request. What was done meanwhile keeps who did it, and is answered.
async function reassign(list: Action[], to: string): Promise<Action[]> {
  const changed = await want<Row[]>(
    records('actions')
      .update({ assignee_user_id: to })
      .in(
        'id',
        list.map((x) => x.id),
      )
      .in('status', toDo)
      .select('id'),
  );
  const ids = new Set(changed.map((x) => x.id));
  return list.filter((x) => !ids.has(x.id));
}

// Reassign says of whom how many actions go to whom, and hands them over.
export function Reassign({
  list: chosen,
  p,
  names,
  close,
  done,
  again,
}: {
  list: Action[];
  p: Permissions;
  names: Map<string, string>;
  close: () => void;
  done: () => void;
  again: () => void;
}) {
  // What is asked stays what was chosen, however the board changes meanwhile.
  const [list] = useState(chosen);
  const draft = useDraft(`reassign ${list.map((x) => x.id).join()}`);
  const [to, setTo] = draft.field('to', '');
  const people = usePeople(p);
  const moved = list.filter((x) => x.assignee_user_id !== to);
  const from = new Map<string, number>();
  for (const x of moved) from.set(ownerOf(x, names), (from.get(ownerOf(x, names)) ?? 0) + 1);
  const act = async () => {
    if (!to) throw new Error(_('Choose who takes them over.'));
    const left = await reassign(moved, to);
    again();
    if (left.length)
      throw new Error(
        _('Not reassigned, as they are done or gone meanwhile: {what}.', {
          what: left.map((x) => `${x.action_no} ${x.title}`).join(', '),
        }),
      );
    toast(plural(moved.length, '{n} action was reassigned', '{n} actions were reassigned'));
    done();
  };
  return (
    <Ask
      title={plural(list.length, 'Reassign {n} action', 'Reassign {n} actions')}
      yes={to ? plural(moved.length, 'Reassign {n} action', 'Reassign {n} actions') : _('Reassign')}
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
      {to ? (
        <div class="stack tight" role="status">
          {moved.length ? (
            <p>
              {_('So far: {list}', { list: [...from].map(([who, n]) => _('{who}: {n}', { who, n })).join(' · ') })}
              {moved.length < list.length
                ? ` · ${plural(list.length - moved.length, '{n} is theirs already', '{n} are theirs already')}`
                : ''}
            </p>
          ) : (
            <p>{_('All of them are theirs already.')}</p>
          )}
          <ul class="small muted">
            {moved.slice(0, named).map((x) => (
              <li key={x.id}>
                {x.action_no} {x.title}
              </li>
            ))}
          </ul>
          {moved.length > named ? <p class="small muted">{_('{n} more', { n: moved.length - named })}</p> : null}
        </div>
      ) : null}
    </Ask>
  );
}
