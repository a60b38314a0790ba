import { records, supabase, want } from '../lib/client';
import { today } from '../lib/zone';
import type { Row } from '../database';

// The scale of the register, which is that of incidents: severities from the least, and likelihoods 1 to 5.
export const severities = ['low', 'medium', 'high', 'critical'] as const;
export const likelihoods = [1, 2, 3, 4, 5] as const;

// So many units and risks are read at once, which is as many as a version may have.
export const mostRead = 1000;

export type When = 'before' | 'after';

// A Cell is a field of the matrix: when, how severe, how likely.
export interface Cell {
  when: When;
  severity: string;
  likelihood: number;
}

export const cellText = (c: Cell) => `${c.when}.${c.severity}.${c.likelihood}`;

export function readCell(text: string | undefined): Cell | undefined {
  const [when, severity, likelihood] = (text ?? '').split('.');
  if ((when !== 'before' && when !== 'after') || !severity) return undefined;
  return { when, severity, likelihood: Number(likelihood) };
}

export interface Register {
  units: Row[];
  entries: Row[];
}

// readRegister reads the work units and risks in use, of a site or of the whole organisation: the largest risks first.
export async function readRegister(site: string): Promise<Register> {
  let units = records('work_units').select('*').is('archived_at', null);
  let entries = records('risk_entries').select('*,unit:unit_id!inner(site_id)').is('archived_at', null);
  if (site) {
    units = units.eq('site_id', site);
    entries = entries.eq('unit.site_id', site);
  }
  const [u, e] = await Promise.all([
    want(units.order('code').limit(mostRead)),
    want(entries.order('rating_now', { ascending: false, nullsFirst: true }).limit(mostRead)),
  ]);
  return { units: u, entries: e };
}

export const versionColumns =
  'id,number,site_id,reason,note,made_at,units,entries,gaps,keep_until,sent_on,consulted_on';

export const readVersions = () =>
  want(
    supabase.from('risk_register_versions').select(versionColumns).order('made_at', { ascending: false }).limit(100),
  );

const isIn = (e: Row, c: Cell) =>
  e[`severity_${c.when}`] === c.severity && Number(e[`likelihood_${c.when}`]) === c.likelihood;

export const inCell = (list: Row[], c: Cell | undefined) => (c ? list.filter((e) => isIn(e, c)) : list);

export const isOverdue = (e: Row) => !!e['review_on'] && String(e['review_on']) < today();

const ratingOf = (e: Row) => (e['rating_now'] == null ? 99 : Number(e['rating_now']));

// byUrgency puts what is overdue for review first, then what nobody has rated, then the largest risk.
export const byUrgency = (a: Row, b: Row) =>
  Number(isOverdue(b)) - Number(isOverdue(a)) ||
  ratingOf(b) - ratingOf(a) ||
  String(a['entry_no']).localeCompare(String(b['entry_no']));

// worstOf is the priority of the worst of some risks, '' where none is rated.
export const worstOf = (list: Row[]): string =>
  [...severities].reverse().find((s) => list.some((e) => e['priority'] === s)) ?? '';

// The tone of a field of the matrix repeats the priority that the server gives a rating.
export function toneOf(severity: string, likelihood: number): string {
  const rating = (severities.indexOf(severity as 'low') + 1) * likelihood;
  if (rating >= 15) return 'critical';
  if (rating >= 10) return 'high';
  return rating >= 5 || severity === 'critical' ? 'medium' : 'low';
}
