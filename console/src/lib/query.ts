import {
  keepPreviousData,
  notifyManager,
  QueryClient,
  QueryObserver,
  type QueryKey,
  type QueryObserverOptions,
  type QueryObserverResult,
} from '@tanstack/query-core';
import { useEffect, useState } from 'preact/hooks';
import { toFault } from './fault';

// The few lines that join TanStack Query to Preact.

// A page that was refused by a limit says how long, and asks again by itself when it is over.
const longestWait = 120;

function waitOf(error: Error | null): number {
  const f = error && toFault(error);
  return f && f.status === 429 && f.retryAfter > 0 && f.retryAfter <= longestWait ? 1000 * f.retryAfter : 0;
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      gcTime: 5 * 60_000,
      refetchOnWindowFocus: true,
      retry: (count, error) => {
        const f = toFault(error);
        return count < 3 && (f.away || f.status >= 502);
      },
      retryDelay: (n) => Math.min(1000 * 2 ** n, 8000),
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
  useEffect(() => {
    const wait = waitOf(result.error);
    if (!wait || wanted.enabled === false) return;
    // All parts of a page that show the same wait for one answer.
    const goesOn = setTimeout(() => void observer.refetch({ cancelRefetch: false }), wait);
    return () => clearTimeout(goesOn);
  }, [result.error]);
  return observer.trackResult(result);
}
