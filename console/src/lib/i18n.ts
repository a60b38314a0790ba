import { keyOf } from './key';
import { kept, store, useStore } from './store';

// Texts are written in English where they are used; other languages are tables
// from the English text, which the build replaces by its key. {name} stands for a value.

export const languages = { en: 'English', de: 'Deutsch', fr: 'Français' } as const;
export type Language = keyof typeof languages;

type Table = Record<string, string>;

// Of each language first what the frame, the sign-in and the overview say, then what the other pages do, which wait for it,
// then what the catalog does: its columns, states and settings, which no page shows before it has asked for rows.
const tables: Record<Language, (() => Promise<Table>)[]> = {
  en: [async () => ({})],
  de: [
    async () => (await import('../texts/de')).de,
    async () => (await import('../texts/de-pages')).dePages,
    async () => (await import('../texts/de-catalog')).deCatalog,
  ],
  fr: [
    async () => (await import('../texts/fr')).fr,
    async () => (await import('../texts/fr-pages')).frPages,
    async () => (await import('../texts/fr-catalog')).frCatalog,
  ],
};

// Who chose none is spoken to as the browser is set.
const known = (code: string): code is Language => code in languages;
const wished = navigator.languages.map((l) => l.slice(0, 2).toLowerCase()).find(known);

export const language = kept<Language>('language', wished ?? 'en');
const table = store<Table>({});

// add gives a language more words, under those that it has, while it is the one that is spoken.
async function add(chosen: Language, part: Promise<Table> | undefined): Promise<void> {
  const more = await part?.catch(() => undefined); // what has no words is shown in English
  if (more && language.get() === chosen) table.set({ ...more, ...table.get() });
}

async function load(): Promise<void> {
  const chosen = language.get();
  document.documentElement.lang = chosen;
  const [first, pages, catalog] = (tables[chosen] ?? tables.en).map((part) => part());
  table.set((await first) ?? {});
  pagesReady = add(chosen, pages);
  void pagesReady.then(() => add(chosen, catalog));
}

let pagesReady: Promise<void> = Promise.resolve();

// withWords waits for a page and for the words of its language.
export async function withWords<T>(page: Promise<T>): Promise<T> {
  const [loaded] = await Promise.all([page, languageReady.then(() => pagesReady)]);
  return loaded;
}

language.watch(() => void load());
export const languageReady = load();

export function _(text: string, values?: Record<string, string | number>): string {
  const said = table.get()[keyOf(text)] ?? text;
  return values ? said.replace(/\{(\w+)\}/g, (all, n: string) => String(values[n] ?? all)) : said;
}

// plural chooses a text by a count: plural(3, '{n} row', '{n} rows'). None is one in French, and many elsewhere.
export function plural(n: number, one: string, many: string, values: Record<string, string | number> = {}): string {
  return _(new Intl.PluralRules(language.get()).select(n) === 'one' ? one : many, {
    n: new Intl.NumberFormat(language.get()).format(n),
    ...values,
  });
}

export function useLanguage(): void {
  useStore(table);
}
