import { records, want } from './client';
import { queryClient, useQuery } from './query';

// useTable is a short collection that a page of the administration shows whole.
export function useTable(name: string, order = 'created_at') {
  return useQuery({
    queryKey: ['c', name, 'admin'],
    queryFn: () => want(records(name).select('*').order(order, { ascending: false }).limit(200)),
    meta: { live: true },
  });
}

// again reads what is shown of collections anew.
export const again = () => void queryClient.invalidateQueries({ queryKey: ['c'] });
