// A scanner that is a keyboard types faster than a person and ends with Enter. What it types is a scan wherever the focus
// is: the page's own scan field takes it, or else the search; an amount never does.

const gap = 50; // milliseconds between two keys; a fast typist needs about 80
const least = 4; // keys that a scan has at least, so that two keys of a chord are none

// Taker does something with a code that was scanned outside a field of its own.
export type Taker = (code: string) => void;

const takers: Taker[] = [];

// takeScans has a part of the page take scans until it is gone; the newest part comes first.
export function takeScans(take: Taker): () => void {
  takers.push(take);
  return () => void takers.splice(takers.indexOf(take), 1);
}

// unlessScanned does what a single key stands for, but not when the key was the first of a scan.
export function unlessScanned(act: () => void): void {
  clearTimeout(waiting);
  waiting = setTimeout(act, gap);
}

let waiting: ReturnType<typeof setTimeout> | undefined;
let code = '';
let last = 0;
let before = ''; // what the field held when the code began

// isAmount says whether a field holds a number, which no code is.
const isAmount = (at: EventTarget | null): at is HTMLInputElement => at instanceof HTMLInputElement && at.inputMode === 'decimal';

// giveBack makes a field as it was before the scan.
function giveBack(at: HTMLInputElement): void {
  at.value = before;
  at.dispatchEvent(new InputEvent('input', { bubbles: true }));
}

// press follows the keys. A scan that no part of the page takes is for rest; inside a dialog nothing but a field takes one.
function press(e: KeyboardEvent, rest: Taker, missed: () => void): void {
  if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing) return;
  const isFast = e.timeStamp - last < gap;
  if (e.key.length === 1) {
    if (isFast) clearTimeout(waiting);
    else before = e.target instanceof HTMLInputElement ? e.target.value : '';
    code = isFast ? code + e.key : e.key;
    last = e.timeStamp;
    return;
  }
  if (e.key === 'Shift') return;
  const scanned = e.key === 'Enter' && isFast && code.length >= least ? code.trim() : '';
  code = '';
  if (!scanned) return;
  const at = e.target as HTMLElement;
  // A field for texts, the scan field too, reads codes by itself.
  if (at.closest('input, textarea, select, [contenteditable]') && !isAmount(at)) return;
  e.preventDefault();
  e.stopImmediatePropagation();
  if (isAmount(at)) giveBack(at);
  if (at.closest('dialog')) missed();
  else (takers[takers.length - 1] ?? rest)(scanned);
}

// followScanner listens for scans on every page; it returns what ends that.
export function followScanner(rest: Taker, missed: () => void): () => void {
  const listen = (e: KeyboardEvent) => press(e, rest, missed);
  addEventListener('keydown', listen, true);
  return () => removeEventListener('keydown', listen, true);
}
