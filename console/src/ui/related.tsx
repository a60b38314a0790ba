import { useLocation } from 'preact-iso';
import { records, want } from '../lib/client';
import { newOf, titleOf, visible, words, type Catalog, type Collection, type Field, type Permissions } from '../lib/catalog';
import { flat, value } from '../lib/format';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import type { Row } from '../database';
import { columnsOf, selection } from '../lib/records';
import { Empty, Problem, Skeleton } from './basic';
import { hrefOf, numeric, Value } from './value';
import { useWhere } from './where';

// Rows is a table of some records of a collection.
export function Rows({ c, rows, shown }: { c: Collection; rows: Row[]; shown: string[] }) {
  const { route } = useLocation();
  const fields = shown.map((n) => c.fields.find((x) => x.name === n) as Field);
  return (
    <div class="table stacks" tabIndex={0} role="region" aria-label={titleOf(c)}>
      <table>
        <thead>
          <tr>
            {fields.map((f) => (
              <th key={f.name} scope="col" class={numeric(f) ? 'num' : ''}>
                {_(f.label)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((r) => (
            <tr
              key={r.id}
              class="go"
              onClick={(e) => !(e.target as HTMLElement).closest('a') && route(hrefOf(c.name, r.id))}
            >
              {fields.map((f, j) => (
                <td key={f.name} class={numeric(f) ? 'num' : ''} data-label={_(f.label)}>
                  {j === 0 && !f.ref ? (
                    <a href={hrefOf(c.name, r.id)}>
                      <Value c={c} f={f} row={r} />
                    </a>
                  ) : (
                    <Value c={c} f={f} row={r} />
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// Children is a short table of the records of a collection that point to one.
export function Children({
  c,
  column,
  id,
  catalog,
  p,
  columns,
  limit = 8,
}: {
  c: Collection;
  column: string;
  id: string;
  catalog: Catalog;
  p: Permissions;
  columns?: string[];
  limit?: number;
}) {
  const rights = p.collections[c.name];
  const seen = visible(c, rights).map((f) => f.name);
  const shown = (columns?.filter((n) => seen.includes(n)) ?? columnsOf(c, rights).filter((n) => n !== column)).slice(
    0,
    9,
  );
  const place = c.fields.find((f) => f.name === 'line_no' || f.name === 'seq');
  const q = useQuery({
    queryKey: ['c', c.name, 'of', column, id, shown.join()],
    queryFn: () =>
      want(
        records(c.name)
          .select(selection(c, shown, catalog, p))
          .eq(column, id)
          .order(place?.name ?? 'id', { ascending: !!place })
          .limit(limit + 1),
      ),
    meta: { live: true },
  });
  if (q.isPending)
    return (
      <div class="body">
        <Skeleton lines={3} />
      </div>
    );
  if (q.error) return <Problem error={q.error} />;
  const rows = q.data.slice(0, limit);
  const may = rights?.create;
  return (
    <>
      {rows.length ? <Rows c={c} rows={rows} shown={shown} /> : <Empty title={_('None')} />}
      {rows.length || may ? (
        <footer>
          {q.data.length > limit ? <a href={`/console/c/${c.name}?f=${column}.eq.${id}`}>{_('Show all')}</a> : null}
          <span class="push" />
          {may ? <a href={`/console/c/${c.name}/new?${column}=${id}`}>{newOf(c.name)}</a> : null}
        </footer>
      ) : null}
    </>
  );
}

export interface Entry {
  id: string;
  at: string;
  action: string;
  actor_user_id: string | null;
  key_id: string | null;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

// Diff says what a change did, field by field.
export function Diff({ c, e }: { c?: Collection; e: Pick<Entry, 'action' | 'before' | 'after'> }) {
  const zone = useWhere();
  if (!e.before || !e.after) return <span class="small muted">{words(e.action.split('.').pop() ?? e.action)}</span>;
  const skip = new Set(['updated_at', 'version']);
  const changed = [...new Set([...Object.keys(e.before), ...Object.keys(e.after)])].filter(
    (k) => !skip.has(k) && JSON.stringify(e.before?.[k]) !== JSON.stringify(e.after?.[k]),
  );
  const text = (k: string, v: unknown) => {
    const f = c?.fields.find((x) => x.name === k);
    return v == null || v === '' ? _('empty') : f ? value(f, v, zone) : flat(v);
  };
  return (
    <ul class="small">
      {changed.map((k) => (
        <li key={k}>
          <span class="muted">{_(c?.fields.find((x) => x.name === k)?.label ?? words(k))}:</span>{' '}
          {text(k, e.before?.[k])} → <b>{text(k, e.after?.[k])}</b>
        </li>
      ))}
    </ul>
  );
}
