import { useEffect, useState } from 'preact/hooks';
import { unitsOf, useKinds } from '../lib/handling';
import { text } from '../lib/floor';
import { number } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { carriedIn, split, sum, type Part, type Unit } from '../lib/units';
import type { Row } from '../database';
import { Meanings, useNumber } from './number';
import { Amount } from './scan';

// How many of a unit people say, by the codes that every organisation begins with.
const names: Record<string, (n: number, of: { n: string }) => string> = {
  EA: pieces,
  H87: pieces,
  C62: pieces,
  PCE: pieces,
  PL: pallets,
  PF: pallets,
  PX: pallets,
  CS: (n, of) => plural(n, '{n} case', '{n} cases', of),
  CT: (n, of) => plural(n, '{n} carton', '{n} cartons', of),
  BX: (n, of) => plural(n, '{n} box', '{n} boxes', of),
  PK: (n, of) => plural(n, '{n} pack', '{n} packs', of),
  BG: (n, of) => plural(n, '{n} bag', '{n} bags', of),
};

function pieces(n: number, of: { n: string }): string {
  return plural(n, '{n} piece', '{n} pieces', of);
}

function pallets(n: number, of: { n: string }): string {
  return plural(n, '{n} pallet', '{n} pallets', of);
}

// sayUnit says how many of a unit: 3 cases; 2 × KEG for one that has no words.
function sayUnit(code: string, qty: number): string {
  const n = number(qty, 4);
  return names[code.toUpperCase()]?.(qty, { n }) ?? `${n} × ${code}`;
}

// sayParts says a quantity by units: 1 pallet, 3 cases, 5 pieces.
const sayParts = (parts: Part[]): string => parts.map((p) => sayUnit(p.unit, p.qty)).join(', ');

// Carried says a quantity of an item in the units that people carry, where it has larger ones than its base unit.
export function Carried({ item, quantity, large }: { item: Row; quantity: number; large?: boolean }) {
  const isMeasured = useKinds();
  if (!isMeasured) return null;
  const parts = split(text(item['base_uom']), unitsOf(item), quantity, isMeasured);
  return parts[0] && parts[0].factor > 1 ? (
    <span class={large ? 'carried large' : 'carried'}>{sayParts(parts)}</span>
  ) : null;
}

interface Given {
  label: string;
  item: Row;
  value: string;
  put: (v: string) => void;
  max?: number;
}

// AmountOf is a quantity of an item that a thumb sets: as one number, or by the units that the item is carried in.
export function AmountOf({ item, ...given }: Given) {
  const base = text(item['base_uom']);
  const isMeasured = useKinds();
  const units = isMeasured && !isMeasured(base) ? carriedIn(unitsOf(item), isMeasured) : [];
  return (
    <>
      <Amount {...given} unit={base} />
      {units.length ? (
        <ByUnits value={given.value} put={given.put} units={[...units, { uom: base, factor: 1 }]} />
      ) : null}
    </>
  );
}

// ByUnits takes a quantity by units, as pallets, cases and pieces that were counted; their sum is the quantity. What is typed
// stays as it is typed: 15 cases do not become a pallet and 3 cases under the finger.
function ByUnits({ value, put, units }: Pick<Given, 'value' | 'put'> & { units: Unit[] }) {
  const base = units[units.length - 1] as Unit;
  const divide = () => {
    const parts = split(base.uom, units, Number(value), () => false);
    return units.map((u) => String(parts.find((p) => p.unit === u.uom)?.qty ?? 0));
  };
  const [typed, setTyped] = useState(divide);
  const held = total(typed, units);
  // The quantity was set by another hand: as one number, or by a scan.
  useEffect(() => {
    if (value !== held && Number(value) !== Number(held)) setTyped(divide());
  }, [value]);
  const type = (at: number, v: string) => {
    const next = typed.map((x, i) => (i === at ? v : x));
    setTyped(next);
    put(total(next, units));
  };
  return (
    <fieldset class="by-units">
      <legend class="sr">{_('By units')}</legend>
      {units.map((u, i) => (
        <OfUnit key={u.uom} unit={u} value={typed[i] ?? '0'} put={(v) => type(i, v)} />
      ))}
      <output class="carried">{Number.isNaN(Number(held)) ? '' : `= ${sayUnit(base.uom, Number(held))}`}</output>
    </fieldset>
  );
}

// total is the sum in base units, as the server writes it; a part that is no number makes it none.
function total(typed: string[], units: Unit[]): string {
  const unread = typed.find((v) => Number.isNaN(Number(v)));
  return unread ?? String(sum(typed.map((v, i) => ({ qty: Number(v), factor: units[i]?.factor ?? 1 }))));
}

function OfUnit({ unit, value, put }: { unit: Unit; value: string; put: (v: string) => void }) {
  const typed = useNumber(value, put);
  return (
    <label>
      <span class="small muted">
        {unit.factor > 1 ? `${sayUnit(unit.uom, 1)} = ${number(unit.factor)}` : sayUnit(unit.uom, 1)}
      </span>
      <input
        ref={typed.box}
        class="input"
        inputMode="decimal"
        autocomplete="off"
        value={typed.text}
        onInput={(e) => typed.type(e.currentTarget.value)}
      />
      {typed.doubt ? (
        <span class="doubt" role="alert">
          {typed.doubt} <Meanings list={typed.meanings} mean={typed.mean} />
        </span>
      ) : null}
    </label>
  );
}
