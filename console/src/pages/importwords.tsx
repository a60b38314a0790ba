import { useState } from 'preact/hooks';
import { words, type Collection } from '../lib/catalog';
import { _ } from '../lib/i18n';
import type { Answer } from '../database';
import { Button, Card } from '../ui/basic';
import { Check, Input, Select } from '../ui/form';

type Column = Answer<'process-import-job'>['columns'][number];
type Options = Record<string, unknown>;

// The encodings that a file's letters can be read in, as the Encoding Standard names them.
const encodings = [
  'utf-8',
  'windows-1252',
  'windows-1250',
  'windows-1251',
  'windows-1254',
  'macintosh',
  'ibm850',
  'shift_jis',
  'gbk',
  'big5',
];

// Reading shows what can be read in several ways and lets it be changed: the encoding of
// the letters, and rows that a sheet hides or that look like totals.
export function Reading({
  message,
  options,
  busy,
  answer,
}: {
  message: string;
  options: Options;
  busy: boolean;
  answer: (o: Options) => void;
}) {
  const found = /was read as ([^(.]+?) ?[(.]/.exec(message)?.[1];
  const asked: [string, string][] = [
    ['skip_hidden', 'Leave out rows that the sheet hides'],
    ['skip_totals', 'Leave out rows that look like totals'],
  ];
  const shown = asked.filter(([name]) => options[name] || message.includes(`(${name})`));
  const encoding = (options['encoding'] as string | undefined) ?? '';
  if (!shown.length && !found && !encoding) return null;
  return (
    <Card title={_('How the file is read')}>
      <div class="stack tight">
        {found || encoding ? (
          <Select
            label={_('Encoding of the letters')}
            value={encoding}
            put={(name) => !busy && answer({ encoding: name || undefined })}
            options={[
              ['', found ? _('as it was found: {name}', { name: found }) : _('as it is found')],
              ...encodings.map((name): [string, string] => [name, name]),
            ]}
          />
        ) : null}
        {shown.map(([name, label]) => (
          <Check
            key={name}
            label={_(label)}
            on={options[name] === true}
            put={(on) => !busy && answer({ [name]: on })}
          />
        ))}
      </div>
    </Card>
  );
}

// joined says which columns give a field together.
export const joined = (col: Column) => (col.parts ?? []).map((p) => p.header).join(' + ');

// mappingOf is a mapping for columns, each with the field it becomes: those that become
// the same field are joined, in the order of the file.
export function mappingOf(columns: Column[], now: (col: Column) => string) {
  const mapping: Record<string, string | number | number[] | null> = {};
  for (const col of columns) if (col.field) mapping[col.field] = null;
  const fields = new Set(columns.map(now).filter(Boolean));
  for (const field of fields) {
    const changed = columns.some((col) => (now(col) === field) !== (col.field === field));
    const parts = columns.find((col) => col.field === field && col.parts?.length)?.parts?.map((p) => p.index + 1);
    const chosen = columns.filter((col) => now(col) === field).map((col) => col.index + 1);
    mapping[field] =
      !changed && parts
        ? parts
        : chosen.length > 1 || parts
          ? chosen
          : (columns.find((col) => now(col) === field)?.header ?? null);
  }
  return mapping;
}

// Meanings gives texts that mean nothing their meaning, once for all rows.
export function Meanings({
  columns,
  of,
  options,
  busy,
  answer,
}: {
  columns: Column[];
  of: Collection | undefined;
  options: Options;
  busy: boolean;
  answer: (o: Options) => void;
}) {
  const [said, setSaid] = useState<Record<string, string>>({});
  const list = columns.flatMap((col) =>
    (col.unknown ?? []).map((text) => ({ col, text, key: `${col.field} ${text}` })),
  );
  if (!list.length) return null;
  const save = () => {
    const values = { ...(options['values'] as Record<string, Record<string, string>> | undefined) };
    for (const { col, text, key } of list) {
      const field = col.field;
      if (field && said[key] !== undefined)
        values[field] = { ...values[field], [text]: said[key] === blank ? '' : (said[key] as string) };
    }
    setSaid({});
    answer({ values });
  };
  return (
    <Card
      flush
      title={_('What these words mean')}
      actions={
        Object.keys(said).length ? (
          <Button size="small" kind="primary" busy={busy} onClick={save}>
            {_('Check with these meanings')}
          </Button>
        ) : null
      }
    >
      <div class="table stacks" tabIndex={0} role="region" aria-label={_('What these words mean')}>
        <table>
          <thead>
            <tr>
              <th scope="col">{_('In the file')}</th>
              <th scope="col">{_('Column')}</th>
              <th scope="col">{_('In all rows it means')}</th>
            </tr>
          </thead>
          <tbody>
            {list.map(({ col, text, key }) => {
              const members = of?.fields.find((x) => x.name === col.field)?.one_of;
              const label = _('{word} means', { word: text });
              const put = (e: { currentTarget: { value: string } }) =>
                setSaid({ ...said, [key]: e.currentTarget.value });
              return (
                <tr key={key}>
                  <td class="strong">{text}</td>
                  <td data-label={_('Column')}>{col.header}</td>
                  <td data-label={_('In all rows it means')}>
                    {members ? (
                      <select class="input" aria-label={label} value={said[key] ?? ''} onChange={put}>
                        <option value="" disabled>
                          {_('not said')}
                        </option>
                        {members.map((m) => (
                          <option key={m} value={m}>
                            {words(m)}
                          </option>
                        ))}
                        <option value={blank}>{_('nothing')}</option>
                      </select>
                    ) : (
                      <input
                        class="input"
                        aria-label={label}
                        placeholder={_('a code or a name')}
                        value={said[key] ?? ''}
                        onChange={put}
                      />
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

const blank = '\u0000';

// CheckAgain checks a file with another mapping or other options.
export type CheckAgain = (more?: { mapping?: Record<string, unknown>; options?: Options }) => Promise<void>;

interface Unanswered {
  j: { mapping: Record<string, string> | null; options: Options };
  missing: string; // the labels of what no column gives, in quotation marks
  busy: boolean;
  check: CheckAgain;
  of: Collection | undefined;
}

// MissingField asks what gives a field that no column gives: a column that is called
// otherwise, or one value for all rows.
export function MissingField({ j, missing, busy, check, of }: Unanswered) {
  const fields = of?.fields.filter((f) => of.import?.fields.includes(f.name)) ?? [];
  const [name, setName] = useState((fields.find((f) => missing.includes(`"${f.label}"`)) ?? fields[0])?.name ?? '');
  const [column, setColumn] = useState('');
  const [value, setValue] = useState('');
  const members = fields.find((f) => f.name === name)?.one_of;
  const choose = (other: string) => {
    setName(other);
    setValue('');
  };
  const useColumn = (e: Event) => {
    e.preventDefault();
    if (column) void check({ mapping: { ...j.mapping, [name]: column } });
  };
  const useValue = (e: Event) => {
    e.preventDefault();
    const defaults = { ...(j.options['defaults'] as Record<string, string> | undefined), [name]: value };
    if (value) void check({ options: { ...j.options, defaults } });
  };
  return (
    <>
      <Select label={_('Field')} value={name} put={choose} options={fields.map((f) => [f.name, _(f.label)])} />
      <form class="answer" onSubmit={useColumn}>
        <Input label={_('Header of the column in the file')} value={column} put={setColumn} />
        <Button type="submit" {...(members ? {} : { kind: 'primary' as const })} busy={busy} disabled={!column}>
          {_('Use this column')}
        </Button>
      </form>
      <form class="answer" onSubmit={useValue}>
        {members ? (
          <Select
            label={_('Or one value for all rows')}
            value={value}
            put={setValue}
            options={[['', ''], ...members.map((m): [string, string] => [m, words(m)])]}
          />
        ) : (
          <Input label={_('Or one value for all rows')} value={value} put={setValue} />
        )}
        <Button type="submit" {...(members ? { kind: 'primary' as const } : {})} busy={busy} disabled={!value}>
          {_('Use this value')}
        </Button>
      </form>
    </>
  );
}
