import { useId } from 'preact/hooks';
import type { Field } from '../lib/catalog';
import { useUoms } from '../lib/handling';
import { language } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { Input, Select } from './form';
import type { FieldGiven } from './given';

type Choice = readonly [code: string, name: string];

// namesOf says what codes of a kind are called in the language of the person; other codes have no name.
function namesOf(type: 'region' | 'currency'): (code: string) => string {
  const names = new Intl.DisplayNames([language.get()], { type, fallback: 'none' });
  return (code) => names.of(code) ?? '';
}

const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];

// Regions that are no country of ISO 3166-1, or two letters that software keeps for itself.
const noCountry = new Set([
  'EU',
  'EZ',
  'UN',
  'XA',
  'XB',
  'ZZ',
  'QO',
  'AC',
  'CP',
  'CQ',
  'DG',
  'EA',
  'IC',
  'TA',
  'UK',
  'XK',
]);

function countries(): Choice[] {
  const name = namesOf('region');
  // A country that is no more has the code of the one that it became.
  const isNow = (code: string) => Intl.getCanonicalLocales(`und-${code}`)[0] === `und-${code}`;
  const codes = letters.flatMap((a) => letters.map((b) => a + b)).filter((code) => !noCountry.has(code) && isNow(code));
  return codes.map((code): Choice => [code, name(code)]).filter(([, called]) => called);
}

function currencies(): Choice[] {
  const name = namesOf('currency');
  return Intl.supportedValuesOf('currency').map((code): Choice => [code, name(code)]);
}

const timezones = (): Choice[] => Intl.supportedValuesOf('timeZone').map((zone): Choice => [zone, '']);

const lists: Record<string, () => Choice[]> = { country: countries, currency: currencies, timezone: timezones };

const isUnit = (f: Field) => ['uom', 'base_uom', 'price_uom'].includes(f.name);

// isCoded says of a field that it takes a code of a known list: a country, a currency, a time zone, a unit.
export const isCoded = (f: Field) => !!lists[f.format ?? ''] || isUnit(f);

// useNamed puts its name behind a code of a closed list; the names are read when a list is asked for. Without a list, or
// until they are there, a code is as it is.
export function useNamed(list: string | undefined): (code: string) => string {
  const names = useQuery({
    queryKey: ['codes', list, language.get()],
    queryFn: async () => (await import('./codes')).namesOf(list ?? ''),
    enabled: !!list,
    staleTime: Infinity,
  }).data;
  return (code) => [code, names?.get(code)].filter(Boolean).join(' ');
}

// Classified is the control of a code of a closed list.
export function Classified({
  f,
  label,
  help,
  text,
  put,
  wrong,
  required,
}: FieldGiven & { label: string; help?: string; required?: boolean }) {
  const named = useNamed(f.codes);
  const options = (f.one_of ?? []).filter(Boolean).map((code) => [code, named(code)] as [string, string]);
  const given = { label, help, text, wrong, required, put };
  return <Select {...given} value={text} options={required ? options : [['', '–'], ...options]} />;
}

function useUnits(enabled: boolean): Choice[] {
  const rows = useUoms(enabled) ?? [];
  return rows.map((x): Choice => [String(x['code']), String(x['name'] ?? '')]);
}

// Coded is the control of a code: those that there are, are offered by code and name, and the one that stands there is named.
export function Coded({
  f,
  label,
  help,
  text,
  put,
  wrong,
  required,
}: FieldGiven & { label: string; help?: string; required?: boolean }) {
  const list = useId();
  const units = useUnits(isUnit(f));
  const choices = isUnit(f) ? units : (lists[f.format ?? '']?.() ?? []);
  const called = choices.find(([code]) => code === text)?.[1];
  const said = [called, help].filter(Boolean).join(' · ');
  const box = { label, wrong, required, value: text, put, autocomplete: 'off', maxLength: f.max_len || undefined };
  return (
    <>
      <Input {...box} help={said || undefined} list={list} />
      <datalist id={list}>
        {choices.map(([code, name]) => (
          <option key={code} value={code}>
            {name}
          </option>
        ))}
      </datalist>
    </>
  );
}
