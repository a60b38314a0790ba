import { singular, words, type Field } from '../lib/catalog';
import { textOf, valueOf } from '../lib/fields';
import { _ } from '../lib/i18n';
import { Button } from './basic';
import { Control } from './record-form';
import { useWhere } from './where';
import '../records.css';
import type { FieldGiven } from './given';

type Members = Record<string, unknown>;

// What only programs write in a document, or what is made of the other parts: it is kept as it is and not shown.
const unasked = new Set(['key', 'photo_id', 'filter', 'show_when', 'item', 'all', 'any']);

// kindsOf are the collections that a part with an id may mean, by the kind that stands beside it.
const collectionOf = (kind: unknown) => (kind ? (kind === 'equipment' ? 'equipment' : `${String(kind)}s`) : undefined);

// partsOf are the parts that a person is asked for, each as a field of a form.
function partsOf(f: Field, of: Members): Field[] {
  const named = (f.parts ?? []).map((x) => ({ ...x, label: x.label || words(x.name) }));
  const known = named.map((x) =>
    x.name === 'entity_id' ? { ...x, label: words('entity'), ref: collectionOf(of['entity_type']) } : x,
  );
  return known.filter((x) => !unasked.has(x.name) && (x.type !== 'uuid' || x.ref));
}

const parsed = (text: string, otherwise: unknown): unknown => {
  try {
    return text ? JSON.parse(text) : otherwise;
  } catch {
    return otherwise;
  }
};

// keyed gives what has a question and no key one that is made of it, as programs name it.
function keyed(of: Members, taken: unknown[]): Members {
  if (typeof of['prompt'] !== 'string' || of['key']) return of;
  const base =
    of['prompt']
      .toLowerCase()
      .normalize('NFKD')
      .replace(/[^a-z0-9]+/g, '_')
      .replace(/^_+|_+$/g, '')
      .slice(0, 36) || 'question';
  let key = base;
  for (let n = 2; taken.includes(key); n++) key = `${base}_${n}`;
  return { ...of, key };
}

// DocumentField is the control of a document: its parts are fields of their own, and a list of them grows and shrinks by
// buttons. The form holds it as JSON, which nobody is shown.
export function DocumentField({ f, text, put, wrong }: FieldGiven) {
  const save = (v: unknown) => put(v === undefined ? '' : JSON.stringify(v));
  return (
    <fieldset class="field whole document">
      <legend class="label">
        {_(f.label)}
        {f.required && !f.default ? <span aria-hidden="true"> *</span> : null}
      </legend>
      {f.list ? (
        <Elements f={f} list={(parsed(text, []) as Members[]) ?? []} save={save} />
      ) : (
        <Parts f={f} of={(parsed(text, {}) as Members) ?? {}} save={save} />
      )}
      {wrong ? <span class="wrong">{wrong}</span> : null}
    </fieldset>
  );
}

function Elements({ f, list, save }: { f: Field; list: Members[]; save: (v: unknown) => void }) {
  const what = singular(f.name);
  const at = (i: number, of: Members | undefined) =>
    save(
      of
        ? list.map((x, n) =>
            n === i
              ? keyed(
                  of,
                  list.filter((_x, m) => m !== i).map((x) => x['key']),
                )
              : x,
          )
        : list.filter((_x, n) => n !== i),
    );
  const begin = Object.fromEntries(
    (f.parts ?? [])
      .filter((x) => x.required && x.one_of?.length && x.type === 'text')
      .map((x) => [x.name, x.one_of?.[0]]),
  );
  return (
    <>
      {list.map((of, i) => (
        <div key={i} class="element" role="group" aria-label={`${what} ${i + 1}`}>
          <Parts f={f} of={of} save={(v) => at(i, (v ?? {}) as Members)} />
          <Button
            size="small"
            icon="trash"
            label={_('Take out {what}', { what: `${what} ${i + 1}` })}
            onClick={() => at(i, undefined)}
          />
        </div>
      ))}
      <Button size="small" onClick={() => save([...list, begin])}>
        {_('Add: {what}', { what })}
      </Button>
    </>
  );
}

function Parts({ f, of, save }: { f: Field; of: Members; save: (v: unknown) => void }) {
  const zone = useWhere();
  const change = (x: Field, text: string) => {
    const next = { ...of };
    const empty = text === '' || (x.type === 'boolean' && text === 'false');
    if (empty) delete next[x.name];
    else next[x.name] = valueOf(x, text, zone);
    // Another kind of thing has other records.
    if (x.name === 'entity_type') delete next['entity_id'];
    save(Object.keys(next).length ? next : undefined);
  };
  return (
    <div class="form">
      {partsOf(f, of).map((x) => (
        <Control
          key={`${x.name} ${x.ref ?? ''}`}
          f={{ ...x, doc: undefined }}
          text={textOf(x, of[x.name], zone)}
          put={(v) => change(x, v)}
        />
      ))}
    </div>
  );
}
