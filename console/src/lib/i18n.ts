import { kept, store, useStore } from './store';

// Texts are written in English where they are used; other languages are tables
// from the English text. {name} stands for a value.

export const languages = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof languages;

export const language = kept<Language>('language', navigator.language.toLowerCase().startsWith('de') ? 'de' : 'en');
const table = store<Record<string, string>>({});

async function load(): Promise<void> {
  document.documentElement.lang = language.get();
  table.set(language.get() === 'de' ? (await import('../texts/de')).de : {});
}

language.watch(() => void load());
export const languageReady = load();

export function _(text: string, values?: Record<string, string | number>): string {
  const said = table.get()[text] ?? text;
  return values ? said.replace(/\{(\w+)\}/g, (all, n: string) => String(values[n] ?? all)) : said;
}

// plural chooses a text by a count: plural(3, '{n} row', '{n} rows').
export function plural(n: number, one: string, many: string, values: Record<string, string | number> = {}): string {
  return _(n === 1 ? one : many, { n: new Intl.NumberFormat(language.get()).format(n), ...values });
}

export function useLanguage(): void {
  useStore(table);
}
