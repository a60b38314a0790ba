// Quantities in the units that people carry. The server says the same of what it answers (internal/warehouse/handling); the
// cases that both are held to are one table, testdata/cases.json there.

export interface Unit {
  uom: string;
  factor: number; // base units in one
}

export interface Part {
  unit: string;
  qty: number;
  factor: number;
}

const scale = 1e4; // quantities have four decimals

// split says a quantity by units: as many of the largest as go into it, of the next as many as go into the rest, and what is
// left in the base unit. It is empty for goods that are weighed or measured.
export function split(base: string, units: Unit[], quantity: number, isMeasured: (code: string) => boolean): Part[] {
  if (!(quantity > 0) || isMeasured(base)) return [];
  let rest = Math.round(quantity * scale);
  const parts: Part[] = [];
  for (const { uom, factor } of carriedIn(units, isMeasured)) {
    const n = Math.floor(rest / (factor * scale));
    if (n > 0) parts.push({ unit: uom, qty: n, factor });
    rest -= n * factor * scale;
  }
  if (rest > 0) parts.push({ unit: base, qty: rest / scale, factor: 1 });
  return parts;
}

// carriedIn are the units that hold a whole number of base units, and more than one, the largest first.
export const carriedIn = (units: Unit[], isMeasured: (code: string) => boolean): Unit[] =>
  units
    .filter((u) => u.factor > 1 && Number.isInteger(u.factor) && !isMeasured(u.uom))
    .sort((a, b) => b.factor - a.factor || (a.uom < b.uom ? -1 : 1));

// sum adds parts up in base units.
export const sum = (parts: { qty: number; factor: number }[]): number =>
  Math.round(parts.reduce((all, p) => all + p.qty * p.factor, 0) * scale) / scale;
