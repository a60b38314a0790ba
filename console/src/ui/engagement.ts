import { dayIn, homeZone, today } from '../lib/zone';
import type { Row } from '../database';

// Earned is points that were given, and the record that they were given for.
export interface Earned extends Row {
  kind: string;
  points: number;
  source_type: string;
  source_id: string;
  occurred_at: string;
}

// So many of a person's latest points are read.
export const mostEarned = 500;

const day = 864e5;

// weekOf numbers the weeks, which begin on Monday: 1 January 1970 was a Thursday.
const weekOf = (date: string) => Math.floor((Date.parse(`${date}T00:00:00Z`) / day + 3) / 7);

// streakOf is in how many weeks running there were points, up to this week or the one before: a week that is not over
// ends no streak.
export function streakOf(list: Earned[]): number {
  const weeks = new Set(list.map((x) => weekOf(dayIn(homeZone(), x.occurred_at))));
  const now = weekOf(today());
  let from = weeks.has(now) ? now : now - 1;
  let n = 0;
  while (weeks.has(from--)) n++;
  return n;
}

// isStreakCut says that a streak goes on before the oldest points that were read.
export function isStreakCut(list: Earned[]): boolean {
  const oldest = list.at(-1);
  if (!oldest || list.length < mostEarned) return false;
  return weekOf(today()) - streakOf(list) <= weekOf(dayIn(homeZone(), oldest.occurred_at));
}
