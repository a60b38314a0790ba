// What an inspection asks, as its template says it, and which of its questions the answers so far leave open.

export interface Condition {
  item?: string;
  op?: string;
  value?: unknown;
  all?: Condition[];
  any?: Condition[];
}

export interface Question {
  key: string;
  prompt: string;
  type: 'yes_no_na' | 'number' | 'choice' | 'text' | 'photo' | 'signature';
  required?: boolean;
  critical?: boolean;
  options?: string[];
  unit?: string;
  show_when?: Condition;
}

export interface Section {
  title: string;
  items: Question[];
}

export type Values = Record<string, unknown>;

function isMet(c: Condition, answers: Values): boolean {
  if (c.all?.length) return c.all.every((x) => isMet(x, answers));
  if (c.any?.length) return c.any.some((x) => isMet(x, answers));
  const got = answers[c.item ?? ''];
  if (got === undefined) return false;
  if (c.op === 'answered') return true;
  if (c.op === 'in') return Array.isArray(c.value) && c.value.includes(got);
  if (c.op === '==') return got === c.value;
  if (c.op === '!=') return got !== c.value;
  const [a, b] = [Number(got), Number(c.value)];
  return c.op === '<' ? a < b : c.op === '<=' ? a <= b : c.op === '>' ? a > b : a >= b;
}

function keysOf(c: Condition | undefined): string[] {
  if (!c) return [];
  return [...(c.item ? [c.item] : []), ...[...(c.all ?? []), ...(c.any ?? [])].flatMap(keysOf)];
}

// askedOf are the keys of the questions that are asked, as the server finds them: what is not asked has no say in what
// else is, and conditions have no cycle.
export function askedOf(sections: Section[], given: Values): Set<string> {
  const all = new Map(sections.flatMap((s) => s.items).map((q) => [q.key, q]));
  const answers = { ...given };
  const asked = new Set<string>();
  const done = new Set<string>();
  const visitQuestion = (q: Question | undefined): void => {
    if (!q || done.has(q.key)) return;
    done.add(q.key);
    for (const key of keysOf(q.show_when)) visitQuestion(all.get(key));
    if (q.show_when && !isMet(q.show_when, answers)) delete answers[q.key];
    else asked.add(q.key);
  };
  for (const q of all.values()) visitQuestion(q);
  return asked;
}
