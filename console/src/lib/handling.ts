import { records, want } from './client';
import { useQuery } from './query';
import type { Row } from '../database';
import type { Unit } from './units';

// unitColumns embed the units of an item.
export const unitColumns = 'item_uoms(uom,factor)';

// useKinds reads which units weigh or measure; it is undefined until that is known.
export function useKinds(): ((code: string) => boolean) | undefined {
  const units = useUoms(true);
  if (!units) return undefined;
  const measured = new Set(units.filter((x) => x['kind'] !== 'count').map((x) => String(x['code']).toUpperCase()));
  return (code) => measured.has(code.toUpperCase());
}

// useUoms reads the units that the organisation works in.
export function useUoms(enabled: boolean): Row[] | undefined {
  const read = () => want<Row[]>(records('uoms').select('id,code,name,kind').order('code').limit(500));
  return useQuery({ queryKey: ['c', 'uoms', 'codes'], queryFn: read, enabled, staleTime: 5 * 60_000 }).data;
}

// unitsOf are the units that were read with an item.
export const unitsOf = (item: Row): Unit[] =>
  ((item['item_uoms'] as Row[] | undefined) ?? []).map((u) => ({ uom: String(u['uom']), factor: Number(u['factor']) }));

// withUnits reads the units of an item that was scanned.
export async function withUnits(item: Row | null): Promise<Row | null> {
  if (!item) return null;
  const units = await want<Row[]>(records('item_uoms').select('uom,factor').eq('item_id', item.id).limit(100));
  return { ...item, item_uoms: units };
}

// factorOf is how many base units one unit of an item holds, 1 for a unit that it does not have.
export const factorOf = (item: Row, uom: string | undefined): number =>
  unitsOf(item).find((u) => u.uom.toUpperCase() === uom?.toUpperCase())?.factor ?? 1;
