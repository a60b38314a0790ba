import { keepPreviousData, notifyManager, QueryClient, QueryObserver, type QueryKey, type QueryObserverOptions, type QueryObserverResult } from '@tanstack/query-core';
import { useEffect, useState } from 'preact/hooks';
import { toFault, type Fault } from './fault';

// The few lines that join TanStack Query to Preact.

// waits tells whether a limit was passed for so short that the page waits by
// itself; for longer it says how long and leaves the choice to the person.
function waits(f: Fault): boolean {
  return f.status === 429 && f.retryAfter > 0 && f.retryAfter <= 3;
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      gcTime: 5 * 60_000,
      refetchOnWindowFocus: true,
      retry: (count, error) => {
        const f = toFault(error);
        return count < 3 && (f.away || f.status >= 502 || waits(f));
      },
      retryDelay: (n, error) => {
        const f = toFault(error);
        return waits(f) ? 1000 * f.retryAfter : Math.min(1000 * 2 ** n, 8000);
      },
    },
  },
});
queryClient.mount();
// What came is drawn at once, not after the layout of what was there without it.
notifyManager.setScheduler(queueMicrotask);

export { keepPreviousData };

// useQuery shows what a query has, and follows it.
export function useQuery<T>(options: QueryObserverOptions<T, Error, T, T, QueryKey>): QueryObserverResult<T, Error> {
  const wanted = queryClient.defaultQueryOptions(options);
  wanted._optimisticResults = 'optimistic';
  const [observer] = useState(() => new QueryObserver<T, Error, T, T, QueryKey>(queryClient, wanted));
  const [, draw] = useState(0);
  const result = observer.getOptimisticResult(wanted);
  useEffect(() => observer.subscribe(() => draw((n) => n + 1)), [observer]);
  useEffect(() => observer.setOptions(wanted));
  return observer.trackResult(result);
}
