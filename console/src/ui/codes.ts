import esaw from '../../../internal/coding/esaw.json';
import { language } from '../lib/i18n';

// namesOf says what the codes of a list are called in the language of the person.
export function namesOf(list: string): Map<string, string> {
  const spoken = language.get();
  const codes = esaw.lists.find((x) => x.name === list)?.codes ?? [];
  return new Map(codes.map((c) => [c.code, spoken === 'de' ? c.de : spoken === 'fr' ? c.fr : c.en]));
}
