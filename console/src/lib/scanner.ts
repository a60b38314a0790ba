// A scanner that is a keyboard types faster than a person and ends with Enter. What it types is a scan wherever the
// focus is: a field for texts reads it by itself, else the scan field of the page takes it, or the search.

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

// The kinds of inputs that are typed into letter by letter.
const typed = ['text', 'search', 'email', 'url', 'tel', 'password'];

// readsCodes says whether a field takes a scan by itself: one for texts does, one for amounts, dates or choices not.
function readsCodes(at: HTMLElement): boolean {
  if (at instanceof HTMLInputElement) return typed.includes(at.type) && at.inputMode !== 'decimal';
  return at instanceof HTMLTextAreaElement || at.isContentEditable;
}

// valueOf is what a field holds.
function valueOf(at: EventTarget | null): string {
  return at instanceof HTMLInputElement || at instanceof HTMLSelectElement ? at.value : '';
}

// giveBack makes a field as it was before the scan.
function giveBack(at: HTMLElement): void {
  if (!(at instanceof HTMLInputElement || at instanceof HTMLSelectElement) || at.value === before) return;
  at.value = before;
  for (const said of ['input', 'change']) at.dispatchEvent(new Event(said, { bubbles: true }));
}

// press follows the keys. A scan that no part of the page takes is for rest; while a dialog is open nothing but a field
// takes one.
function press(e: KeyboardEvent, rest: Taker, missed: () => void): void {
  if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || e.repeat) return;
  const isFast = e.timeStamp - last < gap;
  if (e.key.length === 1) {
    if (isFast) clearTimeout(waiting);
    else before = valueOf(e.target);
    code = isFast ? code + e.key : e.key;
    last = e.timeStamp;
    return;
  }
  if (e.key === 'Shift') return;
  const scanned = e.key === 'Enter' && isFast && code.length >= least ? code.trim() : '';
  code = '';
  if (!scanned) return;
  clearTimeout(waiting); // the last letter is no shortcut either
  const at = e.target as HTMLElement;
  if (readsCodes(at)) return;
  e.preventDefault();
  e.stopImmediatePropagation();
  giveBack(at);
  if (document.querySelector('dialog[open]')) missed();
  else (takers[takers.length - 1] ?? rest)(scanned);
}

// followScanner listens for scans on every page; it returns what ends that.
export function followScanner(rest: Taker, missed: () => void): () => void {
  const listen = (e: KeyboardEvent) => press(e, rest, missed);
  addEventListener('keydown', listen, true);
  return () => removeEventListener('keydown', listen, true);
}
