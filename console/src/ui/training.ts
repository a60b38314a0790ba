import type { Answer } from '../database';
import { date } from '../lib/format';
import { _ } from '../lib/i18n';
import { words } from '../lib/catalog';
import { today } from '../lib/zone';

export type Matrix = Answer<'training-matrix'>;
export type Course = Matrix['courses'][number];
export type Person = Matrix['people'][number];
export type Cell = Person['cells'][number];

// A place of the matrix; without a cell nothing is asked for and nothing is on record.
export interface Place {
  person: Person;
  course: Course;
  cell?: Cell;
}

export const keyOf = ({ person, course }: Place) => `${person.worker_id} ${course.id}`;

export const placesOf = (person: Person, courses: Course[]): Place[] => {
  const cells = new Map(person.cells.map((cell) => [cell.course_id, cell]));
  return courses.map((course) => ({ person, course, cell: cells.get(course.id) }));
};

// The tone that repeats what the words of a cell say.
const tones: Record<Cell['state'], string> = {
  valid: 'good',
  ending: 'warn',
  ended: 'bad',
  missing: 'bad',
  assigned: 'info',
  waived: 'plain',
};

// lateOf says of a training that is open how it is behind: the person failed it, or its day is past. It holds whatever
// certificate there is.
export function lateOf(cell?: Cell): string {
  if (!cell || !isOpen(cell)) return '';
  if (cell.assignment_status === 'failed') return words('failed');
  return cell.due_on && cell.due_on < today() ? _('overdue since {when}', { when: date(cell.due_on) }) : '';
}

// toneOf repeats the words of a cell: what has ended and nobody asks for is no gap.
export function toneOf(cell?: Cell): string {
  if (!cell) return 'none';
  if (lateOf(cell)) return 'bad';
  return cell.state === 'ended' && !cell.gap ? 'plain' : tones[cell.state];
}

// From what is worst to what is well.
const ranks: Cell['state'][] = ['missing', 'ended', 'assigned', 'ending', 'waived', 'valid'];

// rankOf orders cells: gaps first, then what ends soon.
export const rankOf = (cell: Cell) => ranks.indexOf(cell.state) + (cell.gap ? 0 : ranks.length);

// isOpen says that a course is assigned and neither completed nor waived.
export const isOpen = (cell?: Cell) => !!cell?.assignment_id && cell.assignment_status !== 'waived';

export const isUrgent = (cell?: Cell) => !!cell && (cell.gap || cell.state === 'ending');

// saysOf is a cell in words: how the certificate stands, and that a training is behind.
export function saysOf(cell?: Cell): string {
  if (!cell) return _('not asked for');
  const late = lateOf(cell);
  if (late) return cell.state === 'assigned' ? late : `${standsOf(cell)}, ${late}`;
  return standsOf(cell);
}

function standsOf(cell: Cell): string {
  switch (cell.state) {
    case 'valid':
      return cell.expires_on ? _('valid until {when}', { when: date(cell.expires_on) }) : _('valid for life');
    case 'ending':
      return _('ends on {when}', { when: date(cell.expires_on) });
    case 'ended':
      return _('ended on {when}', { when: date(cell.expires_on) });
    case 'assigned':
      return cell.assignment_status === 'assigned' ? _('assigned') : words(String(cell.assignment_status));
    case 'waived':
      return _('waived');
    default:
      return _('missing');
  }
}

// whyOf says what asks for a course, in a sentence each.
export function whyOf(cell?: Cell): string[] {
  const reasons = (cell?.reasons ?? []).map((r) =>
    r.by === 'job_title'
      ? _('The job asks for it: {title}.', { title: r.name })
      : _('Shifts with {machine} ask for it.', { machine: r.name }),
  );
  return reasons.length ? reasons : [_('Neither the job nor the equipment of the shifts asks for it.')];
}
