import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { beep } from '../lib/beep';
import { _ } from '../lib/i18n';
import { takeScans } from '../lib/scanner';
import { Icon } from './icon';
import { Meanings, useNumber } from './number';
import '../floor.css';

// Said is what a scan came to: told in words, by a colour and by a sound.
export interface Said {
  ok: boolean;
  text: string;
}

// ScanField takes what a scanner types or a person does. A scanner that types
// like a keyboard is heard wherever the page has the focus: what is typed
// outside a field goes into this one. Scanners are faster than a network, so
// codes wait for those before them; one that its page left behind is told by
// the low sound.
export function ScanField({
  label,
  put,
  said,
  busy,
}: {
  label: string;
  put: (code: string) => Promise<void>;
  said?: Said | null;
  busy?: boolean;
}) {
  const [text, setText] = useState('');
  const box = useRef<HTMLInputElement>(null);
  const latest = useRef<typeof put | null>(put);
  const read = useRef(Promise.resolve());
  latest.current = put;
  // enqueue reads a code once those before it are read.
  const enqueue = (code: string) => {
    read.current = read.current.then(() => (latest.current ? latest.current(code) : beep(false)));
  };
  useEffect(() => takeScans(enqueue), []);
  useLayoutEffect(() => {
    const press = (e: KeyboardEvent) => {
      const at = e.target as HTMLElement;
      if (
        e.key.length !== 1 ||
        e.key === ' ' ||
        e.ctrlKey ||
        e.metaKey ||
        e.altKey ||
        at.closest('input, textarea, select, dialog, [contenteditable]')
      )
        return;
      e.stopPropagation();
      box.current?.focus();
    };
    addEventListener('keydown', press, true);
    return () => {
      removeEventListener('keydown', press, true);
      latest.current = null;
    };
  }, []);
  return (
    <form
      class="scan"
      onSubmit={(e) => {
        e.preventDefault();
        const code = text.trim();
        setText('');
        if (code) enqueue(code);
      }}
    >
      <label class="scan-box">
        <span class="sr">{label}</span>
        <Icon name="scan" size={22} />
        <input
          ref={box}
          value={text}
          onInput={(e) => setText(e.currentTarget.value)}
          placeholder={label}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          enterkeyhint="go"
          aria-busy={busy || undefined}
        />
      </label>
      <button type="submit" class="btn big">
        {_('Enter')}
      </button>
      <p class={`scan-said ${said ? (said.ok ? 'ok' : 'wrong') : ''}`} role="status" aria-live="assertive">
        {said?.text ?? ''}
      </p>
    </form>
  );
}

// Amount is a quantity that a thumb sets.
export function Amount({
  label,
  unit,
  value,
  put,
  max,
}: {
  label: string;
  unit?: string;
  value: string;
  put: (v: string) => void;
  max?: number;
}) {
  const typed = useNumber(value, put);
  const n = Number(value) || 0;
  const step = (by: number) => put(String(Math.max(0, Math.min(max ?? Infinity, Math.round((n + by) * 1e4) / 1e4))));
  return (
    <div class="amount" role="group" aria-label={label}>
      <button type="button" class="btn big" aria-label={_('One less')} onClick={() => step(-1)}>
        −
      </button>
      <label>
        <span class="small muted">{unit ? `${label} (${unit})` : label}</span>
        <input
          ref={typed.box}
          class="input"
          inputMode="decimal"
          autocomplete="off"
          value={typed.text}
          onInput={(e) => typed.type(e.currentTarget.value)}
        />
      </label>
      <button type="button" class="btn big" aria-label={_('One more')} onClick={() => step(1)}>
        +
      </button>
      {typed.doubt ? (
        <div class="doubt" role="alert">
          {typed.doubt} <Meanings list={typed.meanings} mean={typed.mean} />
        </div>
      ) : null}
    </div>
  );
}
