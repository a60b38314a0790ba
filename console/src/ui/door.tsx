import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { toFault } from '../lib/fault';
import { _ } from '../lib/i18n';
import { useSettings } from '../lib/settings';
import { Mark } from './icon';
import '../gate.css';

export const home = () => `${location.origin}/console/`;

// Plan is the picture beside the form: a floor seen from above.
function Plan() {
  const rows = [0, 1, 2, 3, 4];
  const fill = [0.9, 0.5, 0.7, 0.25, 0.6, 0.95, 0.4, 0.8, 0.3, 0.65, 0.85, 0.45, 0.75];
  return (
    <svg
      viewBox="0 0 440 260"
      role="presentation"
      aria-hidden="true"
      style={{ maxInlineSize: '520px', inlineSize: '100%' }}
    >
      <rect x="1" y="1" width="438" height="258" rx="10" fill="none" stroke="#35524d" />
      {rows.flatMap((r) =>
        Array.from({ length: 12 }, (_x, c) => {
          const v = fill[(r * 5 + c * 3) % fill.length] as number;
          return (
            <rect
              key={`${r} ${c}`}
              x={24 + c * 33}
              y={26 + r * 38 + (r > 2 ? 16 : 0)}
              width="29"
              height="20"
              rx="3"
              fill="#3fb3a2"
              opacity={0.18 + v * 0.75}
            />
          );
        }),
      )}
      <path d="M24 228h60M104 228h60M184 228h60" stroke="#e2b04a" stroke-width="5" stroke-linecap="round" />
      <circle cx="255" cy="150" r="6" fill="#fff" />
      <path d="M255 150H120V60" fill="none" stroke="#fff" stroke-width="1.600" stroke-dasharray="4 5" />
    </svg>
  );
}

export function Door({ children }: { children: ComponentChildren }) {
  const settings = useSettings();
  return (
    <main class="gate">
      <div class="form-side">
        <div class="box">
          <div class="logo">
            <Mark size={32} />
            {settings?.product ?? 'Holdfast'}
          </div>
          {children}
        </div>
      </div>
      <div class="art">
        <Plan />
        <h2>{_('Stock, orders and the safety of people in one place.')}</h2>
        <p>{_('See the floor as it is, know what is late, and find out what could hurt somebody before it does.')}</p>
      </div>
    </main>
  );
}

export function useAct() {
  const [busy, setBusy] = useState('');
  const [error, setError] = useState<unknown>(null);
  const act = async (name: string, f: () => Promise<{ error?: unknown } | void>) => {
    setBusy(name);
    setError(null);
    try {
      const r = await f();
      if (r?.error) throw toFault(r.error);
    } catch (e) {
      setError(e);
    } finally {
      setBusy('');
    }
  };
  return { busy, error, act, clear: () => setError(null) };
}
