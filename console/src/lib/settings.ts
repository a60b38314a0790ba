import { useQuery } from './query';

export interface Person {
  email: string;
  name: string;
  role: string;
  tenant: string;
}

export interface Settings {
  product: string;
  demo: { password: string; people: Person[] } | null;
}

// useSettings is what the server says of itself before anybody signed in.
export function useSettings(): Settings | undefined {
  return useQuery({
    queryKey: ['settings'],
    queryFn: async () => {
      const r = await fetch('/console/settings.json');
      if (!r.ok) throw new Error(`HTTP ${r.status}`);
      return (await r.json()) as Settings;
    },
    staleTime: Infinity,
  }).data;
}
