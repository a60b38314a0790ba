import { language, type Language } from './i18n';

// Numbers as people type them: 1.000 is a thousand in German and one in English.

// The sign before the decimals and the one between thousands; a language may group by blanks alone.
const signs: Record<Language, { decimal: string; group: string }> = {
  en: { decimal: '.', group: ',' },
  de: { decimal: ',', group: '.' },
  fr: { decimal: ',', group: '' },
};

// readNumber returns what a text may mean, as the server writes numbers: nothing for what is no number, several where it
// can be read in more than one way. What the language decides has one meaning, except three noughts after its decimal sign,
// which people of another language write for thousands.
export function readNumber(text: string, spoken: Language = language.get()): string[] {
  const sign = /^\s*[-−]/.test(text) ? '-' : '';
  const bare = text.trim().replace(/^[-−+]\s*/, '');
  const blanks = /^\d{1,3}([\s'’]\d{3})+(?=$|[.,])/.exec(bare);
  const s = blanks ? blanks[0].replace(/\D/g, '') + bare.slice(blanks[0].length) : bare;
  const meanings = plain(s, !!blanks, signs[spoken]).map((n) => (Number(n) ? sign + n : n));
  return [...new Set(meanings)];
}

// plain reads digits with dots and commas.
function plain(s: string, grouped: boolean, { decimal, group }: { decimal: string; group: string }): string[] {
  if (!/^\d*([.,]\d+)*$/.test(s) || s === '') return [];
  const marks = s.replace(/\d/g, '');
  if (!marks) return [trimmed(s)];
  const last = marks.charAt(marks.length - 1);
  const [whole = '', part = ''] = [s.slice(0, s.lastIndexOf(last)), s.slice(s.lastIndexOf(last) + 1)];
  if (marks.length > 1) {
    const same = [...marks].every((m) => m === last);
    const thousands = (x: string) => !grouped && /^\d{1,3}([.,]\d{3})+$/.test(x);
    if (same) return thousands(s) ? [trimmed(s.replace(/\D/g, ''))] : [];
    return [...marks.slice(0, -1)].every((m) => m !== last) && thousands(whole)
      ? [trimmed(`${whole.replace(/\D/g, '')}.${part}`)]
      : [];
  }
  const fraction = trimmed(`${whole || '0'}.${part}`);
  const mayGroup = !grouped && part.length === 3 && /^[1-9]\d{0,2}$/.test(whole);
  if (!mayGroup) return [fraction];
  const thousand = whole + part;
  if (last === group) return [thousand];
  return last === decimal && part !== '000' ? [fraction] : [fraction, thousand];
}

const trimmed = (n: string) => {
  const [whole = '', part = ''] = n.split('.');
  const digits = part.replace(/0+$/, '');
  return (whole.replace(/^0+(?=\d)/, '') || '0') + (digits ? `.${digits}` : '');
};

// writeNumber writes a number of the server as the language does, for a field that is typed into: without thousands.
export function writeNumber(n: string): string {
  return n.replace('.', signs[language.get()].decimal);
}

// unread is what a form holds while a text has no meaning or more than one: no number, so that nothing takes it for one.
export const unread = (text: string) => `${text.trim()}?`;

// typedOf is the text that unread held, or null for what has a meaning.
export const typedOf = (held: string) => (held.endsWith('?') ? held.slice(0, -1) : null);
