import { useState } from 'preact/hooks';
import { records, want } from '../lib/client';
import { nameOf, newOf, titleOf, words, writable, type Permissions } from '../lib/catalog';
import { date } from '../lib/format';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { today } from '../lib/zone';
import type { Row } from '../database';
import { Badge, Button, Card, Note, Problem, Skeleton } from './basic';
import { Dialog } from './dialog';
import type { IncidentGiven } from './given';
import { toast } from './overlay';
import { RecordForm } from './record-form';
import { hrefOf, useCalledPeople } from './value';

// The states of an action that still has to be done or verified.
const openStates = ['open', 'in_progress', 'done'];
// isOpen says whether an action keeps its incident open.
export const isOpen = (action: Row) => openStates.includes(String(action['status']));

// useActions are the actions that came of an incident, as far as the reader may see them.
export function useActions(id: string, p: Permissions) {
  return useQuery({
    queryKey: ['c', 'actions', 'of', 'incident', id],
    queryFn: () =>
      want(
        records('actions')
          .select('id,action_no,title,status,priority,control_level,assignee_user_id,due_on')
          .eq('incident_id', id)
          .order('id')
          .limit(100),
      ),
    enabled: !!p.collections['actions']?.read,
    meta: { live: true },
  });
}

// The measures from what removes a hazard to what only shields a person (ISO 45001, 8.1.2).
const hierarchy = ['eliminate', 'substitute', 'engineer', 'administrate', 'ppe'];
const rankOf = (action: Row) =>
  (hierarchy.indexOf(String(action['control_level'])) + hierarchy.length + 1) % (hierarchy.length + 1);

// Actions are what is done about it, the strongest measure first.
export function Actions({ r, p, catalog, done }: IncidentGiven) {
  const [making, setMaking] = useState(false);
  const names = useCalledPeople(p);
  const q = useActions(r.id, p);
  const actions = catalog.get('actions');
  const rights = p.collections['actions'];
  if (!actions || !rights?.read) return null;
  const list = [...(q.data ?? [])].sort((a, b) => rankOf(a) - rankOf(b));
  const levels = list.filter((x) => x['status'] !== 'cancelled').map((x) => String(x['control_level'] ?? ''));
  const isWeak = levels.some(Boolean) && levels.every((x) => ['administrate', 'ppe', ''].includes(x));
  const asked = ['title', 'control_level', 'assignee_user_id', 'due_on', 'priority', 'type', 'description'];
  const fields = asked.flatMap((n) => writable(actions, rights, true).filter((f) => f.name === n));
  return (
    <Card
      flush
      title={list.length ? _('Actions ({n})', { n: list.length }) : titleOf('actions')}
      actions={
        rights.create && r['status'] !== 'void' ? (
          <Button icon="plus" onClick={() => setMaking(true)}>
            {newOf('actions')}
          </Button>
        ) : null
      }
    >
      {q.isPending ? (
        <div class="body">
          <Skeleton lines={2} />
        </div>
      ) : (
        <Problem error={q.error} retry={() => void q.refetch()} />
      )}
      {q.data && !list.length ? <p class="body muted">{_('Nothing is done about it yet.')}</p> : null}
      <ul class="lines">
        {list.map((x) => {
          const isLate = isOpen(x) && x['due_on'] && String(x['due_on']) < today();
          const owner = x['assignee_user_id']
            ? (names.get(String(x['assignee_user_id'])) ?? _('A colleague'))
            : _('nobody yet');
          return (
            <li key={x.id}>
              <span class="grow">
                <a href={hrefOf('actions', x.id)}>{String(x['title'])}</a>
                <span class="small muted block">
                  {String(x['action_no'])} ·{' '}
                  {x['control_level'] ? words(String(x['control_level'])) : _('No level of control')} · {owner}
                </span>
              </span>
              <span class={`small ${isLate ? 'down strong' : 'muted'}`}>
                {x['due_on']
                  ? isLate
                    ? _('Overdue since {when}', { when: date(x['due_on']) })
                    : _('due {when}', { when: date(x['due_on']) })
                  : _('No due day')}
              </span>
              <Badge state={x['status']} />
            </li>
          );
        })}
      </ul>
      {isWeak ? (
        <div class="body">
          <Note kind="warn">
            {_(
              'So far there are only rules and protective equipment. What removes, replaces or encloses the hazard holds better.',
            )}
          </Note>
        </div>
      ) : null}
      {making ? (
        <Dialog
          kind="wide"
          title={`${newOf('actions')}: ${String(r['incident_no'] ?? '')}`}
          close={() => setMaking(false)}
        >
          <RecordForm
            c={actions}
            fields={fields}
            base={null}
            preset={{ priority: String(r['severity'] ?? 'medium') }}
            also={{ incident_id: r.id, source: 'incident' }}
            cancel={() => setMaking(false)}
            done={(made) => {
              setMaking(false);
              toast(_('{what} was made', { what: nameOf(actions, made) }));
              done();
            }}
          />
        </Dialog>
      ) : null}
    </Card>
  );
}
