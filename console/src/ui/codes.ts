import esaw from '../../../internal/coding/esaw.json';
import oiics from '../../../internal/coding/oiics.json';
import { language } from '../lib/i18n';

// A code without names is for all others of its group.
const others = ['Other of group', 'Andere der Gruppe', 'Autres du groupe'];

const lists: { name: string; codes: string[][] }[] = [...esaw.lists, ...oiics.lists];

// namesOf says what the codes of a list are called in the language of the person, or in English.
export function namesOf(list: string): Map<string, string> {
  const spoken = Math.max(['en', 'de', 'fr'].indexOf(language.get()), 0);
  const codes = lists.find((x) => x.name === list)?.codes ?? [];
  return new Map(
    codes.map(([code = '', ...names]) => [
      code,
      names[spoken] ?? names[0] ?? `${others[spoken]} ${code.slice(0, -1)}0`,
    ]),
  );
}
