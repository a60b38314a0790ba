import { records, want } from '../lib/client';
import { nameFields, nameOf, useCatalog, usePermissions } from '../lib/catalog';
import { useQuery } from '../lib/query';

// Found are records, each by its id and by what it is called.
export type Found = (readonly [id: string, name: string])[];

// useFound returns the records of a collection whose code or name holds a text, at most 20, each as its id and its name.
export function useFound(collection: string, sought: string): Found {
  const to = useCatalog()?.get(collection);
  const readable = !!usePermissions()?.collections[collection]?.read;
  const names = to ? nameFields(to) : [];
  const id = collection === 'members' ? 'user_id' : 'id'; // people are named by their account
  const found = useQuery({
    queryKey: ['c', collection, 'names', sought],
    queryFn: () => {
      const safe = sought.replace(/[\\"%*]/g, ' ').trim();
      let q = records(collection)
        .select([id, ...names].join(','))
        .limit(20);
      if (safe && names.length) q = q.or(names.map((n) => `${n}.ilike."%${safe}%"`).join(','));
      return want(q);
    },
    enabled: readable && names.length > 0,
    staleTime: 30_000,
  });
  return (found.data ?? []).map((r) => [String(r[id]), nameOf(to, r)] as const);
}
