import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { number } from '../lib/format';
import { _ } from '../lib/i18n';
import { readNumber, typedOf, unread, writeNumber } from '../lib/numbers';
import { Field } from './form';

interface Given {
  label: string;
  value: string;
  put: (v: string) => void;
  help?: string;
  wrong?: string;
  required?: boolean;
  unit?: string;
  autofocus?: boolean;
}

// useNumber is what a person types for a number, and the question that it leaves. The form holds the number as the server
// writes it, or what is none (unread) until the question is answered; a form with an open question is not sent.
export function useNumber(value: string, put: (v: string) => void) {
  const [text, setText] = useState(() => typedOf(value) ?? writeNumber(value));
  const box = useRef<HTMLInputElement>(null);
  const meanings = readNumber(text);
  const held = !text.trim() ? '' : meanings.length === 1 ? (meanings[0] as string) : unread(text);
  const chosen = meanings.includes(value) || text === writeNumber(value);
  const doubt =
    !text.trim() || chosen
      ? ''
      : meanings.length > 1
        ? _('Which number is meant?')
        : meanings.length
          ? ''
          : _('This is not a number.');
  // The form gave the field another number.
  useEffect(() => {
    if (value !== held && !chosen) setText(writeNumber(value));
  }, [value]);
  useLayoutEffect(() => box.current?.setCustomValidity(doubt), [doubt]);
  const type = (next: string) => {
    setText(next);
    const read = readNumber(next);
    put(!next.trim() ? '' : read.length === 1 ? (read[0] as string) : unread(next));
  };
  const mean = (n: string) => {
    setText(writeNumber(n));
    put(n);
    box.current?.focus();
  };
  return { text, box, doubt, meanings: doubt ? meanings : [], type, mean };
}

// Meanings are the numbers among which a person says which one was meant.
export function Meanings({ list, mean }: { list: string[]; mean: (n: string) => void }) {
  return (
    <span class="row tight">
      {list.map((n) => (
        <button key={n} type="button" class="btn small" onClick={() => mean(n)}>
          {number(Number(n), 6)}
        </button>
      ))}
    </span>
  );
}

// NumberInput is the control of a number; it is a text for the browser, whose own number field reads by the language of the
// browser and drops what it does not understand.
export function NumberInput({ label, value, put, help, wrong, required, unit, autofocus }: Given) {
  const n = useNumber(value, put);
  return (
    <Field label={label} help={help} wrong={n.doubt || wrong} required={required}>
      {(ids) => (
        <>
          <div class={unit ? 'with-unit' : undefined}>
            <input
              {...ids}
              ref={n.box}
              class="input"
              inputMode="decimal"
              autocomplete="off"
              autofocus={autofocus}
              value={n.text}
              onInput={(e) => n.type(e.currentTarget.value)}
            />
            {unit ? <span class="unit">{unit}</span> : null}
          </div>
          <Meanings list={n.meanings} mean={n.mean} />
        </>
      )}
    </Field>
  );
}
