import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { toFault } from '../lib/fault';
import { _ } from '../lib/i18n';
import { store, useStore } from '../lib/store';
import { Button } from './basic';
import { Icon } from './icon';

// Menu is a popover beside its button.
export function Menu({
  label,
  icon,
  text,
  children,
  kind,
  size = 'small',
}: {
  label: string;
  icon?: string;
  text?: ComponentChildren;
  children: (close: () => void) => ComponentChildren;
  kind?: 'quiet' | 'primary';
  size?: 'small';
}) {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLSpanElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const id = useId();
  useEffect(() => {
    const p = panel.current;
    const at = button.current?.getBoundingClientRect();
    if (!open || !p || !at) return;
    p.showPopover();
    const w = p.offsetWidth;
    const h = p.offsetHeight;
    p.style.left = `${Math.max(8, Math.min(at.right - w, innerWidth - w - 8))}px`;
    p.style.top = `${at.bottom + 4 + h > innerHeight && at.top > h ? at.top - h - 4 : Math.min(at.bottom + 4, Math.max(8, innerHeight - h - 8))}px`;
    p.querySelector<HTMLElement>('button, a, input')?.focus();
  }, [open]);
  const shut = () => {
    panel.current?.hidePopover();
    setOpen(false);
  };
  const keys = (e: KeyboardEvent) => {
    const all = [...(panel.current?.querySelectorAll<HTMLElement>('button, a') ?? [])];
    const i = all.indexOf(document.activeElement as HTMLElement);
    const step = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0;
    if (!step || !all.length) return;
    e.preventDefault();
    all[(i + step + all.length) % all.length]?.focus();
  };
  return (
    <span ref={button}>
      <Button
        kind={kind}
        size={size}
        icon={icon}
        label={label}
        aria-haspopup="true"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        {text}
      </Button>
      {open ? (
        <div
          ref={panel}
          id={id}
          class="menu"
          popover="auto"
          onKeyDown={keys}
          onToggle={(e) => {
            if ((e as unknown as ToggleEvent).newState === 'closed') setOpen(false);
          }}
        >
          {children(shut)}
        </div>
      ) : null}
    </span>
  );
}

interface Toast {
  n: number;
  text: string;
  action?: [string, () => void];
  failed?: boolean;
  advice?: string;
}

const toasts = store<Toast[]>([]);
let count = 0;

// toast says what was done, and goes by itself.
export function toast(text: string, action?: [string, () => void]): void {
  show({ text, action }, action ? 9000 : 5000);
}

// fail says that it was not done, why, and what to do about it.
export function fail(e: unknown): void {
  const f = toFault(e);
  show(
    { text: f.message + (f.requestId ? ` (${f.requestId.slice(0, 8)})` : ''), failed: true, advice: f.advice },
    9000,
  );
}

function show(t: Omit<Toast, 'n'>, ms: number): void {
  const n = ++count;
  toasts.set([...toasts.get().slice(-2), { n, ...t }]);
  setTimeout(() => toasts.set(toasts.get().filter((x) => x.n !== n)), ms);
}

export function Toasts() {
  const list = useStore(toasts);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {list.map((t) => (
        <div key={t.n} class={`toast ${t.failed ? 'failed' : ''}`}>
          <Icon name={t.failed ? 'alert' : 'check'} />
          <span>
            {t.text}
            {t.advice ? <span class="advice">{t.advice}</span> : null}
          </span>
          {t.action ? (
            <button type="button" onClick={t.action[1]}>
              {t.action[0]}
            </button>
          ) : null}
        </div>
      ))}
    </div>
  );
}
