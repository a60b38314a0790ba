import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { toFault } from '../lib/fault';
import { tone } from '../lib/format';
import { _ } from '../lib/i18n';
import { words } from '../lib/catalog';
import { Icon } from './icon';

type ButtonProps = Omit<JSX.ButtonHTMLAttributes<HTMLButtonElement>, 'size' | 'icon'> & {
  kind?: 'primary' | 'danger' | 'quiet' | 'danger solid';
  size?: 'small' | 'big';
  busy?: boolean;
  icon?: string;
  label?: string;
};

// Button says what happens; with an icon alone it needs a label.
export function Button({ kind, size, busy, icon, label, children, class: more, ...rest }: ButtonProps) {
  const bare = !children;
  return (
    <button
      type="button"
      {...rest}
      class={['btn', kind, size, bare && 'icon', more as string].filter(Boolean).join(' ')}
      disabled={rest.disabled || busy}
      aria-busy={busy || undefined}
      aria-label={bare ? label : rest['aria-label']}
      title={bare ? label : (rest.title as string)}
    >
      {busy ? <span class="spin" /> : icon ? <Icon name={icon} size={size === 'small' ? 16 : 18} /> : null}
      {children}
    </button>
  );
}

export function LinkButton({
  kind,
  size,
  icon,
  children,
  ...rest
}: JSX.AnchorHTMLAttributes<HTMLAnchorElement> & {
  kind?: 'primary' | 'quiet';
  size?: 'small' | 'big';
  icon?: string;
}) {
  return (
    <a {...rest} class={['btn', kind, size].filter(Boolean).join(' ')}>
      {icon ? <Icon name={icon} size={size === 'small' ? 16 : 18} /> : null}
      {children}
    </a>
  );
}

// Badge shows a state; its colour only repeats what it says.
export function Badge({
  state,
  tone: given,
  children,
}: {
  state?: unknown;
  tone?: string;
  children?: ComponentChildren;
}) {
  return <span class={`badge ${given ?? tone(state)}`}>{children ?? words(String(state ?? ''))}</span>;
}

export function Card({
  title,
  actions,
  children,
  footer,
  flush,
  label,
}: {
  title?: ComponentChildren;
  actions?: ComponentChildren;
  children?: ComponentChildren;
  footer?: ComponentChildren;
  flush?: boolean;
  label?: string;
}) {
  return (
    <section class="card" aria-label={label}>
      {title || actions ? (
        <header>
          {typeof title === 'string' ? <h2>{title}</h2> : title}
          <span class="push" />
          {actions}
        </header>
      ) : null}
      {flush ? children : <div class="body">{children}</div>}
      {footer ? <footer>{footer}</footer> : null}
    </section>
  );
}

export function Note({
  kind = '',
  children,
  icon,
}: {
  kind?: '' | 'bad' | 'warn' | 'good';
  children: ComponentChildren;
  icon?: string;
}) {
  return (
    <div class={`note ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
      <Icon name={icon ?? (kind === 'good' ? 'check' : kind ? 'alert' : 'help')} />
      <div>{children}</div>
    </div>
  );
}

// Problem says what failed in the server's words, and the request's number to ask about it.
export function Problem({ error, retry }: { error: unknown; retry?: () => void }) {
  if (!error) return null;
  const f = toFault(error);
  return (
    <Note kind="bad">
      <b>{f.away ? _(f.message) : f.message}</b>
      {f.details && !f.details.startsWith('request ') ? <div class="small">{f.details}</div> : null}
      {f.hint ? <div class="small">{_(f.hint)}</div> : null}
      {f.advice ? <div class="small">{f.advice}</div> : null}
      {f.retryAfter ? <div class="small">{_('Try again in {n} seconds.', { n: f.retryAfter })}</div> : null}
      <div class="id">
        {f.requestId ? (
          <Copy text={f.requestId} label={_('Copy request number {id}', { id: f.requestId.slice(0, 8) })} />
        ) : null}
        {retry ? (
          <button type="button" onClick={retry}>
            {_('Try again')}
          </button>
        ) : null}
      </div>
    </Note>
  );
}

export function Copy({ text, label }: { text: string; label: string }) {
  const [done, set] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    set(true);
    setTimeout(() => set(false), 1500);
  };
  return (
    <button type="button" class="link" onClick={() => void copy()}>
      {done ? _('Copied') : label}
    </button>
  );
}

export function Empty({
  title,
  children,
  icon = 'box',
  action,
}: {
  title: string;
  children?: ComponentChildren;
  icon?: string;
  action?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <span class="mark">
        <Icon name={icon} size={22} />
      </span>
      <h3>{title}</h3>
      {children ? <p class="small">{children}</p> : null}
      {action}
    </div>
  );
}

export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div class="stack" aria-busy="true" role="status">
      <span class="sr">{_('Loading')}</span>
      {Array.from({ length: lines }, (_x, i) => (
        <span key={i} class="skeleton" style={{ inlineSize: `${90 - ((i * 17) % 45)}%` }} />
      ))}
    </div>
  );
}

// Meter is a bar with its figure said beside it by the caller.
export function Meter({
  value,
  label,
  warn = 85,
  bad = 100,
}: {
  value: number;
  label: string;
  warn?: number;
  bad?: number;
}) {
  return (
    <div
      class={`bar ${value >= bad ? 'bad' : value >= warn ? 'warn' : ''}`}
      role="meter"
      aria-valuenow={Math.round(value)}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-label={label}
    >
      <i style={{ inlineSize: `${Math.max(0, Math.min(100, value))}%` }} />
    </div>
  );
}

// Spark draws how a figure went, for the eye alone: the figure stands beside it.
export function Spark({ values, width = 84, height = 30 }: { values: number[]; width?: number; height?: number }) {
  if (values.length < 2) return null;
  const low = Math.min(...values);
  const span = Math.max(...values) - low || 1;
  const at = values.map(
    (v, i) =>
      `${((i * width) / (values.length - 1)).toFixed(1)},${(height - 3 - ((v - low) / span) * (height - 6)).toFixed(1)}`,
  );
  return (
    <svg class="spark" width={width} height={height} aria-hidden="true">
      <polygon points={`0,${height} ${at.join(' ')} ${width},${height}`} fill="var(--accent-soft)" />
      <polyline points={at.join(' ')} fill="none" stroke="var(--accent)" stroke-width="1.6" stroke-linejoin="round" />
    </svg>
  );
}

export function Head({
  title,
  sub,
  crumbs,
  children,
}: {
  title: ComponentChildren;
  sub?: ComponentChildren;
  crumbs?: [string, string][];
  children?: ComponentChildren;
}) {
  return (
    <header class="head">
      <div class="grow">
        {crumbs?.length ? (
          <nav class="crumbs" aria-label={_('Where you are')}>
            {crumbs.map(([text, href]) => (
              <span key={href} class="row tight">
                <a href={href}>{text}</a>
                <span aria-hidden="true">/</span>
              </span>
            ))}
          </nav>
        ) : null}
        <h1 tabIndex={-1}>{title}</h1>
        {sub ? <p>{sub}</p> : null}
      </div>
      <div class="row">{children}</div>
    </header>
  );
}

// useInSight moves a row of tabs until the one at hand is seen.
export function useInSight<T extends HTMLElement>(at: string) {
  const row = useRef<T>(null);
  useEffect(() => {
    const tab = row.current?.querySelector('[aria-current], [aria-selected="true"]')?.getBoundingClientRect();
    const edge = row.current?.getBoundingClientRect();
    if (row.current && tab && edge)
      row.current.scrollLeft += Math.max(0, tab.right + 24 - edge.right) + Math.min(0, tab.left - 24 - edge.left);
  }, [at]);
  return row;
}

export function Tabs({ tabs, at, go }: { tabs: [string, string][]; at: string; go: (id: string) => void }) {
  const row = useInSight<HTMLDivElement>(at);
  const keys = (e: KeyboardEvent) => {
    const i = tabs.findIndex(([id]) => id === at);
    const next = tabs[(i + (e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? tabs.length - 1 : 0)) % tabs.length];
    if (next && next[0] !== at) {
      go(next[0]);
      requestAnimationFrame(() => document.getElementById(`tab-${next[0]}`)?.focus());
    }
  };
  return (
    <div class="tabs" role="tablist" onKeyDown={keys} ref={row}>
      {tabs.map(([id, text]) => (
        <button
          key={id}
          id={`tab-${id}`}
          type="button"
          role="tab"
          aria-selected={id === at}
          tabIndex={id === at ? 0 : -1}
          onClick={() => go(id)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

export function Segments<T extends string>({
  label,
  options,
  at,
  go,
}: {
  label: string;
  options: [T, string][];
  at: T;
  go: (v: T) => void;
}) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {options.map(([v, text]) => (
        <button key={v} type="button" aria-pressed={v === at} onClick={() => go(v)}>
          {text}
        </button>
      ))}
    </div>
  );
}
