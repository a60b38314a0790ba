// What integrators read in the words of SQL is said to people in words of their own.
import { _ } from './i18n';

// labelOf is a column as forms call it.
function labelOf(name: string): string {
  const text = name.replace(/_id$/, '').replaceAll('_', ' ');
  return _(text.charAt(0).toUpperCase() + text.slice(1));
}

type Saying = (m: RegExpExecArray, details: string) => string;

const isTaken: Saying = (_m, details) => {
  const value = /^Key \(.*\)=\((.*)\) already exists/.exec(details)?.[1];
  return value ? _('{value} is taken already.', { value }) : _('Another record has this value already.');
};

const isReferred: Saying = (_m, details) => {
  const from = /is still referenced from table "(\w+)"/.exec(details)?.[1];
  return from
    ? _('Other records still refer to it: {what}.', { what: labelOf(from) })
    : _('Other records still refer to it.');
};

const isMissing: Saying = (_m, details) => {
  const field = /^Key \((\w+)\)=/.exec(details)?.[1];
  return field
    ? _('{field}: this record is not there.', { field: labelOf(field) })
    : _('A record that is named is not there.');
};

const ofField =
  (say: (field: string, m: RegExpExecArray) => string): Saying =>
  (m) =>
    say(labelOf(m.groups?.['field'] ?? ''), m);

const sayings: [RegExp, Saying][] = [
  [/^duplicate key value/, isTaken],
  [/^null value in column "(?<field>\w+)"/, ofField((field) => _('{field} is needed.', { field }))],
  [/^update or delete on table .* violates foreign key/, isReferred],
  [/violates foreign key constraint|^a referenced row is missing/, isMissing],
  [/violates (a )?check constraint|^a value is not acceptable/, () => _('A value is not one that the record takes.')],
  [
    /^value too long for column "(?<field>\w+)": at most (\d+)/,
    ofField((field, m) => _('{field}: at most {n} characters.', { field, n: m[2] ?? '' })),
  ],
  [
    /^"(?<field>\w+)" takes (a|an) .*: ".*" is none$/,
    ofField((field) => _('{field}: this is too large, or has too many digits.', { field })),
  ],
  [
    /^"(?<field>\w+)" must be at most (-?[\d.]+)$/,
    ofField((field, m) => _('{field}: {n} or less.', { field, n: m[2] ?? '' })),
  ],
  [
    /^"(?<field>\w+)" must be at least (-?[\d.]+)$/,
    ofField((field, m) => _('{field}: {n} or more.', { field, n: m[2] ?? '' })),
  ],
  [/^invalid input syntax for type [^:]*: "(.*)"$/, (m) => _('"{value}" cannot be read here.', { value: m[1] ?? '' })],
  [/^permission denied for |row.level security/, () => _('Your role may not do this.')],
  [
    /^column "(?<field>\w+)" can only be set when/,
    ofField((field) => _('{field} cannot be changed any more.', { field })),
  ],
  [
    /^"\w+" has no column "(?<field>\w+)"/,
    ofField((field) => _('{field} is no longer kept: this form is from before a change of the program.', { field })),
  ],
  [/^column "(?<field>\w+)" is kept by the server/, ofField((field) => _('{field} is kept by the server.', { field }))],
];

// plainWords is a sentence of SQL in a person's words; other sentences stay as they are.
export function plainWords(message: string, details: string): string {
  for (const [words, say] of sayings) {
    const m = words.exec(message);
    if (m) return say(m, details);
  }
  return message;
}

// isOfTheDatabase says that details are those of the database.
export const isOfTheDatabase = (details: string) => /^(Key \(|Failing row)/.test(details);
