import { useEffect, useState } from 'preact/hooks';

// A value that components follow.
export interface Store<T> {
  get(): T;
  set(next: T): void;
  watch(f: () => void): () => void;
}

export function store<T>(value: T): Store<T> {
  const watchers = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const f of [...watchers]) f();
    },
    watch(f) {
      watchers.add(f);
      return () => watchers.delete(f);
    },
  };
}

export function useStore<T>(s: Store<T>): T {
  const [value, set] = useState(s.get());
  useEffect(() => {
    set(s.get());
    return s.watch(() => set(s.get()));
  }, [s]);
  return value;
}

// kept is a store that outlives the page, in this browser.
export function kept<T>(name: string, initial: T): Store<T> {
  let value = initial;
  try {
    const text = localStorage.getItem(`holdfast.${name}`);
    if (text !== null) value = JSON.parse(text) as T;
  } catch {
    // Storage may be refused; the setting then lasts as long as the page.
  }
  const s = store(value);
  s.watch(() => {
    try {
      localStorage.setItem(`holdfast.${name}`, JSON.stringify(s.get()));
    } catch {
      // as above
    }
  });
  return s;
}
