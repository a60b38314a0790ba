import { tzOffset } from '@date-fns/tz/tzOffset';
import type { Row } from '../database';
import { store } from './store';

// The zones that moments are told in: the organisation's, and those of sites that are in another one, by their ids.
export interface Zones {
  home: string;
  sites: Record<string, string>;
}

const tried = new Map<string, boolean>();

// isZone says whether this browser knows a zone: a half typed one it does not, nor one that is newer than the browser.
function isZone(name: string): boolean {
  let is = tried.get(name);
  if (is === undefined) {
    try {
      is = !!new Intl.DateTimeFormat('en', { timeZone: name });
    } catch {
      is = false;
    }
    tried.set(name, is);
  }
  return is;
}

// hereZone is the zone of this device.
export const hereZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

export const zones = store<Zones>({ home: hereZone(), sites: {} });

export function homeZone(): string {
  const { home } = zones.get();
  return isZone(home) ? home : hereZone();
}

// zoneOf is the zone in which the moments of a record are told and entered: its own where it has one, that of its site,
// else the organisation's.
export function zoneOf(row: Row | Record<string, unknown> | null | undefined): string {
  const { sites } = zones.get();
  const own = String(row?.['occurred_tz'] ?? '');
  const zone = own && isZone(own) ? own : sites[String(row?.['site_id'] ?? '')];
  return zone && isZone(zone) ? zone : homeZone();
}

const minute = 60_000;
const day = 24 * 60 * minute;

const shiftOf = (zone: string, at: number) => tzOffset(zone, new Date(at)) * minute;

// isElsewhere says whether clocks in a zone show another time than this device's at a moment.
export const isElsewhere = (zone: string, at: number) =>
  shiftOf(zone, at) !== -new Date(at).getTimezoneOffset() * minute;

// wallTime is a moment as a clock in a zone shows it, as date and time controls hold it.
export function wallTime(moment: string | number, zone: string): string {
  const at = new Date(moment).getTime();
  return new Date(at + shiftOf(zone, at)).toISOString().slice(0, 16);
}

// momentOf is the moment at which a clock in a zone shows a time. Of a time that an autumn night has twice it is the
// first; a time that a spring night leaves out is as long after the change as it is after the time before it.
export function momentOf(wall: string, zone: string): string {
  const at = Date.parse(`${wall}Z`);
  if (Number.isNaN(at)) return wall; // which the server refuses by the field's name
  const before = shiftOf(zone, at - day);
  const after = shiftOf(zone, at + day);
  const shift = shiftOf(zone, at - before) !== before && shiftOf(zone, at - after) === after ? after : before;
  return new Date(at - shift).toISOString();
}

// dayIn is the date that a calendar in a zone shows at a moment.
export const dayIn = (zone: string, moment: string | number = Date.now()) => wallTime(moment, zone).slice(0, 10);

// today is the organisation's date, or so many days before it.
export function today(daysBack = 0): string {
  const noon = Date.parse(`${dayIn(homeZone())}T12:00:00Z`);
  return new Date(noon - daysBack * day).toISOString().slice(0, 10);
}

// endOf is the last moment of a date in a zone.
export function endOf(date: string, zone: string): string {
  const next = new Date(Date.parse(`${date}T00:00:00Z`) + day).toISOString().slice(0, 10);
  return new Date(Date.parse(momentOf(`${next}T00:00`, zone)) - 1).toISOString();
}
