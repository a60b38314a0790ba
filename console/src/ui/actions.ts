import { records, want } from '../lib/client';
import type { Permissions } from '../lib/catalog';
import { date } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { queryClient } from '../lib/query';
import { dayIn, homeZone, today } from '../lib/zone';
import type { Row } from '../database';

// Action is a corrective or preventive action as the board shows it.
export interface Action extends Row {
  action_no: string;
  title: string;
  status: string;
  priority: string;
  control_level: string | null;
  source: string;
  source_id: string | null;
  assignee_user_id: string | null;
  verifier_user_id: string | null;
  due_on: string | null;
  due_at: string | null;
  completed_at: string | null;
  completed_by: string | null;
  escalated_to: string | null;
  incident?: { id: string; incident_no: string; title: string } | null;
}

// ShownAction is an action with what shows that it is done, which is read for the dialog about it alone.
export interface ShownAction extends Action {
  evidence: { kind: string; text?: string }[];
}

// Board is the actions that are shown, and how many there are: in each state, and overdue.
export interface Board {
  list: Action[];
  counts: Map<string, number>;
  late: number;
}

// What the board may be narrowed by, as the address has it.
export const narrowings = ['who', 'late', 'site', 'level', 'person'] as const;
export type Narrowed = Partial<Record<(typeof narrowings)[number], string>>;

// The states of an action in their order.
export const states = ['open', 'in_progress', 'done', 'verified', 'cancelled'] as const;
// The states in which it is still to be done.
export const toDo = ['open', 'in_progress'];

// What is over is shown for so many days.
export const daysShown = 30;

// The most actions that one answer holds. Where there are more, the board reads each state by itself, so that no state
// keeps the others out.
const mostRead = 1000;
const mostOfState = 400;

const columns =
  'id,version,action_no,title,status,priority,control_level,source,source_id,assignee_user_id,verifier_user_id,' +
  'due_on,due_at,completed_at,completed_by,escalated_to,updated_at';

// selectActions asks for fields of the actions that the board is about.
function selectActions(fields: string, a: Narrowed, p: Permissions) {
  let r = records('actions')
    .select(fields)
    .or(`status.in.(open,in_progress,done),updated_at.gte.${today(daysShown)}`);
  if (a.who === 'mine') r = r.or(`assignee_user_id.eq.${p.user_id},verifier_user_id.eq.${p.user_id}`);
  if (a.late) r = r.in('status', toDo).lt('due_at', new Date().toISOString());
  if (a.site && p.collections['incidents']?.read) r = r.eq('incident.site_id', a.site);
  if (a.level) r = a.level === 'none' ? r.is('control_level', null) : r.eq('control_level', a.level);
  if (a.person) r = a.person === 'none' ? r.is('assignee_user_id', null) : r.eq('assignee_user_id', a.person);
  return r;
}

// withIncident adds to fields the incident that an action came from, for whoever reads incidents.
function withIncident(fields: string, a: Narrowed, p: Permissions): string {
  if (!p.collections['incidents']?.read) return fields;
  return `${fields},incident:incident_id${a.site ? '!inner' : ''}(id,incident_no,title)`;
}

// readActions reads the actions of all states or of one, what waits longest first.
function readActions(a: Narrowed, p: Permissions, state?: string): Promise<Action[]> {
  const all = selectActions(withIncident(columns, a, p), a, p);
  return want<Action[]>(
    (state ? all.eq('status', state) : all)
      .order('due_at', { nullsFirst: false })
      .order('id')
      .limit(state ? mostOfState : mostRead),
  );
}

// countActions counts actions by state. The incident is joined where a site narrows them, and is no part of the groups.
async function countActions(a: Narrowed, p: Permissions): Promise<Map<string, number>> {
  const join = a.site && p.collections['incidents']?.read ? ',incident:incident_id!inner()' : '';
  const rows = await want<{ status: string; n: number }[]>(selectActions(`status,n:count()${join}`, a, p));
  return new Map(rows.map(({ status, n }) => [status, n]));
}

const sumOf = (counts: Map<string, number>) => [...counts.values()].reduce((n, m) => n + m, 0);

// readBoard reads the actions of the board, and how many there are.
export async function readBoard(a: Narrowed, p: Permissions): Promise<Board> {
  const list = await readActions(a, p);
  if (list.length < mostRead) {
    const counts = new Map(states.map((s): [string, number] => [s, list.filter((x) => x.status === s).length]));
    return { list, counts, late: list.filter(isLate).length };
  }
  const [counts, late, ...lists] = await Promise.all([
    countActions(a, p),
    countActions({ ...a, late: '1' }, p),
    ...states.map((s) => readActions(a, p, s)),
  ]);
  return { list: lists.flat(), counts, late: sumOf(late) };
}

// readAgain has what is shown of actions read again; it ends when that is there.
export const readAgain = () => queryClient.invalidateQueries({ queryKey: ['c', 'actions'] });

// readAction reads one action as it is now, with what shows that it is done.
export function readAction(id: string, p: Permissions): Promise<ShownAction | null> {
  return want<ShownAction | null>(
    records('actions')
      .select(withIncident(`${columns},evidence`, {}, p))
      .eq('id', id)
      .maybeSingle(),
  );
}

export const isToDo = (x: Action) => toDo.includes(x.status);
export const isLate = (x: Action) => isToDo(x) && !!x.due_at && Date.parse(x.due_at) < Date.now();

// isOwn says of an action that is done that the reader did it, or that it is the reader's: another person verifies it.
export const isOwn = (x: Action, p: Permissions) => [x.completed_by, x.assignee_user_id].includes(p.user_id);

export const isUrgent = (x: Action) => ['high', 'critical'].includes(x.priority);

// By what waits longest; what has no day comes last.
const dueOf = (x: Action) => (x.due_at ? Date.parse(x.due_at) : Infinity);
export const byDue = (x: Action, y: Action) => dueOf(x) - dueOf(y) || x.action_no.localeCompare(y.action_no);

// dueSays is the day of an action in words: what is overdue says by how many days.
export function dueSays(x: Action): string {
  const day = x.due_on ?? (x.due_at ? dayIn(homeZone(), x.due_at) : '');
  if (!day) return _('No due day');
  const days = Math.round((Date.parse(day) - Date.parse(today())) / 864e5);
  if (!isToDo(x)) return _('due {when}', { when: date(day) });
  if (isLate(x)) return days < 0 ? plural(-days, '{n} day overdue', '{n} days overdue') : _('overdue since today');
  if (days === 0) return _('due today');
  if (days === 1) return _('due tomorrow');
  return days <= 14 ? plural(days, 'due in {n} day', 'due in {n} days') : _('due {when}', { when: date(day) });
}

// stepsOf are the states that the reader may lead an action to, the usual one first.
export function stepsOf(x: Action, p: Permissions): string[] {
  if (p.read_only) return [];
  const may = (p.collections['actions']?.moves ?? []).filter((m) => m.from.includes(x.status)).map((m) => m.to);
  const next = x.status === 'done' ? 'verified' : x.status === 'open' ? 'in_progress' : 'done';
  return may.sort((s, t) => Number(t === next) - Number(s === next));
}

// canReassign says whether a role hands an action to somebody else; what is done keeps who did it.
export function canReassign(p: Permissions): boolean {
  const update = p.collections['actions']?.update;
  return !p.read_only && !!update && (!update.fields || update.fields.includes('assignee_user_id'));
}
