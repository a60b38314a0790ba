// What a person sends is done once, however often it is pressed while its answers are lost: it carries an Idempotency-Key
// that stays with the form until the server said what became of it.

// Attempt is what was sent from one place without an answer yet that says what became of it.
export interface Attempt {
  place: string;
  key: string;
  at: number; // when it was first sent, in milliseconds
  lost: boolean; // an answer was lost: it may have been done
  body?: unknown; // what is under way now; absent while nothing is
}

// The server keeps a key for a day.
const keptFor = 24 * 3600_000;
const kept = 'holdfast.attempts';
let attempts = load();

// load reads what was under way when the page was left: those answers are lost.
function load(): Attempt[] {
  try {
    const list = JSON.parse(sessionStorage.getItem(kept) ?? '[]') as Attempt[];
    return list.map(({ place, key, at }) => ({ place, key, at, lost: true }));
  } catch {
    return [];
  }
}

function save(): void {
  try {
    sessionStorage.setItem(kept, JSON.stringify(attempts.map(({ place, key, at }) => ({ place, key, at }))));
  } catch {
    // A store that is full or forbidden keeps nothing over a reload.
  }
}

// begin returns the attempt under whose key a place sends a body: one whose answer was lost, one that sends the same just
// now, or a new one. The server does another body under the key of a lost attempt only if that attempt was not done; if it
// was, it refuses with HF014.
export function begin(place: string, body: unknown): Attempt {
  attempts = attempts.filter((a) => Date.now() - a.at < keptFor);
  let attempt = attempts.find((a) => a.place === place && (a.body === undefined || a.body === body));
  if (!attempt) {
    attempt = { place, key: crypto.randomUUID(), at: Date.now(), lost: false };
    attempts.push(attempt);
  }
  attempt.body = body ?? null;
  save();
  return attempt;
}

// lose says that no answer came: what is sent next from the place carries the same key.
export function lose(attempt: Attempt): void {
  attempt.lost = true;
  attempt.body = undefined;
}

// end says that the server told what became of the attempt.
export function end(attempt: Attempt): void {
  attempts = attempts.filter((a) => a !== attempt);
  save();
}
