import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { singular, usePermissions } from '../lib/catalog';
import { _ } from '../lib/i18n';
import { typedOf, unread } from '../lib/numbers';
import { Field as Around } from './form';
import { useFound, type Found } from './found';
import { useCalled, usePeople } from './value';
import type { FieldGiven } from './given';

interface Given extends FieldGiven {
  start?: string; // what the record is called that the form begins with
  required?: boolean;
}

// Reference is the control of a field that means a record: it is chosen by its code or its name, and nobody types an id.
export function Reference(given: Given) {
  return given.f.ref ? <OfCollection {...given} collection={given.f.ref} /> : <Person {...given} />;
}

function OfCollection({ collection, ...given }: Given & { collection: string }) {
  const [sought, setSought] = useState(typedOf(given.text) ?? '');
  const options = useFound(collection, sought);
  const called = useCalled(collection, given.start ? '' : given.text);
  return (
    <Chooser
      {...given}
      options={options}
      called={given.start ?? called}
      seek={setSought}
      help={_('Type to find: {what}', { what: singular(collection) })}
    />
  );
}

// Person is an account of the organisation, by the name and the address that colleagues know.
function Person(given: Given) {
  const p = usePermissions();
  const people = usePeople(p);
  const options = people.length || !p ? people : [[p.user_id, _('Me')] as const];
  const called = options.find(([id]) => id === given.text)?.[1];
  return (
    <Chooser
      {...given}
      options={options}
      called={called}
      seek={() => undefined}
      help={_('Type to find: {what}', { what: _('Person') })}
    />
  );
}

const codeOf = (name: string) => (name.split(' · ')[0] ?? '').trim().toLowerCase();

// hitOf is the one record that a text means: by all that it is called, or by its code or first name alone.
function hitOf(options: Found, typed: string): string | undefined {
  const text = typed.trim().toLowerCase();
  const whole = options.find(([, name]) => name.toLowerCase() === text);
  if (whole) return whole[0];
  const parts = options.filter(([, name]) => codeOf(name) === text || name.toLowerCase().endsWith(` · ${text}`));
  return parts.length === 1 ? parts[0]?.[0] : undefined;
}

function Chooser({
  f,
  text,
  put,
  wrong,
  required,
  called,
  options,
  seek,
  help,
}: Given & { called?: string; options: Found; seek: (v: string) => void; help: string }) {
  const [typed, setTyped] = useState(typedOf(text));
  const box = useRef<HTMLInputElement>(null);
  const list = useId();
  const [left, setLeft] = useState(false);
  const open = typed !== null && text === unread(typed);
  const doubt = open ? _('Choose one of those that are found') : '';
  // Before anything can be pressed: a form sent in that moment would take what no record was found for.
  useLayoutEffect(() => box.current?.setCustomValidity(doubt), [doubt]);
  // What was typed or scanned whole is found when its answer comes.
  useEffect(() => {
    const hit = open ? hitOf(options, typed) : undefined;
    if (hit) put(hit);
  }, [options.map(([id]) => id).join()]);
  // The form gave the field another record.
  useEffect(() => {
    if (!open && typed !== null && !hitOf(options, typed)) setTyped(null);
  }, [text]);
  const input = (v: string) => {
    setTyped(v);
    setLeft(false);
    put(v.trim() ? (hitOf(options, v) ?? unread(v)) : '');
    seek(v);
  };
  return (
    <Around label={_(f.label)} help={f.doc ? _(f.doc) : help} wrong={left && doubt ? doubt : wrong} required={required}>
      {(ids) => (
        <>
          <input
            {...ids}
            ref={box}
            class="input"
            list={list}
            value={typed ?? called ?? ''}
            autocomplete="off"
            onInput={(e) => input(e.currentTarget.value)}
            onBlur={() => setLeft(true)}
          />
          <datalist id={list}>
            {options.map(([id, name]) => (
              <option key={id} value={name} />
            ))}
          </datalist>
        </>
      )}
    </Around>
  );
}
