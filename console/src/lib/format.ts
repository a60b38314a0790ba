import type { Field } from './catalog';
import { words } from './catalog';
import { _, language } from './i18n';
import { store } from './store';
import { dayIn, homeZone, isElsewhere } from './zone';

// currency is that of the organisation's amounts; '' until it is known.
export const currency = store('');

const cache = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat | Intl.RelativeTimeFormat>();

function made<T extends Intl.NumberFormat | Intl.DateTimeFormat | Intl.RelativeTimeFormat>(
  name: string,
  make: (l: string) => T,
): T {
  const key = `${language.get()} ${name}`;
  let f = cache.get(key);
  if (!f) cache.set(key, (f = make(language.get() === 'en' ? 'en-GB' : language.get())));
  return f as T;
}

export function number(n: number, digits = 2): string {
  return made(`n${digits}`, (l) => new Intl.NumberFormat(l, { maximumFractionDigits: digits })).format(n);
}

// money is an amount in the organisation's currency, with as many decimals as that has.
export function money(n: number): string {
  const code = currency.get();
  return code
    ? made(`m${code}`, (l) => new Intl.NumberFormat(l, { style: 'currency', currency: code })).format(n)
    : number(n);
}

// briefMoney is an amount for a tile.
export function briefMoney(n: number): string {
  const code = currency.get();
  return code
    ? made(
        `bm${code}`,
        (l) =>
          new Intl.NumberFormat(l, {
            style: 'currency',
            currency: code,
            notation: Math.abs(n) < 10_000 ? 'standard' : 'compact',
            maximumFractionDigits: 1,
            minimumFractionDigits: 0,
          }),
      ).format(n)
    : brief(n);
}

// brief is a number for a tile: 97.9K.
export function brief(n: number): string {
  return Math.abs(n) < 10_000
    ? number(n, 1)
    : made('brief', (l) => new Intl.NumberFormat(l, { notation: 'compact', maximumFractionDigits: 1 })).format(n);
}

export function percent(n: number, digits = 1): string {
  return made(
    `p${digits}`,
    (l) => new Intl.NumberFormat(l, { style: 'percent', maximumFractionDigits: digits }),
  ).format(n / 100);
}

// dateTime is a moment by the clocks of a zone, which it names where this device's clock shows another time.
export function dateTime(v: unknown, timeZone = homeZone()): string {
  const at = Date.parse(String(v));
  if (Number.isNaN(at)) return String(v);
  const text = made(
    `dt ${timeZone}`,
    (l) => new Intl.DateTimeFormat(l, { dateStyle: 'medium', timeStyle: 'short', timeZone }),
  ).format(at);
  return isElsewhere(timeZone, at) ? `${text} ${zoneMark(timeZone, at)}` : text;
}

// zoneMark is how people write a zone behind a time: CET, GMT+9.
export function zoneMark(timeZone: string, at: number): string {
  const f = made(`zone ${timeZone}`, (l) => new Intl.DateTimeFormat(l, { timeZone, timeZoneName: 'short' }));
  return f.formatToParts(at).find((x) => x.type === 'timeZoneName')?.value ?? timeZone;
}

// zonePlace is a zone by the place that it is named for, and how that writes a moment: Berlin (CET).
export function zonePlace(timeZone: string, at = Date.now()): string {
  const place = (timeZone.split('/').pop() ?? '').replace(/_/g, ' ');
  const mark = zoneMark(timeZone, at);
  return place === mark ? place : `${place} (${mark})`;
}

// date is a date, or that of a moment (text, or milliseconds) in the organisation's zone.
export function date(v: unknown): string {
  const text = String(v);
  const at = typeof v === 'number' ? v : text.length > 10 ? Date.parse(text) : NaN;
  const d = new Date(`${Number.isNaN(at) ? text : dayIn(homeZone(), at)}T12:00:00Z`);
  return Number.isNaN(d.getTime())
    ? String(v)
    : made('d', (l) => new Intl.DateTimeFormat(l, { dateStyle: 'medium', timeZone: 'UTC' })).format(d);
}

const steps: [number, Intl.RelativeTimeFormatUnit][] = [
  [60, 'second'],
  [60, 'minute'],
  [24, 'hour'],
  [30, 'day'],
  [12, 'month'],
  [Infinity, 'year'],
];

// ago is how long before or after this moment something is.
export function ago(v: unknown): string {
  let n = (new Date(String(v)).getTime() - Date.now()) / 1000;
  if (Number.isNaN(n)) return '';
  if (Math.abs(n) < 5) return _('just now');
  for (const [size, unit] of steps) {
    if (Math.abs(n) < size)
      return made('rel', (l) => new Intl.RelativeTimeFormat(l, { numeric: 'auto', style: 'short' })).format(
        Math.round(n),
        unit,
      );
    n /= size;
  }
  return '';
}

const units: Record<string, string> = { percent: '%', share: '%', m3: 'm³', C: '°C' };

export const isMoney = (f: Field) => f.unit === 'currency';

// isShare says of a number that people read and write it in percent: 0.05 is 5 %.
export const isShare = (f: Field) => f.unit === 'share';

export const percentOf = (share: number) => Number((share * 100).toPrecision(12));

export function unitOf(f: Field): string {
  if (isMoney(f)) return currency.get();
  return f.unit ? (units[f.unit] ?? f.unit) : '';
}

// flat is a document in one line, in words.
export function flat(v: unknown): string {
  if (v == null) return '';
  if (typeof v === 'boolean') return v ? _('Yes') : _('No');
  if (typeof v === 'number') return number(v, 4);
  if (Array.isArray(v)) return v.map(flat).join(', ');
  if (typeof v !== 'object') return String(v);
  return Object.entries(v)
    .filter(([k]) => !/(^|_)id$/.test(k))
    .map(([k, x]) => `${words(k)}: ${flat(x)}`)
    .join('; ');
}

// isName says whether a text is a name for programs: reach_truck.
const isName = (text: string) => /^[a-z]+(_[a-z]+)+$/.test(text);

// value is a field's value as text, a moment by the clocks of a zone.
export function value(f: Field, v: unknown, timeZone?: string): string {
  if (v == null || v === '') return '';
  switch (f.type) {
    case 'boolean':
      return v ? _('Yes') : _('No');
    case 'integer':
    case 'decimal':
    case 'float': {
      if (isMoney(f)) return money(Number(v));
      if (isShare(f)) return percent(percentOf(Number(v)), 2);
      const u = unitOf(f);
      return number(Number(v), f.type === 'float' ? 4 : 2) + (u ? ` ${u}` : '');
    }
    case 'timestamp':
      return dateTime(v, timeZone);
    case 'date':
      return date(v);
    case 'array':
    case 'json':
      return flat(v);
    default:
      return f.one_of || (f.format !== 'code' && isName(String(v))) ? words(String(v)) : String(v);
  }
}

const tones: Record<string, string[]> = {
  good: [
    'pass',
    'active',
    'completed',
    'delivered',
    'received',
    'verified',
    'closed',
    'released',
    'compliant',
    'available',
    'in_service',
    'approved',
    'published',
    'accepted',
    'applied',
    'succeeded',
    'ready',
    'passed',
    'certified',
    'effective',
    'on_time',
    'low',
  ],
  warn: [
    'on_hold',
    'quarantine',
    'warning',
    'maintenance',
    'exception',
    'short',
    'paused',
    'expiring',
    'suspended',
    'medium',
    'triaged',
    'invited',
    'retrying',
    'question',
    'high',
    'part_allocated',
    'unallocated',
    'on_leave',
    'damaged',
  ],
  bad: [
    'failed',
    'fail',
    'breach',
    'critical',
    'recalled',
    'blocked',
    'expired',
    'out_of_service',
    'overdue',
    'invalid',
    'disabled',
    'dead',
    'rejected',
    'fatal',
    'lost',
  ],
  info: [
    'in_progress',
    'confirmed',
    'picking',
    'picked',
    'packed',
    'allocated',
    'in_transit',
    'assigned',
    'on_trip',
    'open',
    'reported',
    'investigating',
    'pending',
    'processing',
    'applying',
    'arrived',
    'scheduled',
    'part_received',
    'part_shipped',
    'shipped',
    'queued',
    'done',
    'expected',
  ],
};
const toneOf = new Map(Object.entries(tones).flatMap(([tone, list]) => list.map((s) => [s, tone] as const)));

export function tone(state: unknown): string {
  return toneOf.get(String(state).toLowerCase()) ?? '';
}
