import { useEffect, useRef, useState } from 'preact/hooks';
import { records, want } from '../lib/client';
import { words, type Collection, type Field } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { toFault, type Fault } from '../lib/fault';
import { changes, startOf, textOf, valueOf, type Draft } from '../lib/fields';
import { unitOf, value as shown } from '../lib/format';
import { _ } from '../lib/i18n';
import type { Row } from '../database';
import { Button, Note, Problem } from './basic';
import { Area, Check, Input, Moment, Select } from './form';
import { Classified, Coded, isCoded } from './coded';
import { DocumentField } from './document';
import { Kept } from './kept';
import { ListField } from './list-field';
import { NumberInput } from './number';
import { Reference } from './reference';
import { numeric } from './value';
import { useWhere, useZoneOf, Where } from './where';

// isNeeded says whether a record is not made without a person saying it.
const isNeeded = (f: Field) => !!f.required && !f.default && f.type !== 'boolean';

// Texts of several sentences have room for them.
const longTexts = [
  'notes',
  'description',
  'immediate_action',
  'lessons',
  'note',
  'situation',
  'existing_measures',
  'measure',
];

// Control is one field of a form, by its type.
export function Control({
  f,
  text,
  put,
  wrong,
  start,
}: {
  f: Field;
  text: string;
  put: (v: string) => void;
  wrong?: string;
  start?: string;
}) {
  const zone = useWhere();
  const label = _(f.label);
  const help = f.doc ? _(f.doc) : undefined;
  const required = isNeeded(f);
  const same = { label, help, wrong, required, value: text, put };
  if (f.ref || (f.names && f.type === 'uuid'))
    return <Reference f={f} text={text} put={put} wrong={wrong} start={start} required={required} />;
  if (f.type === 'array') return <ListField f={f} text={text} put={put} wrong={wrong} />;
  if (f.codes)
    return <Classified f={f} label={label} help={help} text={text} put={put} wrong={wrong} required={required} />;
  if (f.one_of)
    return (
      <Select
        {...same}
        options={[
          ...(required || (f.required && text) ? [] : [['', '–'] as [string, string]]),
          ...f.one_of.filter(Boolean).map((v) => [v, words(v)] as [string, string]),
        ]}
      />
    );
  if (f.type === 'boolean') return <Check label={label} on={text === 'true'} put={(v) => put(String(v))} />;
  if (f.type === 'json' && f.parts) return <DocumentField f={f} text={text} put={put} wrong={wrong} />;
  if (f.type === 'json') return <Input {...same} />;
  if (isCoded(f))
    return <Coded f={f} label={label} help={help} text={text} put={put} wrong={wrong} required={required} />;
  if (f.type === 'text' && !f.format)
    return longTexts.includes(f.name) ? (
      <Area {...same} whole rows={3} />
    ) : (
      <Input {...same} />
    );
  if (f.type === 'timestamp') return <Moment {...same} zone={zone} />;
  if (f.type === 'date') return <Input {...same} type="date" />;
  if (numeric(f)) return <NumberInput {...same} unit={unitOf(f) || undefined} />;
  return <Input {...same} maxLength={f.max_len || undefined} />;
}

// wrongs puts the server's sentence at the field that it names.
export function wrongs(f: Fault | null, fields: Field[]): Record<string, string> {
  if (!f) return {};
  return Object.fromEntries(f.fields(fields.map((x) => x.name)).map((n) => [n, f.message]));
}

interface Conflict {
  theirs: Row;
  fields: Field[];
}

// RecordForm makes or changes a record. When somebody else was faster it asks, field by field, whose value holds.
// also is what a new record gets beside what is asked for.
export function RecordForm({
  c,
  fields,
  base,
  starts,
  done,
  cancel,
  preset,
  also,
}: {
  c: Collection;
  fields: Field[];
  base: Row | null;
  starts?: Record<string, string>;
  preset?: Draft;
  also?: Record<string, unknown>;
  done: (r: Row) => void;
  cancel: () => void;
}) {
  const [begun] = useState(() => {
    const defaults = Object.fromEntries(fields.map((f) => [f.name, startOf(f)]).filter(([, text]) => text));
    return { from: base, values: (base ? {} : { ...defaults, ...preset }) as Draft };
  });
  const kept = useDraft(`${c.name} ${base?.id ?? `new ${location.search}`}`);
  const [{ from, values: draft }, put] = kept.field('form', begun);
  // What is typed is kept with the record that it was typed over: a change by somebody else is seen however late.
  const setDraft = (values: Draft) => put((now) => ({ ...now, values }));
  const [fault, setFault] = useState<Fault | null>(null);
  const [busy, setBusy] = useState(false);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const [missing, setMissing] = useState<string[]>([]);
  const form = useRef<HTMLFormElement>(null);
  const zone = useZoneOf({ ...from, ...draft });
  const text = (f: Field) => draft[f.name] ?? textOf(f, from?.[f.name], zone);
  const needed = _('This is needed.');
  const at = {
    ...wrongs(fault, fields),
    ...Object.fromEntries(missing.filter((n) => !draft[n]).map((n) => [n, needed])),
  };
  // What is wrong is brought into sight and gets the focus.
  useEffect(() => {
    if (!fault && !missing.length) return;
    const at =
      form.current?.querySelector<HTMLElement>('[aria-invalid=true]') ??
      form.current?.querySelector<HTMLElement>('[role=alert]');
    at?.scrollIntoView({ block: 'center' });
    at?.focus({ preventScroll: true });
  }, [fault, missing]);
  const send = () => {
    const doubtful = [...(form.current?.elements ?? [])].find((e) => (e as HTMLInputElement).validity?.customError) as
      HTMLElement | undefined;
    const empty = fields.filter((f) => isNeeded(f) && !text(f).trim()).map((f) => f.name);
    setFault(null);
    setMissing(empty);
    if (!empty.length && doubtful) doubtful.focus();
    if (!empty.length && !doubtful) void save();
  };
  const save = async () => {
    setBusy(true);
    const body = changes(fields, from, draft, zone);
    try {
      const row = from && !Object.keys(body).length ? from : await write(c, from, { ...also, ...body });
      kept.drop();
      done(row);
    } catch (e) {
      const f = toFault(e);
      if (!f.stale || !from) return setFault(f);
      const theirs = await want<Row>(records(c.name).select('*').eq('id', from.id).single());
      const both = fields.filter((x) => {
        const [now, was] = [theirs, from].map((r) => textOf(x, r[x.name], zone));
        return x.name in body && now !== was && now !== draft[x.name];
      });
      put((now) => ({ ...now, from: theirs }));
      if (both.length) setConflict({ theirs, fields: both });
      else setFault(toFault({ message: _('Somebody else saved other fields meanwhile. Yours are kept: save again.') }));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Where.Provider value={zone}>
      <form
        ref={form}
        class="stack"
        noValidate
        onSubmit={(e) => {
          e.preventDefault();
          send();
        }}
      >
        {conflict ? (
          <Note kind="warn">
            <b>{_('Somebody else changed this record while you were editing.')}</b>
            <table>
              <thead>
                <tr>
                  <th>{_('Field')}</th>
                  <th>{_('Theirs')}</th>
                  <th>{_('Yours')}</th>
                </tr>
              </thead>
              <tbody>
                {conflict.fields.map((f) => (
                  <tr key={f.name}>
                    <td>{_(f.label)}</td>
                    <td>
                      <Check
                        label={shown(f, conflict.theirs[f.name], zone) || _('empty')}
                        on={draft[f.name] === undefined}
                        put={(v) => {
                          const next = { ...draft };
                          if (v) delete next[f.name];
                          setDraft(next);
                        }}
                      />
                    </td>
                    <td>
                      {draft[f.name] === undefined ? (
                        <span class="muted">{_('given up')}</span>
                      ) : (
                        shown(f, valueOf(f, draft[f.name] as string, zone), zone)
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
            <p class="small">{_('Tick what of theirs shall hold, then save.')}</p>
          </Note>
        ) : null}
        <Kept draft={kept} />
        {kept.isFound ? <Gone c={c} draft={draft} preset={preset} /> : null}
        {fault ? <Problem error={fault} /> : null}
        <div class="form">
          {fields.map((f) => (
            <Control
              key={f.name}
              f={f}
              text={text(f)}
              start={draft[f.name] === undefined ? starts?.[f.name] : undefined}
              put={(v) => setDraft({ ...draft, [f.name]: v })}
              wrong={at[f.name]}
            />
          ))}
        </div>
        <div class="row">
          <Button type="submit" kind="primary" busy={busy}>
            {base ? _('Save') : _('Create')}
          </Button>
          <Button
            onClick={() => {
              kept.drop();
              cancel();
            }}
          >
            {_('Cancel')}
          </Button>
        </div>
      </form>
    </Where.Provider>
  );
}

// Gone is what was typed for fields that the records no longer have, so that it can be written elsewhere.
function Gone({ c, draft, preset }: { c: Collection; draft: Draft; preset?: Draft }) {
  const names = Object.keys(draft).filter(
    (n) => draft[n] && !(preset && n in preset) && !c.fields.some((f) => f.name === n),
  );
  if (!names.length) return null;
  const list = names.map((n) => `${words(n)}: ${draft[n] as string}`).join('; ');
  return <Note kind="warn">{_('These records no longer have what you typed here: {list}', { list })}</Note>;
}

// write makes a record, or changes it as long as nobody else has.
export async function write(c: Collection, from: Row | null, body: Record<string, unknown>): Promise<Row> {
  if (!from) return want<Row>(records(c.name).insert(body).select().single());
  let q = records(c.name).update(body).eq('id', from.id);
  if (from.version !== undefined) q = q.setHeader('If-Match', `"${from.version}"`);
  return want<Row>(q.select().single());
}
