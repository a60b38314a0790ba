import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { newOf, useCatalog, usePermissions, words, type Collection, type Permissions } from '../lib/catalog';
import { number } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { useNarrow } from '../lib/narrow';
import { useQuery } from '../lib/query';
import { formatView, type Condition } from '../lib/records';
import { today } from '../lib/zone';
import { ActionCard, type Step } from '../ui/action-card';
import { ActionFilters } from '../ui/action-filters';
import { Reassign } from '../ui/action-reassign';
import { CancelAction, Finish, SendBack, Verify, writeStep } from '../ui/action-steps';
import { ActionTable } from '../ui/action-table';
import {
  byDue,
  canReassign,
  daysShown,
  isToDo,
  narrowings,
  readAction,
  readAgain,
  readBoard,
  states,
  toDo,
  type Action,
  type Narrowed,
} from '../ui/actions';
import { Button, Empty, Head, LinkButton, Problem, Skeleton, Tabs } from '../ui/basic';
import { fail, toast } from '../ui/overlay';
import { SheetButton } from '../ui/print';
import { OfSeen } from '../ui/seen';
import { useCalledPeople } from '../ui/value';
import '../board.css';
import '../records.css';
import '../actions.css';

// A column shows so many cards before it is asked for the rest.
const firstCards = 40;

type Asked = Narrowed & { by?: string; state?: string };

const pathOf = (a: Asked) => {
  const query = new URLSearchParams(Object.entries(a).filter(([, v]) => v)).toString();
  return `/console/actions${query ? `?${query}` : ''}`;
};

// focusAction gives the focus to an action that moved on the board, or to the top where it is not shown any more.
async function focusAction(id: string): Promise<void> {
  await readAgain();
  requestAnimationFrame(() => {
    if (document.querySelector('dialog[open]')) return;
    (document.getElementById(`action-${id}`) ?? document.querySelector<HTMLElement>('main h1'))?.focus();
  });
}

const isNarrowed = (a: Narrowed) => Object.values(a).some(Boolean);

// useBoard reads the actions of the board, and how many there are in each state.
function useBoard(a: Narrowed, p?: Permissions) {
  const q = useQuery({
    queryKey: ['c', 'actions', 'board', JSON.stringify(a)],
    queryFn: () => readBoard(a, p as Permissions),
    enabled: !!p,
    meta: { live: true },
  });
  return { ...q, list: q.data?.list ?? [], countOf: (state: string) => q.data?.counts.get(state) ?? 0 };
}

// sheetPath is the list of the board on paper, narrowed as the board is.
function sheetPath(a: Narrowed): string {
  const by = new URLSearchParams(Object.entries(a).filter(([, v]) => v)).toString();
  return `/v1/actions/actions.pdf${by ? `?${by}` : ''}`;
}

// ActionsPage is what is to be done about hazards: by state, what is overdue first.
export function ActionsPage() {
  const p = usePermissions();
  const c = useCatalog()?.get('actions');
  const { query, route } = useLocation();
  const a: Narrowed = Object.fromEntries(narrowings.map((n) => [n, query[n] ?? '']));
  const q = useBoard(a, p);
  const isNarrow = useNarrow();
  const names = useCalledPeople(p);
  const [step, setStep] = useState<Step | undefined>();
  const [picked, setPicked] = useState<Set<string>>(new Set());
  if (!p || !c) return <Skeleton lines={8} />;
  const by = query['by'] === 'table' ? 'table' : '';
  const go = (next: Asked) => route(pathOf({ ...a, by, state: query['state'], ...next }), true);
  // What is done meanwhile, or is not shown any more, is chosen no more.
  const chosen = q.list.filter((x) => picked.has(x.id) && isToDo(x));
  const choose = (id: string) => {
    const next = new Set(chosen.map((x) => x.id));
    if (!next.delete(id)) next.add(id);
    setPicked(next);
  };
  const shut = () => setStep(undefined);
  const moved = (x: Action, to: string) => {
    toast(_('{what}: {state}', { what: x.action_no, state: words(to) }));
    void focusAction(x.id);
  };
  const begin = (s: Step) => {
    if (s.to === 'in_progress' && s.x.status === 'open')
      writeStep(c, s.x, { status: s.to }).then(() => moved(s.x, s.to), fail);
    else setStep(s);
  };
  const given = { p, names, step: begin, chosen: new Set(chosen.map((x) => x.id)) };
  const mayChoose = canReassign(p) ? choose : undefined;
  return (
    <>
      <Head
        title={_('Actions')}
        sub={
          q.data ? (
            <>
              {subOf(
                toDo.reduce((n, s) => n + q.countOf(s), 0),
                q.data.late,
              )}{' '}
              <OfSeen p={p} of="actions" />
            </>
          ) : undefined
        }
      >
        <SheetButton path={sheetPath(a)} name={_('Actions')} />
        <LinkButton icon="list" href="/console/c/actions">
          {_('All actions')}
        </LinkButton>
        {p.collections['actions']?.create && !p.read_only ? (
          <LinkButton kind="primary" icon="plus" href="/console/c/actions/new">
            {newOf('actions')}
          </LinkButton>
        ) : null}
      </Head>
      <ActionFilters a={a} by={by} go={go} p={p} c={c} isNarrow={isNarrow} />
      <Problem error={q.error} retry={() => void q.refetch()} />
      {q.isPending ? (
        <Skeleton lines={8} />
      ) : !q.list.length && !q.error ? (
        <>
          <h2 class="sr">{_('Actions by state')}</h2>
          <Nothing a={a} p={p} />
        </>
      ) : by ? (
        <ActionTable {...given} list={inOrder(q.list)} choose={mayChoose} />
      ) : (
        <Columns
          {...given}
          list={q.list}
          countOf={q.countOf}
          choose={mayChoose}
          a={a}
          only={isNarrow ? (states.find((s) => s === query['state']) ?? 'open') : undefined}
          go={go}
        />
      )}
      <div class={chosen.length ? 'row choosing' : ''}>
        <span class="grow" role="status">
          {chosen.length ? plural(chosen.length, '{n} action is chosen', '{n} actions are chosen') : ''}
        </span>
        {chosen.length ? (
          <>
            <Button onClick={() => setPicked(new Set())}>{_('Choose none')}</Button>
            <Button kind="primary" onClick={() => setStep({ x: chosen[0] as Action, to: 'chosen' })}>
              {_('Reassign')}
            </Button>
          </>
        ) : null}
      </div>
      {step ? (
        <Stepping
          c={c}
          p={p}
          names={names}
          step={step}
          chosen={chosen}
          close={shut}
          moved={moved}
          handed={(ids) => setPicked((now) => new Set([...now].filter((id) => !ids.includes(id))))}
        />
      ) : null}
    </>
  );
}

function subOf(open: number, late: number): string {
  const all = plural(open, '{n} to be done', '{n} to be done');
  return late
    ? `${all}, ${plural(late, '{n} of them overdue', '{n} of them overdue')}`
    : `${all}, ${_('none overdue')}`;
}

// inOrder puts actions by state, then by what waits longest.
const inOrder = (list: Action[]) =>
  [...list].sort((x, y) => states.indexOf(x.status as 'open') - states.indexOf(y.status as 'open') || byDue(x, y));

interface SteppingGiven {
  c: Collection;
  p: Permissions;
  names: Map<string, string>;
  step: Step;
  chosen: Action[];
  close: () => void;
  moved: (x: Action, to: string) => void;
  handed: (ids: string[]) => void;
}

// Stepping is the dialog of the step at hand.
function Stepping({ c, p, names, step, chosen, close, moved, handed }: SteppingGiven) {
  const { to } = step;
  if (to === 'chosen' || to === 'assignee')
    return (
      <Reassign
        list={to === 'chosen' ? chosen : [step.x]}
        {...{ p, names, close, handed }}
        done={(first) => void focusAction(first)}
      />
    );
  return <Leading {...{ c, p, names, step, close, moved }} />;
}

// Leading is a dialog that leads an action to a state. It is about the action as it is now, with what shows that it is
// done, which the board does not read.
function Leading({ c, p, names, step, close, moved }: Omit<SteppingGiven, 'chosen' | 'handed'>) {
  const now = useQuery({
    queryKey: ['c', 'actions', 'step', step.x.id],
    queryFn: () => readAction(step.x.id, p),
    meta: { live: true },
    gcTime: 0,
  });
  const x = now.data ?? step.x;
  const done = () => moved(x, step.to);
  const given = { c, x, p, names, evidence: now.data?.evidence, error: now.error, close, done };
  switch (step.to) {
    case 'done':
      return <Finish {...given} />;
    case 'verified':
      return <Verify {...given} />;
    case 'in_progress':
      return <SendBack {...given} />;
    default:
      return <CancelAction {...given} />;
  }
}

interface ColumnsGiven {
  list: Action[];
  countOf: (state: string) => number;
  p: Permissions;
  names: Map<string, string>;
  step: (s: Step) => void;
  choose?: (id: string) => void;
  chosen: Set<string>;
  a: Narrowed;
  only?: string; // the one column that a phone shows
  go: (next: Asked) => void;
}

// Columns are the states side by side, or one of them under tabs.
function Columns({ only, go, ...given }: ColumnsGiven) {
  const shown = only ? states.filter((s) => s === only) : states;
  return (
    <>
      {only ? (
        <Tabs
          tabs={states.map((s): [string, string] => [s, `${words(s)} ${number(given.countOf(s))}`])}
          at={only}
          go={(state) => go({ state })}
        />
      ) : null}
      <div
        class={`board actions ${only ? 'single' : ''}`}
        {...(only ? {} : { tabIndex: 0, role: 'region', 'aria-label': _('Actions by state') })}
        onKeyDown={moveFocus}
      >
        {shown.map((s) => (
          <Column key={s} state={s} isAlone={!!only} {...given} />
        ))}
      </div>
    </>
  );
}

// moveFocus moves the focus from card to card: up and down in a column, left and right to the columns beside it.
function moveFocus(e: KeyboardEvent) {
  const at = (e.target as HTMLElement).closest('li');
  const column = at?.closest('section');
  if (!at || !column || (e.target as HTMLElement).closest('dialog, [popover]')) return;
  const row = [...column.querySelectorAll('li')].indexOf(at);
  const beside = (way: 'nextElementSibling' | 'previousElementSibling') => {
    let to = column[way];
    while (to && !to.querySelector('li')) to = to[way];
    const cards = to?.querySelectorAll('li') ?? [];
    return cards[Math.min(row, cards.length - 1)];
  };
  const steps: Record<string, () => Element | null | undefined> = {
    ArrowDown: () => at.nextElementSibling,
    ArrowUp: () => at.previousElementSibling,
    ArrowRight: () => beside('nextElementSibling'),
    ArrowLeft: () => beside('previousElementSibling'),
  };
  const to = steps[e.key]?.()?.querySelector<HTMLElement>('.action-title');
  if (!to) return;
  e.preventDefault();
  to.focus();
}

// conditionsOf are the conditions under which a list shows what a column counts; undefined where no list has them.
function conditionsOf(state: string, a: Narrowed): Condition[] | undefined {
  if (a.site || a.who) return undefined;
  const all: Condition[] = [['status', 'eq', state]];
  if (!['open', 'in_progress', 'done'].includes(state)) all.push(['updated_at', 'gte', today(daysShown)]);
  if (a.late) all.push(['due_at', 'lt', new Date().toISOString()]);
  if (a.level) all.push(a.level === 'none' ? ['control_level', 'is', 'null'] : ['control_level', 'eq', a.level]);
  if (a.person)
    all.push(a.person === 'none' ? ['assignee_user_id', 'is', 'null'] : ['assignee_user_id', 'eq', a.person]);
  return all;
}

function Column({
  state,
  isAlone,
  list,
  countOf,
  a,
  chosen,
  ...given
}: Omit<ColumnsGiven, 'only' | 'go'> & { state: string; isAlone: boolean }) {
  const [isWhole, setWhole] = useState(false);
  const all = list.filter((x) => x.status === state).sort(byDue);
  const shown = isWhole ? all : all.slice(0, firstCards);
  const n = countOf(state);
  const conditions = conditionsOf(state, a);
  const href = conditions ? `/console/c/actions${formatView({ conditions, order: ['due_at', 'asc'] })}` : undefined;
  const isOver = !['open', 'in_progress', 'done'].includes(state);
  return (
    <section aria-label={words(state)}>
      <h2 class={isAlone ? 'sr' : ''}>
        {words(state)} {href ? <a href={href}>{number(n)}</a> : <span class="muted">{number(n)}</span>}
      </h2>
      {isOver ? <p class="small muted none">{_('of the last {n} days', { n: daysShown })}</p> : null}
      {n ? null : <p class="small muted none">{isNarrowed(a) ? _('No action matches') : emptyOf(state)}</p>}
      <ul>
        {shown.map((x) => (
          <ActionCard key={x.id} x={x} isChosen={chosen.has(x.id)} {...given} />
        ))}
      </ul>
      {all.length > shown.length ? (
        <Button size="small" onClick={() => setWhole(true)}>
          {_('Show {n} more', { n: number(all.length - shown.length) })}
        </Button>
      ) : n > all.length && href ? (
        <LinkButton size="small" href={href}>
          {_('{n} more in the list', { n: number(n - all.length) })}
        </LinkButton>
      ) : null}
    </section>
  );
}

function emptyOf(state: string): string {
  switch (state) {
    case 'open':
      return _('Nothing waits to be begun.');
    case 'in_progress':
      return _('Nothing is under way.');
    case 'done':
      return _('Nothing waits for a second person.');
    case 'verified':
      return _('Nothing was verified.');
    default:
      return _('Nothing was cancelled.');
  }
}

// Nothing says in words why the board is empty.
function Nothing({ a, p }: { a: Narrowed; p: Permissions }) {
  if (isNarrowed(a))
    return (
      <Empty
        title={_('No action matches')}
        icon="check"
        action={<LinkButton href="/console/actions">{_('Show everything')}</LinkButton>}
      >
        {_('Take a filter away, or look for something else.')}
      </Empty>
    );
  return (
    <Empty
      title={_('No action is on record')}
      icon="check"
      action={
        p.collections['actions']?.create ? (
          <LinkButton kind="primary" href="/console/c/actions/new">
            {newOf('actions')}
          </LinkButton>
        ) : undefined
      }
    >
      {_('Actions come from incidents, inspections and suggestions; each has a person and a day.')}
    </Empty>
  );
}
