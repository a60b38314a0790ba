import { number, percent } from '../lib/format';
import { _, language, plural } from '../lib/i18n';
import { formatView, type Condition } from '../lib/records';
import type { Answer } from '../database';

export type Overview = Answer<'safety-overview'>;
export type Period = Overview['window'];

// monthName is a month as people call it, where the organisation is.
export function monthName(p: Period, timeZone: string, long = false): string {
  const lang = language.get() === 'en' ? 'en-GB' : language.get();
  return new Intl.DateTimeFormat(lang, { month: long ? 'long' : 'short', year: 'numeric', timeZone }).format(
    new Date(p.from_at),
  );
}

const within = (field: string, p: Period): Condition[] => [
  [field, 'gte', p.from_at],
  [field, 'lt', p.until_at],
];

// reportsHref is the list of the reports of a period, of all or of some.
export function reportsHref(p: Period, ...more: Condition[]): string {
  const conditions = [...more, ['status', 'neq', 'void'] as Condition, ...within('reported_at', p)];
  return `/console/c/incidents${formatView({ conditions, order: ['reported_at', 'desc'] })}`;
}

// actionsHref is the list of the actions that were due in a period.
export function actionsHref(p: Period): string {
  const conditions: Condition[] = [['status', 'neq', 'cancelled'], ...within('due_at', p)];
  return `/console/c/actions${formatView({ conditions, order: ['due_at', 'desc'] })}`;
}

// inspectionsHref is the list of the inspections that were due in a period.
export function inspectionsHref(p: Period): string {
  const conditions: Condition[] = [['status', 'neq', 'cancelled'], ...within('deadline_at', p)];
  return `/console/c/checklist_runs${formatView({ conditions, order: ['due_at', 'desc'] })}`;
}

// shareOf is a share in words, with what it is a share of.
export const shareOf = (share: number | null, inTime: number, due: number): string =>
  share === null ? _('none was due') : `${percent(share)} (${_('{n} of {m}', { n: number(inTime), m: number(due) })})`;

// ratioOf is how many near misses were reported for each injury.
export const ratioOf = (p: Period): string | null =>
  p.near_misses_per_injury === null ? null : `${number(p.near_misses_per_injury, 1)} : 1`;

export const monthsOf = (o: Overview): string =>
  plural(o.months.length, 'in {n} month, to date', 'in {n} months, to date');
