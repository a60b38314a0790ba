import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { records, want } from '../lib/client';
import { dateTime } from '../lib/format';
import { useQuery } from '../lib/query';
import type { Row } from '../database';
import { homeZone, zoneOf, zones } from '../lib/zone';

// Where is the zone in which the moments of a page's record are told and entered, '' where it is of no record.
export const Where = createContext('');

export const useWhere = () => useContext(Where) || homeZone();

// useTimes returns how the page's record tells moments.
export function useTimes(): (v: unknown) => string {
  const zone = useWhere();
  return (v) => dateTime(v, zone);
}

const places = ['zone_id', 'to_zone_id', 'from_zone_id'];

// useZoneOf is the zone of a record or of what is typed of one: of its site, else of the site of its place, which is
// asked for in organisations that have sites in several zones.
export function useZoneOf(row: Record<string, unknown>): string {
  const place = String(places.map((x) => row[x]).find(Boolean) ?? '');
  const at = useQuery({
    queryKey: ['c', 'zones', 'site', place],
    queryFn: () => want<Row[]>(records('zones').select('id,site_id').eq('id', place)),
    enabled:
      !row['site_id'] &&
      !row['occurred_tz'] &&
      /^[0-9a-f-]{36}$/.test(place) &&
      Object.keys(zones.get().sites).length > 0,
    staleTime: 5 * 60_000,
  }).data;
  return zoneOf({ ...row, site_id: row['site_id'] || at?.[0]?.['site_id'] });
}
