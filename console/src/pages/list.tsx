import { keepPreviousData, useQuery } from '../lib/query';
import { useLocation, useRoute } from 'preact-iso';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api, call, download, records } from '../lib/client';
import {
  isMadeBeside,
  nameOf,
  newOf,
  titleOf,
  useCatalog,
  usePermissions,
  visible,
  words,
  type Catalog,
  type Collection,
  type Field,
  type Permissions,
} from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { number, value } from '../lib/format';
import { _, plural } from '../lib/i18n';
import {
  columnsOf,
  filterable,
  formatView,
  narrowed,
  page,
  pageSize,
  parseView,
  refKey,
  searchFilter,
  type Condition,
  type View,
} from '../lib/records';
import { unlessScanned } from '../lib/scanner';
import { kept, useStore } from '../lib/store';
import { homeZone, momentOf } from '../lib/zone';
import type { Row } from '../database';
import { Button, Card, Empty, Head, LinkButton, Problem, Skeleton } from '../ui/basic';
import { Check, Input, Moment, Select } from '../ui/form';
import { NumberInput } from '../ui/number';
import { Icon } from '../ui/icon';
import { Ask, Dialog } from '../ui/dialog';
import { fail, Menu, toast } from '../ui/overlay';
import { labelled } from '../ui/print';
import { readsWhole } from '../ui/seen';
import { StockValue } from '../ui/stock-value';
import { useNamed } from '../ui/coded';
import { Classification, hrefOf, Named, numeric, Value } from '../ui/value';

interface Saved {
  collection: string;
  name: string;
  view: string;
}

// Views that a person keeps, in this browser.
const saved = kept<Saved[]>('views', []);

export function ListPage() {
  const { params } = useRoute();
  const catalog = useCatalog();
  const p = usePermissions();
  const c = catalog?.get(params['collection'] ?? '');
  if (!catalog || !p) return <Skeleton lines={8} />;
  if (!c)
    return (
      <Empty
        title={_('There are no such records')}
        action={
          <a class="btn" href="/console/all">
            {_('All records')}
          </a>
        }
      />
    );
  if (!p.collections[c.name]?.read) return <Empty title={_('Your role does not see these records')} icon="shield" />;
  return <List key={c.name} c={c} catalog={catalog} p={p} />;
}

const opWords: Record<string, string> = {
  eq: 'is',
  neq: 'is not',
  gt: 'is more than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  ilike: 'contains',
  in: 'is one of',
  'not.in': 'is none of',
  is: 'is',
  'not.is': 'is not',
  cs: 'contains',
};

const whenWords: Record<string, string> = { gt: 'after', gte: 'from', lt: 'before', lte: 'until' };

// sentence says a condition in words.
export function sentence(c: Collection, [name, op, v]: Condition): string {
  const f = c.fields.find((x) => x.name === name);
  const when = f?.type === 'timestamp' || f?.type === 'date';
  const list = v.replace(/^\(|\)$/g, '').split(',');
  const shown =
    v === 'null'
      ? _('empty')
      : v === 'true'
        ? _('yes')
        : v === 'false'
          ? _('no')
          : list.map((x) => (f?.one_of ? words(x) : f && when ? value(f, x) : x.replace(/^%|%$/g, ''))).join(', ');
  return `${_(f?.label ?? name)} ${_((when && whenWords[op]) || opWords[op] || op)} ${shown}`;
}

// Said is a condition whose record has its name.
function Said({ c, x }: { c: Collection; x: Condition }) {
  const f = c.fields.find((y) => y.name === x[0]);
  const of = f?.ref && x[1] === 'eq' ? <Named collection={f.ref} ids={[x[2]]} /> : null;
  const coded = f?.codes && x[2] !== 'null' ? <Classification list={f.codes} code={x[2]} /> : null;
  if (!f || !(of ?? coded)) return <>{sentence(c, x)}</>;
  return (
    <span>
      {_(f.label)} {_(opWords[x[1]] ?? x[1])} {of ?? coded}
    </span>
  );
}

function List({ c, catalog, p }: { c: Collection; catalog: Catalog; p: Permissions }) {
  const { url, route } = useLocation();
  const view = parseView(url.split('?')[1] ?? '');
  const rights = p.collections[c.name];
  const fields = visible(c, rights);
  const columns = (view.columns ?? columnsOf(c, rights)).filter((n) => fields.some((f) => f.name === n));
  const go = (next: Partial<View>) =>
    route(`/console/c/${c.name}${formatView({ ...view, after: '', row: 0, ...next })}`);
  const rows = useQuery({
    queryKey: ['c', c.name, 'list', url],
    queryFn: () => page(c, view, columns, catalog, p),
    placeholderData: keepPreviousData,
    meta: { live: true },
  });
  const total = useQuery({
    queryKey: ['c', c.name, 'count', JSON.stringify([view.conditions, view.search])],
    queryFn: async () => {
      const { count, error } = await narrowed(
        records(c.name).select('id', { count: 'estimated', head: true }),
        c,
        view,
      );
      if (error) throw error;
      return count;
    },
    meta: { live: true },
  });
  const [adding, setAdding] = useState(false);
  const [valuing, setValuing] = useState(false);
  const [picking, setPicking] = useState(false);
  const [naming, setNaming] = useState(false);
  const [at, setAt] = useState(-1);
  const list = rows.data ?? [];
  const shown = list.slice(0, pageSize);
  useEffect(() => setAt(-1), [url]);
  useRowKeys(
    shown.length,
    at,
    setAt,
    (i) => shown[i] && route(hrefOf(c.name, shown[i].id)),
    () => rights?.create && route(`/console/c/${c.name}/new`),
  );
  const sort = (f: Field) =>
    go({ order: view.order?.[0] === f.name ? (view.order[1] === 'asc' ? [f.name, 'desc'] : null) : [f.name, 'asc'] });
  const next = () => {
    const last = shown[shown.length - 1];
    if (last)
      go({
        after: JSON.stringify([view.order ? (last[view.order[0]] ?? null) : last.id, last.id]),
        row: view.row + pageSize,
      });
  };
  const mine = useStore(saved).filter((s) => s.collection === c.name);
  const states = c.states ? c.fields.find((f) => f.name === c.states?.field) : undefined;
  const narrowedNow = view.conditions.length > 0 || view.search !== '';
  return (
    <>
      <Head title={titleOf(c)} sub={_(c.doc)}>
        {c.name === 'items' && p.collections['item_costs']?.read ? (
          <Button icon="file" onClick={() => setValuing(true)}>
            {_('Stock value of a day')}
          </Button>
        ) : null}
        {c.import && p.collections['import_jobs']?.create ? (
          <LinkButton icon="upload" href={`/console/imports/new?target=${c.name}`}>
            {_('Import')}
          </LinkButton>
        ) : null}
        {rights?.create && !isMadeBeside(c) ? (
          <LinkButton kind="primary" icon="plus" href={`/console/c/${c.name}/new`}>
            {newOf(c.name)}
          </LinkButton>
        ) : null}
      </Head>
      {valuing ? <StockValue close={() => setValuing(false)} /> : null}
      <Card flush>
        <div class="filters">
          <Search text={view.search} go={(search) => go({ search })} />
          {states?.one_of ? <StateFilter f={states} view={view} go={go} /> : null}
          <select
            class="input narrow"
            aria-label={_('Order')}
            value={view.order?.join('.') ?? ''}
            onChange={(e) =>
              go({ order: e.currentTarget.value ? (e.currentTarget.value.split('.') as View['order']) : null })
            }
          >
            <option value="">{_('Newest first')}</option>
            {columns.flatMap((n) =>
              (['asc', 'desc'] as const).map((way) => (
                <option key={n + way} value={`${n}.${way}`}>
                  {_(c.fields.find((x) => x.name === n)?.label ?? n)} {way === 'asc' ? '↑' : '↓'}
                </option>
              )),
            )}
          </select>
          <Button size="small" icon="filter" onClick={() => setAdding(true)}>
            {_('Filter')}
          </Button>
          {view.conditions.map((x, i) => (
            <span key={x.join('.')} class="chip">
              <Said c={c} x={x} />
              <button
                type="button"
                aria-label={_('Remove the filter: {what}', { what: sentence(c, x) })}
                onClick={() => go({ conditions: view.conditions.filter((_x, j) => j !== i) })}
              >
                <Icon name="close" size={14} />
              </button>
            </span>
          ))}
          <span class="push" />
          <Button size="small" kind="quiet" icon="columns" label={_('Columns')} onClick={() => setPicking(true)} />
          <Menu kind="quiet" icon="more" label={_('More')}>
            {(close) => (
              <>
                <button
                  type="button"
                  onClick={() => {
                    close();
                    exportCSV(c, view, columns).catch(fail);
                  }}
                >
                  <Icon name="download" size={16} />
                  {_('Save as CSV')}
                </button>
                {labelled.includes(c.name) ? (
                  <button
                    type="button"
                    onClick={() => {
                      close();
                      printLabels(c, view).catch(fail);
                    }}
                  >
                    <Icon name="file" size={16} />
                    {_('Print labels')}
                  </button>
                ) : null}
                <button
                  type="button"
                  onClick={() => {
                    close();
                    setNaming(true);
                  }}
                >
                  <Icon name="star" size={16} />
                  {_('Keep this view')}
                </button>
                {mine.length ? <div class="cap">{_('Kept views')}</div> : null}
                {mine.map((s) => (
                  <a key={s.name} href={`/console/c/${c.name}${s.view}`} onClick={close}>
                    <Icon name="list" size={16} />
                    {s.name}
                  </a>
                ))}
              </>
            )}
          </Menu>
        </div>
        {rows.error ? (
          <div class="body">
            <Problem error={rows.error} retry={() => void rows.refetch()} />
          </div>
        ) : null}
        {rows.isPending ? (
          <div class="body">
            <Skeleton lines={9} />
          </div>
        ) : shown.length ? (
          <div class="table stacks" tabIndex={0} role="region" aria-label={titleOf(c)}>
            <table>
              <thead>
                <tr>
                  {columns.map((n) => {
                    const f = c.fields.find((x) => x.name === n) as Field;
                    const way = view.order?.[0] === n ? view.order[1] : undefined;
                    return (
                      <th
                        key={n}
                        scope="col"
                        class={numeric(f) ? 'num' : ''}
                        aria-sort={way ? (way === 'asc' ? 'ascending' : 'descending') : undefined}
                      >
                        <button type="button" onClick={() => sort(f)}>
                          {_(f.label)}
                          {f.unit && f.unit !== 'percent' ? <span class="muted">({f.unit})</span> : null}
                          {way ? <Icon name={way === 'asc' ? 'up' : 'down'} size={13} /> : null}
                        </button>
                      </th>
                    );
                  })}
                </tr>
              </thead>
              <tbody>
                {shown.map((r, i) => (
                  <tr
                    key={r.id}
                    class="go"
                    aria-selected={i === at}
                    onClick={(e) => {
                      if (!(e.target as HTMLElement).closest('a, button') && !String(getSelection()))
                        route(hrefOf(c.name, r.id));
                    }}
                  >
                    {columns.map((n, j) => {
                      const f = c.fields.find((x) => x.name === n) as Field;
                      return (
                        <td key={n} class={numeric(f) ? 'num' : ''} data-label={_(f.label)}>
                          {j === 0 ? (
                            <a class="strong" href={hrefOf(c.name, r.id)}>
                              {f.ref && r[refKey(n)] ? (
                                nameOf(catalog.get(f.ref), r[refKey(n)] as Row)
                              ) : f.ref || r[n] == null || n === 'entity_id' ? (
                                nameOf(c, r)
                              ) : f.one_of && !f.codes ? (
                                words(String(r[n]))
                              ) : f.type === 'integer' ? (
                                String(r[n])
                              ) : (
                                <Value c={c} f={f} row={r} />
                              )}
                            </a>
                          ) : (
                            <Value c={c} f={f} row={r} />
                          )}
                        </td>
                      );
                    })}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        ) : rows.error ? null : (
          <Empty
            title={narrowedNow ? _('Nothing matches') : _('Nothing here yet')}
            action={
              narrowedNow ? (
                <Button onClick={() => go({ conditions: [], search: '' })}>{_('Show everything')}</Button>
              ) : rights?.create && !isMadeBeside(c) ? (
                <LinkButton kind="primary" icon="plus" href={`/console/c/${c.name}/new`}>
                  {newOf(c.name)}
                </LinkButton>
              ) : null
            }
          >
            {narrowedNow ? _('Take a filter away, or look for something else.') : _(c.doc)}
          </Empty>
        )}
        <div class="pager">
          <span aria-live="polite">
            {shown.length ? `${number(view.row + 1)}–${number(view.row + shown.length)}` : '0'}{' '}
            {total.data == null
              ? ''
              : readsWhole(p, c.name)
                ? plural(total.data, 'of {n} record', 'of {n} records')
                : plural(total.data, 'of {n} record that you may see', 'of {n} records that you may see')}
          </span>
          {rows.isFetching && !rows.isPending ? <span class="spin" aria-hidden="true" /> : null}
          <span class="push" />
          <Button size="small" icon="back" disabled={!view.after} onClick={() => history.back()}>
            {_('Previous')}
          </Button>
          <Button size="small" disabled={list.length <= pageSize} onClick={next}>
            {_('Next')}
            <Icon name="chevron" size={16} />
          </Button>
        </div>
      </Card>
      {adding ? (
        <AddFilter
          c={c}
          p={p}
          close={() => setAdding(false)}
          add={(x) => go({ conditions: [...view.conditions, x] })}
        />
      ) : null}
      {picking ? (
        <Columns
          fields={fields}
          chosen={columns}
          close={() => setPicking(false)}
          put={(cols) => go({ columns: cols })}
        />
      ) : null}
      {naming ? (
        <Naming
          close={() => setNaming(false)}
          keep={(name) =>
            saved.set([
              ...saved.get().filter((s) => s.collection !== c.name || s.name !== name),
              { collection: c.name, name, view: formatView({ ...view, after: '' }) },
            ])
          }
        />
      ) : null}
    </>
  );
}

function Naming({ close, keep }: { close: () => void; keep: (name: string) => void }) {
  const draft = useDraft(`view ${location.pathname}`);
  const [name, setName] = draft.field('name', '');
  return (
    <Ask
      title={_('Keep this view')}
      yes={_('Keep')}
      close={close}
      draft={draft}
      act={async () => keep(name.trim() || _('My view'))}
    >
      <Input
        label={_('Name')}
        value={name}
        put={setName}
        help={_('Filters, order and columns; in this browser.')}
        autofocus
      />
    </Ask>
  );
}

function Search({ text, go }: { text: string; go: (t: string) => void }) {
  const [now, setNow] = useState(text);
  const wait = useRef(0);
  useEffect(() => setNow(text), [text]);
  return (
    <input
      class="input"
      type="search"
      style={{ inlineSize: 'min(220px, 100%)', minBlockSize: '32px' }}
      aria-label={_('Search in this list')}
      placeholder={_('Search')}
      value={now}
      onInput={(e) => {
        const t = e.currentTarget.value;
        setNow(t);
        clearTimeout(wait.current);
        wait.current = window.setTimeout(() => go(t.trim()), 350);
      }}
    />
  );
}

// StateFilter is the filter that people use most, in one click.
function StateFilter({ f, view, go }: { f: Field; view: View; go: (v: Partial<View>) => void }) {
  const now = view.conditions.find((x) => x[0] === f.name);
  return (
    <select
      class="input"
      style={{ inlineSize: 'auto', minBlockSize: '32px' }}
      aria-label={_(f.label)}
      value={now?.[1] === 'eq' ? now[2] : ''}
      onChange={(e) => {
        const v = e.currentTarget.value;
        const rest = view.conditions.filter((x) => x[0] !== f.name);
        go({ conditions: v ? [...rest, [f.name, 'eq', v]] : rest });
      }}
    >
      <option value="">{_('{field}: any', { field: _(f.label) })}</option>
      {f.one_of?.map((v) => (
        <option key={v} value={v}>
          {words(v)}
        </option>
      ))}
    </select>
  );
}

function operators(f: Field): string[] {
  if (f.type === 'boolean') return ['is'];
  if (f.one_of) return ['eq', 'neq', 'is'];
  if (numeric(f) || f.type === 'timestamp' || f.type === 'date') return ['gte', 'lte', 'gt', 'lt', 'eq', 'is'];
  if (f.type === 'array') return ['cs'];
  if (f.type === 'uuid') return ['eq', 'is'];
  return ['ilike', 'eq', 'neq', 'is'];
}

// FilterValue asks for the value of a condition, by the type of its field.
function FilterValue({ f, v, put }: { f: Field; v: string; put: (v: string) => void }) {
  const same = { label: _('Value'), value: v, put, required: true };
  if (numeric(f)) return <NumberInput {...same} />;
  if (f.type === 'timestamp') return <Moment {...same} zone={homeZone()} />;
  return <Input {...same} type={f.type === 'date' ? 'date' : 'text'} />;
}

function AddFilter({
  c,
  p,
  close,
  add,
}: {
  c: Collection;
  p: Permissions;
  close: () => void;
  add: (x: Condition) => void;
}) {
  const fields = filterable(c, p);
  const draft = useDraft(`filter ${c.name}`);
  const [name, setName] = draft.field('name', c.states?.field ?? fields[0]?.name ?? '');
  const f = fields.find((x) => x.name === name) ?? (fields[0] as Field);
  const named = useNamed(f.codes);
  const ops = operators(f);
  const [op, setOp] = draft.field('op', '');
  const chosen = ops.includes(op) ? op : (ops[0] as string);
  const [v, setV] = draft.field('value', '');
  const options: [string, string][] | null =
    chosen === 'is'
      ? f.type === 'boolean'
        ? [
            ['true', _('yes')],
            ['false', _('no')],
          ]
        : [['null', _('empty')]]
      : f.one_of
        ? f.one_of.map((x) => [x, f.codes ? named(x) : words(x)])
        : null;
  const value = options ? (options.some(([x]) => x === v) ? v : (options[0]?.[0] ?? '')) : v;
  const act = async () => {
    const text =
      chosen === 'ilike'
        ? `%${value}%`
        : chosen === 'cs'
          ? `["${value}"]`
          : f.type === 'timestamp' && value
            ? momentOf(value, homeZone())
            : value;
    add([f.name, chosen, text]);
  };
  return (
    <Ask title={_('Filter')} yes={_('Add the filter')} close={close} draft={draft} act={act}>
      <Select
        label={_('Field')}
        value={f.name}
        put={setName}
        options={fields.map((x) => [x.name, _(x.label)])}
        help={f.doc ? _(f.doc) : undefined}
      />
      <Select label={_('Condition')} value={chosen} put={setOp} options={ops.map((o) => [o, _(opWords[o] ?? o)])} />
      {options ? (
        <Select label={_('Value')} value={value} put={setV} options={options} />
      ) : (
        <FilterValue f={f} v={v} put={setV} />
      )}
    </Ask>
  );
}

function Columns({
  fields,
  chosen,
  close,
  put,
}: {
  fields: Field[];
  chosen: string[];
  close: () => void;
  put: (v: string[] | null) => void;
}) {
  const [list, setList] = useState(chosen);
  return (
    <Dialog
      title={_('Columns')}
      close={close}
      submit={() => {
        put(list.length ? list : null);
        close();
      }}
      footer={
        <>
          <Button
            onClick={() => {
              put(null);
              close();
            }}
          >
            {_('As it was')}
          </Button>
          <Button type="submit" kind="primary">
            {_('Show these')}
          </Button>
        </>
      }
    >
      <div class="grid" style={{ '--min': '200px', gap: '0 16px' }}>
        {fields
          .filter((f) => f.name !== 'tenant_id')
          .map((f) => (
            <Check
              key={f.name}
              label={_(f.label)}
              on={list.includes(f.name)}
              put={(on) => setList(on ? [...list, f.name] : list.filter((n) => n !== f.name))}
            />
          ))}
      </div>
    </Dialog>
  );
}

// useRowKeys moves through rows with j and k, opens with Enter and makes with n.
function useRowKeys(
  count: number,
  at: number,
  setAt: (n: number) => void,
  open: (i: number) => void,
  create: () => void,
): void {
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (
        e.ctrlKey ||
        e.metaKey ||
        e.altKey ||
        (e.target as HTMLElement).closest('input, textarea, select, dialog, button, a')
      )
        return;
      const step = e.key === 'j' || e.key === 'ArrowDown' ? 1 : e.key === 'k' || e.key === 'ArrowUp' ? -1 : 0;
      if (step && count) {
        e.preventDefault();
        const next = Math.max(0, Math.min(count - 1, at + step));
        setAt(next);
        document.querySelectorAll('tbody tr')[next]?.scrollIntoView({ block: 'nearest' });
      } else if (e.key === 'Enter' && at >= 0) open(at);
      else if (e.key === 'n') unlessScanned(create);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
}

// shown is the query of what the list shows.
function shown(c: Collection, v: View): URLSearchParams {
  const q = new URLSearchParams();
  for (const [f, op, value] of v.conditions) q.append(f, `${op}.${value}`);
  const search = v.search ? searchFilter(c, v.search) : '';
  if (search) q.set('or', `(${search})`);
  q.set('order', v.order ? `${v.order.join('.')},id.asc` : 'id.asc');
  return q;
}

// printLabels saves the labels of what the list shows, in its order: as many as one file holds.
async function printLabels(c: Collection, v: View): Promise<void> {
  const most = 200;
  const q = shown(c, v);
  q.set('select', 'id');
  q.set('limit', String(most + 1));
  if (c.name === 'packages') q.append('status', 'eq.closed');
  const ids = (await api<Row[]>(`/v1/${c.name}?${q}`)).map((r) => r.id);
  if (!ids.length) return toast(_('There is nothing to print'));
  await download(`/v1/labels/${c.name}?ids=${ids.slice(0, most).join(',')}`, `${c.name}-labels.pdf`);
  if (ids.length > most) toast(_('These are the first {n} labels: narrow the list for the others', { n: most }));
}

// exportCSV saves what the list shows, all pages of it, up to 50,000 rows.
async function exportCSV(c: Collection, v: View, columns: string[]): Promise<void> {
  const q = shown(c, v);
  q.set('select', columns.join(','));
  q.set('limit', '1000');
  const parts: string[] = [];
  for (let offset = 0; offset < 50_000; offset += 1000) {
    q.set('offset', String(offset));
    const text = await (await call(`/v1/${c.name}?${q}`, { headers: { Accept: 'text/csv' } })).text();
    const body = offset ? text.slice(text.indexOf('\n') + 1) : text;
    parts.push(body.endsWith('\n') || !body ? body : `${body}\n`);
    if (text.split('\n').length < 1000) break;
  }
  const a = document.createElement('a');
  a.href = URL.createObjectURL(new Blob(parts, { type: 'text/csv' }));
  a.download = `${c.name}.csv`;
  a.click();
}
