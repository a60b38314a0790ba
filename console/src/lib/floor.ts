import { ask } from './client';
import { toFault } from './fault';
import { _ } from './i18n';
import type { Row } from '../database';

// What is scanned on the floor, and what it is.

export interface Scanned {
  kind: string;
  record: Row | null;
  item: Row | null;
  uom?: string;
  parsed: { lot_no?: string; serial?: string; expires_on?: string; count?: string } | null;
  next: { verb: string; label: string }[];
}

export interface Context {
  pick_line_id?: string;
  count_task_id?: string;
  putaway_task_id?: string;
}

// scan asks the server what a code is; with a context it is held against the work.
export function scan(code: string, context?: Context): Promise<Scanned> {
  return ask<Scanned>('scan', { code, ...(context ? { context } : {}) });
}

export const collectionOf: Record<string, string> = {
  item: 'items',
  lot: 'lots',
  zone: 'zones',
  order: 'orders',
  shipment: 'shipments',
  package: 'stock_levels',
  serial: 'stock_levels',
  equipment: 'equipment',
  worker: 'workers',
  pick_list: 'pick_lists',
};

// sentenceOf says a failed scan or verb in a sentence for somebody who is busy.
export function sentenceOf(e: unknown): string {
  const f = toFault(e);
  if (f.lost) return `${f.message} ${f.advice}`;
  return f.away ? _('The server cannot be reached. Try again.') : f.message;
}

// itemOf is the item that a scan speaks of, directly or by its lot.
export function itemOf(s: Scanned): Row | null {
  return s.kind === 'item' ? s.record : s.item;
}

export const text = (v: unknown): string => (v == null ? '' : String(v));
