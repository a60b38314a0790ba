// What went wrong, in the server's words, with what a person needs to ask about it.
import { _ } from './i18n';
import { isOfTheDatabase, plainWords } from './plainwords';

// InTheWay is a record that keeps something from being done, and why.
export interface InTheWay {
  entity_type: string;
  entity_id: string;
  label: string;
  reason: string;
}

export class Fault extends Error {
  status = 0;
  code = '';
  details = '';
  hint = '';
  requestId = '';
  retryAfter = 0;
  conflicts: InTheWay[] = [];
  // It is not known whether what was asked for was done: 'again' where it may be sent again and is done once all the same,
  // 'look' where it would be done twice.
  lost: '' | 'again' | 'look' = '';

  // told is what the server said, word for word.
  readonly told: string;

  constructor(message: string, more: Partial<Fault> = {}) {
    super(message);
    Object.assign(this, more);
    this.told = `${message} ${this.details}`;
    this.message = plainWords(message, this.details);
    if (isOfTheDatabase(this.details)) this.details = '';
    if (this.code === 'HF014')
      this.message = _(
        'What you sent before was done after all. What you changed since was not sent: look at what is there now, then send it if it is still right.',
      );
  }

  get away(): boolean {
    return this.status === 0;
  }

  // stale: somebody else changed the record first.
  get stale(): boolean {
    return this.code === 'HF008' || this.status === 412;
  }

  // advice is what a person can do about it in their language, or nothing where the code alone does not tell.
  // GoTrue's own codes (small letters) mean too many things under one status.
  get advice(): string {
    if (this.lost === 'again')
      return _('It is not known whether this was done. Press again: it is done once, however often you press.');
    if (this.lost === 'look') return _('It is not known whether this was done. Look before you do it again.');
    if (this.code === 'HF014') return '';
    if (this.stale) return _('Load the record again, then make your change once more.');
    if (/[a-z]/.test(this.code)) return '';
    // 42501 is also what is never changed by anybody.
    if (this.code === '42501' && !this.told.startsWith('permission denied')) return '';
    return (this.wayOfField ?? ways[this.code] ?? ways[this.status])?.() ?? '';
  }

  // wayOfField is what to do where the code means something else of a field that the sentence names.
  private get wayOfField(): (() => string) | undefined {
    const named = Object.entries(fieldWays[this.code] ?? {}).find(([name]) => this.fields([name]).length);
    return named?.[1];
  }

  // The fields of a form that the sentence names, by their quotes or their place in front of a colon.
  fields(names: string[]): string[] {
    const text = this.told;
    return names.filter(
      (n) => text.includes(`"${n}"`) || new RegExp(`(^|[ ;(,])${n}:`).test(text) || text.startsWith(`${n} `),
    );
  }
}

// By code first (docs/api.md lists them), then by status.
const ways: Record<string, () => string> = {
  HF001: () => _('Load the page again: it shows what can be done now.'),
  HF002: () => _('Enter a smaller quantity, or choose another place or lot.'),
  HF004: () => _('Release what still uses the record, then try once more.'),
  HF010: () => _('Make somebody else an owner first.'),
  HF003: () => _('Correct what the message names: nothing was booked.'),
  HF005: () => _('Choose another place to lie in: no place lies in itself, and there are six levels at most.'),
  HF006: () => _('Something is missing or does not fit: the message names it.'),
  HF007: () => _('Complete the report: the message names what is missing.'),
  HF011: () => _('Correct the question, answer or repetition that the message names.'),
  HF012: () => _('Correct what the message names: the paragraph that it cites asks for it.'),
  HF013: () => _('Load the page again, then do it once more.'),
  HF015: () => _('Wait a moment: what was sent before is still being done.'),
  HF016: () => _('Begin at the first page again.'),
  HF020: () => _('Choose another lot: this one may not leave.'),
  HF021: () => _('Choose another place, or let a manager book it with a reason.'),
  HF022: () => _('Enter a smaller quantity: no more is open.'),
  HF023: () => _('Ask a second person to approve it: not the one who did it.'),
  HF024: () => _('Mend what the list names, then send the shipment off.'),
  HF025: () => _('Scan again: the goods or the place that the work is about.'),
  HF026: () => _('Choose another place: goods of another owner lie there.'),
  PGRST204: () => _('Load the page again: what you typed is kept.'),
  '23505': () => _('Choose another value: this one is taken.'),
  '42501': () => _('Ask an administrator of your organisation for this right.'),
  '422': () => _('Correct what the message names, then send it again.'),
  '22003': () => _('Enter a smaller number.'),
  '22P02': () => _('Write the value as the field asks for it.'),
  '23502': () => _('Fill in the field that the message names.'),
  '23503': () => _('Choose a record that is there; one that others refer to stays until they do not.'),
  '23514': () => _('Choose one of the values that the field takes.'),
  '503': () => _('The server is busy. Try again in a moment.'),
};

// By code and field.
const fieldWays: Record<string, Record<string, () => string>> = {
  HF002: { occurred_at: () => _('Choose a later date, or book first what came in before it.') },
};

// supabase-js hands on a failure's words and drops its head: the last failures are kept here by their words.
const recent = new Map<string, Partial<Fault>>();

export function remember(message: string, more: Partial<Fault>): void {
  recent.delete(message);
  recent.set(message, more);
  if (recent.size > 20) recent.delete(recent.keys().next().value as string);
}

type Words = {
  code?: unknown;
  error_code?: unknown;
  message?: unknown;
  msg?: unknown;
  error?: unknown;
  error_description?: unknown;
  details?: unknown;
  hint?: unknown;
  retry_after?: unknown;
  conflicts?: InTheWay[];
};

// fromResponse reads a failed answer of any of the server's surfaces.
export async function fromResponse(r: Response): Promise<Fault> {
  const body: Words = await r
    .clone()
    .json()
    .catch(() => ({}));
  const text = (v: unknown) => (typeof v === 'string' ? v : v == null ? '' : JSON.stringify(v));
  const message = text(body.message || body.msg || body.error_description || body.error) || `HTTP ${r.status}`;
  return new Fault(message, {
    status: r.status,
    code: text(body.error_code || (typeof body.code === 'string' ? body.code : '')),
    // What is listed one by one need not be said in one breath.
    details: body.conflicts ? '' : text(body.details),
    conflicts: body.conflicts ?? [],
    hint: text(body.hint),
    requestId: r.headers.get('X-Request-Id') ?? '',
    lost: recent.get(message)?.lost ?? '',
    retryAfter: Number(r.headers.get('Retry-After') ?? body.retry_after ?? 0),
  });
}

// lostAnswer is the fault of a request that changes something and was not answered.
export function lostAnswer(lost: 'again' | 'look'): Fault {
  const f = new Fault(_('No answer came from the server.'), { lost });
  // supabase-js puts the name of what was thrown before its words.
  for (const words of [f.message, `${f.name}: ${f.message}`]) remember(words, { message: f.message, lost });
  return f;
}

// toFault makes a Fault of whatever was thrown or returned as an error.
export function toFault(e: unknown): Fault {
  if (e instanceof Fault) return e;
  const w = (e ?? {}) as {
    message?: string;
    status?: number;
    code?: string;
    details?: string;
    hint?: string;
    name?: string;
  };
  const message = w.message ?? String(e);
  const known = recent.get(message);
  if (known)
    return new Fault(known.message ?? message, {
      code: w.code ?? '',
      details: w.details ?? '',
      hint: w.hint ?? '',
      ...known,
    });
  if (e instanceof TypeError || /fetch|network/i.test(message))
    return new Fault('The server cannot be reached.', {
      status: 0,
      hint: 'Nothing you typed is lost. It is tried again by itself.',
    });
  return new Fault(message, {
    status: w.status ?? 400,
    code: w.code ?? '',
    details: w.details ?? '',
    hint: w.hint ?? '',
  });
}
