// The words of the console in each language, for tests that speak it.
import { readFileSync } from 'node:fs';

// wordsIn returns how a language says an English text of the console.
export function wordsIn(language) {
  if (language === 'en') return (text) => text;
  const tables = [language, `${language}-pages`, `${language}-catalog`].map((name) => {
    const text = readFileSync(new URL(`../../console/src/texts/${name}.ts`, import.meta.url), 'utf8');
    return new Function(`return ${text.slice(text.indexOf('= {') + 2).replace(/;\s*$/, '')}`)();
  });
  return (text) => tables.map((t) => t[text]).find(Boolean) ?? text;
}

// speak sets the language of the console, whatever the browser's is.
export async function speak(language, context) {
  await context.addInitScript((l) => localStorage.setItem('holdfast.language', JSON.stringify(l)), language);
}
