import { useLocation } from 'preact-iso';
import { useEffect, useRef, useState } from 'preact/hooks';
import { beep } from '../lib/beep';
import { records, want } from '../lib/client';
import { nameOf, newOf, titleOf, useCatalog, usePermissions } from '../lib/catalog';
import { _ } from '../lib/i18n';
import { useStore, type Store } from '../lib/store';
import { collectionOf, scan, sentenceOf } from '../lib/floor';
import { hrefOf } from '../ui/value';
import '../records.css';
import { Check } from '../ui/form';
import { Icon } from '../ui/icon';
import { Dialog } from '../ui/dialog';
import { places } from '../ui/places';

interface Hit {
  group: string;
  text: string;
  note?: string;
  href: string;
  icon: string;
}

// Where records are looked for, and by which columns.
const searched: [string, string[]][] = [
  ['items', ['sku', 'name', 'gtin']],
  ['orders', ['order_no', 'party_name', 'external_ref']],
  ['shipments', ['shipment_no', 'tracking_no']],
  ['zones', ['code', 'name']],
  ['incidents', ['incident_no', 'title']],
  ['workers', ['employee_no', 'name']],
];

async function find(
  text: string,
  may: (name: string) => boolean,
  fields: (name: string) => Set<string>,
): Promise<Hit[]> {
  const safe = text.replace(/[\\"%*(),]/g, ' ').trim();
  if (safe.length < 2) return [];
  const each = searched
    .filter(([name]) => may(name))
    .map(async ([name, columns]) => {
      const known = columns.filter((c) => fields(name).has(c));
      const rows = await want(
        records(name)
          .select('*')
          .or(known.map((c) => `${c}.ilike."%${safe}%"`).join(','))
          .limit(4),
      );
      return rows.map((r) => ({
        group: titleOf(name),
        text: nameOf(undefined, r),
        note: known
          .map((c) => r[c])
          .filter(Boolean)
          .join(' · '),
        href: `/console/c/${name}/${r.id}`,
        icon: 'box',
      }));
    });
  return (await Promise.all(each.map((p) => p.catch(() => [])))).flat();
}

// Palette finds pages and records by words, or what a scanned code stands for.
export function Palette({ close, start = '' }: { close: () => void; start?: string }) {
  const ref = useRef<HTMLDialogElement>(null);
  const { route } = useLocation();
  const p = usePermissions();
  const catalog = useCatalog();
  const [text, setText] = useState(start);
  const [found, setFound] = useState<Hit[]>([]);
  const [at, setAt] = useState(0);
  const [said, setSaid] = useState('');
  const typed = useRef(0);
  const look = (words: string) =>
    find(
      words,
      (n) => p?.collections[n]?.read != null,
      (n) => new Set(catalog?.get(n)?.fields.map((f) => f.name)),
    );
  useEffect(() => ref.current?.showModal(), []);
  useEffect(() => {
    let current = true;
    const wait = setTimeout(() => {
      void look(text).then((list) => current && setFound(list));
    }, 180);
    return () => {
      current = false;
      clearTimeout(wait);
    };
  }, [text, p, catalog]);
  const low = text.toLowerCase();
  const pages: Hit[] = p
    ? [
        ...places.flatMap((g) =>
          g.list
            .filter((x) => x.may(p))
            .map((x) => ({ group: _('Go to'), text: _(x.text), href: x.href, icon: x.icon })),
        ),
        ...[...(catalog?.values() ?? [])]
          .filter((c) => p.collections[c.name]?.read)
          .map((c) => ({ group: _('Records'), text: titleOf(c), href: `/console/c/${c.name}`, icon: 'list' })),
        ...[...(catalog?.values() ?? [])]
          .filter((c) => p.collections[c.name]?.create)
          .map((c) => ({ group: _('Create'), text: newOf(c.name), href: `/console/c/${c.name}/new`, icon: 'plus' })),
      ].filter((h) => h.text.toLowerCase().includes(low))
    : [];
  const hits = [...found, ...pages.slice(0, text ? 12 : 10)];
  const go = (h: Hit | undefined) => {
    if (!h) return;
    close();
    route(h.href);
  };
  // What no search knows may be a code: the server is asked what it stands for.
  const ask = async (code: string, isScan = false) => {
    try {
      const s = await scan(code);
      const to = s.record && collectionOf[s.kind];
      if (to) go({ group: '', text: '', icon: '', href: hrefOf(to, (s.record as { id: string }).id) });
    } catch (e) {
      if (isScan) {
        beep(false);
        setSaid(sentenceOf(e));
        return;
      }
      // It was no code: a person typed faster than the search.
      const [hit] = [...(await look(code)), ...pages];
      if (hit) go(hit);
      else setSaid(sentenceOf(e));
    }
  };
  useEffect(() => void (start && p && catalog && ask(start, true)), [start, !p, !catalog]);
  const keys = (e: KeyboardEvent) => {
    if (e.key === 'ArrowDown') setAt((at + 1) % Math.max(1, hits.length));
    else if (e.key === 'ArrowUp') setAt((at + hits.length - 1) % Math.max(1, hits.length));
    else if (e.key === 'Enter') {
      const code = text.trim();
      // A scanner is faster than the search: an exact code wins.
      if (code && at === 0 && (!hits.length || Date.now() - typed.current < 180)) void ask(code);
      else go(hits[at]);
    } else return;
    e.preventDefault();
  };
  return (
    <dialog
      ref={ref}
      class="palette"
      aria-label={_('Search or go to')}
      onClose={close}
      onClick={(e) => e.target === ref.current && close()}
    >
      <input
        autofocus
        role="combobox"
        aria-expanded="true"
        aria-controls="hits"
        aria-activedescendant={hits.length ? `hit-${at}` : undefined}
        aria-label={_('Search or go to')}
        placeholder={_('A number, a name, a scanned code, or a page')}
        value={text}
        onInput={(e) => {
          typed.current = Date.now();
          setText(e.currentTarget.value);
          setSaid('');
          setAt(0);
        }}
        onKeyDown={keys}
      />
      <ul id="hits" role="listbox" aria-label={_('Results')}>
        {hits.map((h, i) => (
          <li
            key={h.href + h.text}
            id={`hit-${i}`}
            role="option"
            aria-selected={i === at}
            onClick={() => go(h)}
            onMouseMove={() => at !== i && setAt(i)}
          >
            <Icon name={h.icon} size={16} />
            <span class="clip">{h.text}</span>
            <span class="muted small clip push">{h.note && h.note !== h.text ? h.note : h.group}</span>
          </li>
        ))}
        {said || !hits.length ? (
          <li class="muted" role="option" aria-selected="false">
            {said || _('Nothing found. Enter asks whether it is a code.')}
          </li>
        ) : null}
      </ul>
    </dialog>
  );
}

const shortcuts: [string, string][] = [
  ['Ctrl K', 'Search or go to'],
  ['/', 'Search or go to'],
  ['j  k', 'Next and previous row of a list'],
  ['Enter', 'Open the row'],
  ['n', 'New record, in a list'],
  ['e', 'Edit, on a record'],
  ['Esc', 'Close what is open'],
  ['?', 'This list'],
];

export function Shortcuts({ close, keys }: { close: () => void; keys: Store<boolean> }) {
  const on = useStore(keys);
  return (
    <Dialog title={_('Keyboard shortcuts')} close={close}>
      <table>
        <tbody>
          {shortcuts.map(([k, text]) => (
            <tr key={k}>
              <td>
                <kbd>{k}</kbd>
              </td>
              <td class="wrap">{_(text)}</td>
            </tr>
          ))}
          {places
            .flatMap((g) => g.list)
            .filter((p) => p.key)
            .map((p) => (
              <tr key={p.href}>
                <td>
                  <kbd>g</kbd> <kbd>{p.key}</kbd>
                </td>
                <td>{_(p.text)}</td>
              </tr>
            ))}
        </tbody>
      </table>
      <Check label={_('Single keys work as shortcuts')} on={on} put={(v) => keys.set(v)} />
    </Dialog>
  );
}
