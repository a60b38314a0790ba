import type { Row } from '../database';
import type { Field } from './catalog';
import { isShare, percentOf } from './format';
import { readNumber, writeNumber } from './numbers';
import { homeZone, momentOf, wallTime } from './zone';

// The values of a record as the controls of a form hold them: as texts, by the names of their fields.
export type Draft = Record<string, string>;

// listText is a list as a control holds it: JSON, and nothing for an empty one.
export const listText = (list: string[]): string => (list.length ? JSON.stringify(list) : '');

// listOf is the list that listText wrote, without what is empty.
export const listOf = (text: string): string[] =>
  (text ? (JSON.parse(text) as string[]) : []).map((x) => x.trim()).filter(Boolean);

// startOf is what a control of a new record holds: the field's default, which the catalog writes as the server reads it.
export function startOf(f: Field): string {
  const start = f.default ?? '';
  return f.type === 'array' && start ? textOf(f, JSON.parse(start), homeZone()) : start;
}

// textOf is a value as a control holds it, a moment by the clocks of a zone.
export function textOf(f: Field, v: unknown, zone: string): string {
  if (v == null) return '';
  if (f.type === 'timestamp') return wallTime(String(v), zone);
  if (f.type === 'json')
    return typeof v === 'string' && !f.parts ? v : typeof v === 'number' ? writeNumber(String(v)) : JSON.stringify(v);
  if (f.type === 'array') return listText(Array.isArray(v) ? v.map(String) : []);
  if (isShare(f)) return String(percentOf(Number(v)));
  return String(v);
}

// valueOf is a control's text as the server takes it.
export function valueOf(f: Field, text: string, zone: string): unknown {
  if (f.type === 'array') return listOf(text);
  if (text === '') return null;
  switch (f.type) {
    case 'integer':
    case 'decimal':
    case 'float':
      return Number.isFinite(Number(text))
        ? isShare(f)
          ? Number((Number(text) / 100).toPrecision(12))
          : Number(text)
        : text;
    case 'boolean':
      return text === 'true';
    case 'timestamp':
      return momentOf(text, zone);
    case 'json':
      return f.parts ? JSON.parse(text) : scalarOf(text);
    default:
      return text;
  }
}

// scalarOf is what a text stands for where any value may: a number if it is one, or else itself.
function scalarOf(text: string): unknown {
  const meanings = readNumber(text);
  return meanings.length === 1 ? Number(meanings[0]) : text;
}

// changes is what a form says that differs from the record it began with.
export function changes(fields: Field[], base: Row | null, draft: Draft, zone: string): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const f of fields) {
    const text = draft[f.name];
    if (text !== undefined && text !== textOf(f, base?.[f.name], zone)) out[f.name] = valueOf(f, text, zone);
  }
  return out;
}
