import type { ComponentChildren } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { singular, words } from '../lib/catalog';
import { listOf, listText } from '../lib/fields';
import { _ } from '../lib/i18n';
import { Check, Field as Around } from './form';
import { useFound } from './found';
import { Icon } from './icon';
import { Named } from './value';
import '../records.css';
import type { FieldGiven } from './given';

// ListField is the control of a list: boxes to tick where its elements are of a closed set, records that are found by name,
// or words that are typed one after the other.
export function ListField(given: FieldGiven) {
  if (given.f.one_of) return <Several {...given} />;
  return given.f.names ? <Records {...given} /> : <Words {...given} />;
}

function Several({ f, text, put, wrong }: FieldGiven) {
  const list = listOf(text);
  const id = useId();
  return (
    <fieldset class="field several" aria-describedby={wrong || f.doc ? id : undefined}>
      <legend class="label">{_(f.label)}</legend>
      <div class="row">
        {(f.one_of ?? []).map((v) => (
          <Check
            key={v}
            label={words(v)}
            on={list.includes(v)}
            put={(on) => put(listText(on ? [...list, v] : list.filter((x) => x !== v)))}
          />
        ))}
      </div>
      {wrong || f.doc ? (
        <span class={wrong ? 'wrong' : 'help'} id={id}>
          {wrong ?? _(f.doc ?? '')}
        </span>
      ) : null}
    </fieldset>
  );
}

// Chip is one element, with the way to take it out.
function Chip({ name, children, drop }: { name?: string; children: ComponentChildren; drop: () => void }) {
  return (
    <span class="chip">
      {children}
      <button type="button" onClick={drop} aria-label={name ? _('Take out {what}', { what: name }) : _('Take out')}>
        <Icon name="close" size={14} />
      </button>
    </span>
  );
}

// Words are elements that are typed; Enter or a comma begins the next. What stands in the field counts from the first letter.
function Words({ f, text, put, wrong }: FieldGiven) {
  const [done, setDone] = useState(() => listOf(text));
  const [typed, setTyped] = useState('');
  const textWith = (list: string[], rest: string) => listText([...list, rest].filter((x) => x.trim()));
  const tell = (list: string[], rest: string) => {
    setDone(list);
    setTyped(rest);
    put(textWith(list, rest));
  };
  // The form gave the field another value.
  useEffect(() => {
    if (text === textWith(done, typed)) return;
    setDone(listOf(text));
    setTyped('');
  }, [text]);
  const input = (v: string) => {
    const parts = v.split(',');
    const rest = parts.pop() ?? '';
    tell([...done, ...parts.map((x) => x.trim()).filter(Boolean)], rest);
  };
  return (
    <Around
      label={_(f.label)}
      help={f.doc ? `${_(f.doc)} ${_('Several with commas between')}` : _('Several with commas between')}
      wrong={wrong}
    >
      {(ids) => (
        <div class="stack tight">
          {done.length ? (
            <span class="row tight">
              {done.map((x, i) => (
                <Chip
                  key={`${i} ${x}`}
                  name={x}
                  drop={() =>
                    tell(
                      done.filter((_x, n) => n !== i),
                      typed,
                    )
                  }
                >
                  {x}
                </Chip>
              ))}
            </span>
          ) : null}
          <input
            {...ids}
            class="input"
            value={typed}
            autocomplete="off"
            onInput={(e) => input(e.currentTarget.value)}
            onKeyDown={(e) => {
              if (e.key !== 'Enter' || !typed.trim()) return;
              e.preventDefault();
              input(`${typed},`);
            }}
          />
        </div>
      )}
    </Around>
  );
}

// Records are elements that are records of a collection, found by code or name.
function Records({ f, text, put, wrong }: FieldGiven) {
  const collection = f.names ?? '';
  const [typed, setTyped] = useState('');
  const [missing, setMissing] = useState(false);
  const options = useFound(collection, typed);
  const list = listOf(text);
  const listId = useId();
  const input = (v: string) => {
    const hit = options.find(([, name]) => name === v);
    setTyped(hit ? '' : v);
    setMissing(false);
    if (hit && !list.includes(hit[0])) put(listText([...list, hit[0]]));
  };
  // What was typed or pasted whole is taken as soon as it is found.
  useEffect(() => {
    if (typed) input(typed);
  }, [options.map(([id]) => id).join()]);
  return (
    <Around
      label={_(f.label)}
      help={f.doc ? _(f.doc) : _('Type to find: {what}', { what: singular(collection) })}
      wrong={missing ? _('Choose one of those that are found') : wrong}
    >
      {(ids) => (
        <div class="stack tight">
          {list.length ? (
            <span class="row tight">
              {list.map((id) => (
                <Chip key={id} drop={() => put(listText(list.filter((x) => x !== id)))}>
                  <Named collection={collection} ids={[id]} />
                </Chip>
              ))}
            </span>
          ) : null}
          <input
            {...ids}
            class="input"
            list={listId}
            value={typed}
            autocomplete="off"
            onInput={(e) => input(e.currentTarget.value)}
            onBlur={() => setMissing(typed.trim() !== '')}
          />
          <datalist id={listId}>
            {options.map(([id, name]) => (
              <option key={id} value={name} />
            ))}
          </datalist>
        </div>
      )}
    </Around>
  );
}
