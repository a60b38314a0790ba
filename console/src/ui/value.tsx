import { useContext } from 'preact/hooks';
import { records, want } from '../lib/client';
import {
  nameFields,
  nameOf,
  singular,
  useCatalog,
  usePermissions,
  words,
  type Catalog,
  type Collection,
  type Field,
  type Permissions,
} from '../lib/catalog';
import { ago, flat, isMoney, number, unitOf, value } from '../lib/format';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { priceUnit, refKey } from '../lib/records';
import { zoneOf } from '../lib/zone';
import type { Row } from '../database';
import { Badge, Meter } from './basic';
import { useNamed } from './coded';
import { Where } from './where';
import '../records.css';

const badged = new Set([
  'severity',
  'potential_severity',
  'stage',
  'status',
  'stock_status',
  'outcome',
  'cluster',
  'result',
]);

export const numeric = (f: Field) => ['integer', 'decimal', 'float'].includes(f.type);

// hrefOf is where a record is looked at.
export function hrefOf(collection: string, id: string): string {
  return `/console/c/${collection}/${id}`;
}

// Value shows a field of a record as people read it.
export function Value({ c, f, row, full }: { c: Collection; f: Field; row: Record<string, unknown>; full?: boolean }) {
  const catalog = useCatalog();
  const where = useContext(Where);
  const zone = where || zoneOf(row);
  const v = row[f.name];
  if (v == null || v === '' || (Array.isArray(v) && !v.length)) return <span class="muted">–</span>;
  if (f.ref) {
    const to = row[refKey(f.name)] as Row | null | undefined;
    if (!to) return <Unnamed collection={f.ref} id={String(v)} />;
    const name = calledIn(catalog, f.ref, to);
    return (
      <a href={hrefOf(f.ref, String(v))} class={isCode(name) ? 'nobreak' : undefined}>
        {name}
      </a>
    );
  }
  if (f.names === 'members' || (c.name === 'members' && f.name === 'user_id')) return <MemberName id={String(v)} />;
  if (f.name === 'owner_id') return <Named collection="goods_owners" ids={[String(v)]} />;
  if (f.name === c.states?.field || badged.has(f.name)) return <Badge state={v} />;
  if (f.name === 'utilization')
    return (
      <span class="row nowrap">
        <span class="grow">
          <Meter value={Number(v)} label={_('Filled')} />
        </span>
        <span class="nobreak">{value(f, v)}</span>
      </span>
    );
  if (f.type === 'timestamp')
    return (
      <time dateTime={String(v)} title={value(f, v, zone)}>
        {full ? `${value(f, v, zone)} (${ago(v)})` : ago(v)}
      </time>
    );
  if (f.type === 'array' && Array.isArray(v)) {
    if (!f.names && v.every(isId)) return <>{number(v.length)}</>; // of a collection that the field does not name
    if (f.names)
      return full ? (
        <Named collection={f.names} ids={v.map(String).slice(0, 50)} />
      ) : (
        <span class="muted">{number(v.length)}</span>
      );
    return (
      <span class="row tight">
        {v.slice(0, full ? 50 : 3).map((x) => (
          <Badge key={String(x)} tone="plain">
            {typeof x === 'string' ? words(x) : flat(x)}
          </Badge>
        ))}
      </span>
    );
  }
  if (f.type === 'json') return full ? <Json v={v} /> : <span class="muted clip">{flat(v)}</span>;
  const to = f.type === 'uuid' ? meantBy(f, row) : undefined;
  if (to) return <Named collection={to} ids={[String(v)]} />;
  if (f.name === 'entity_id' && row['entity_type'])
    return <Named collection={collectionOf(String(row['entity_type']))} ids={[String(v)]} />;
  if (f.type === 'uuid') return <code title={String(v)}>{String(v).slice(0, 8)}</code>;
  if (f.codes) return <Classification list={f.codes} code={String(v)} />;
  if (f.type === 'date') return <span class="nobreak">{value(f, v)}</span>;
  const unit = f.name === 'unit_price' ? priceUnit(row) : '';
  if (isMoney(f) && unit) return <span class="nobreak">{`${value(f, v)} / ${unit}`}</span>;
  if (isMoney(f)) return <span class="nobreak">{value(f, v)}</span>;
  if (numeric(f) && !full)
    return (
      <>
        {number(Number(v), f.type === 'float' ? 4 : 2)}
        {unitOf(f) === '%' ? ' %' : ''}
      </>
    );
  return isCode(v) ? <span class="nobreak">{value(f, v)}</span> : <>{value(f, v)}</>;
}

const isId = (v: unknown) => typeof v === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(v);

// What ids mean that the catalog holds without a reference, so that what they mean may go.
const meant: Record<string, string> = {
  movement_id: 'stock_movements',
  reservation_id: 'reservations',
  order_line_id: 'order_lines',
  import_job_id: 'import_jobs',
  source_score_id: 'predictive_scores',
  source_incident_id: 'incidents',
  run_id: 'score_runs',
};

const ofSource: Record<string, string> = {
  incident: 'incidents',
  checklist_answer: 'checklist_answers',
  compliance_event: 'compliance_events',
  score: 'predictive_scores',
  talk: 'toolbox_talks',
};

// meantBy is the collection of the record that an id without a reference means.
function meantBy(f: Field, row: Record<string, unknown>): string | undefined {
  return f.name === 'source_id' ? ofSource[String(row['source'])] : meant[f.name];
}

// Classification is a code of a closed list with its name.
export function Classification({ list, code }: { list: string; code: string }) {
  const named = useNamed(list);
  return <>{named(code)}</>;
}

// isCode says that a text is a number of a document, a SKU or the like: one word, which
// is read and compared whole.
export function isCode(v: unknown): boolean {
  return typeof v === 'string' && v.length <= 24 && /^[\w./-]*\d[\w./-]*$/.test(v);
}

// MemberName is a member by the name or the address that colleagues know.
function MemberName({ id }: { id: string }) {
  const p = usePermissions();
  return <span title={id}>{useCalledPeople(p).get(id) ?? _('Somebody')}</span>;
}

// Unnamed is a record that the reader may not see by more than what it is.
function Unnamed({ collection, id }: { collection: string; id: string }) {
  return (
    <span class="muted" title={id}>
      {singular(collection)}
    </span>
  );
}

function useMembers(p?: Permissions): Row[] {
  const named = p?.collections['workers']?.read ? ',worker:worker_id(name)' : '';
  return (
    useQuery({
      queryKey: ['c', 'members', 'names'],
      queryFn: () => want(records('members').select(`id,user_id,email,role${named}`).order('email').limit(1000)),
      enabled: !!p?.collections['members']?.read,
      staleTime: 5 * 60_000,
    }).data ?? []
  );
}

// useCalledPeople names accounts as colleagues speak of them: by the name of the worker, else by the address.
export function useCalledPeople(p?: Permissions): Map<string, string> {
  return new Map(usePeople(p).map(([id, name]) => [id, name.split(' · ')[0] as string]));
}

// usePeople returns the accounts of the organisation that the reader may see, each by its id and by name and address.
export function usePeople(p?: Permissions): (readonly [id: string, name: string])[] {
  return useMembers(p).map((m) => {
    const parts = [(m['worker'] as Row | null | undefined)?.['name'], m['email']].filter(Boolean);
    return [String(m['user_id']), parts.join(' · ') || words(String(m['role']))] as const;
  });
}

// calledIn is what names a record; a driver has a worker's name.
function calledIn(catalog: Catalog | undefined, collection: string, row: Row): string {
  const worker = row[refKey('worker_id')] as Row | null | undefined;
  return worker ? nameOf(catalog?.get('workers'), worker) : nameOf(catalog?.get(collection), row);
}

// What is asked for in one turn is one request for each collection, for at most so many of its records.
const most = 100;
const waiting = new Map<string, { ids: Set<string>; rows: Promise<Map<string, Row>> }>();

function nameRow(c: Collection, fields: string, id: string): Promise<Row | null> {
  let w = waiting.get(c.name);
  if (!w || (w.ids.size >= most && !w.ids.has(id))) {
    const ids = new Set<string>();
    const rows = new Promise((turn) => setTimeout(turn)).then(async () => {
      if (waiting.get(c.name)?.ids === ids) waiting.delete(c.name);
      return new Map(
        (
          await want(
            records(c.name)
              .select(fields)
              .in('id', [...ids]),
          )
        ).map((r) => [r.id, r]),
      );
    });
    waiting.set(c.name, (w = { ids, rows }));
  }
  w.ids.add(id);
  return w.rows.then((rows) => rows.get(id) ?? null);
}

// useCalled is what a record is called, as far as the reader may see that.
export function useCalled(collection: string, id: string): string | undefined {
  const p = usePermissions();
  const catalog = useCatalog();
  const c = catalog?.get(collection);
  const right = p?.collections[collection]?.read;
  const names = c ? nameFields(c).filter((n) => !right?.fields || right.fields.includes(n)) : [];
  const worker =
    !names.length && c?.fields.some((f) => f.name === 'worker_id') ? [`${refKey('worker_id')}:worker_id(id,name)`] : [];
  const fields = ['id', ...names, ...worker].join(',');
  const row = useQuery({
    queryKey: ['c', collection, 'named', id],
    queryFn: () => nameRow(c as Collection, fields, id),
    enabled: !!c && !!right && /^[0-9a-f-]{36}$/.test(id),
    staleTime: 60_000,
  }).data;
  return row ? calledIn(catalog, collection, row) : undefined;
}

// One is a record by what names it, and leads there.
function One({ collection, id }: { collection: string; id: string }) {
  const readable = !!usePermissions()?.collections[collection]?.read;
  const known = useCatalog()?.has(collection);
  const said = useCalled(collection, id);
  if (!known || !readable) return <Unnamed collection={collection} id={id} />;
  return <a href={hrefOf(collection, id)}>{said ?? singular(collection)}</a>;
}

// Named are records that a field lists, by what names them.
export function Named({ collection, ids }: { collection: string; ids: string[] }) {
  return (
    <>
      {ids.map((id, i) => (
        <span key={id}>
          {i ? ', ' : ''}
          {collection === 'members' ? <MemberName id={id} /> : <One collection={collection} id={id} />}
        </span>
      ))}
    </>
  );
}

// collectionOf is the collection of a kind of entity: zone, driver, worker, equipment.
export const collectionOf = (kind: string) => (kind === 'equipment' ? kind : `${kind}s`);

// Json shows an object as names and values, as far as it is flat.
export function Json({ v }: { v: unknown }) {
  if (Array.isArray(v)) {
    if (v.every((x) => typeof x !== 'object' || x === null)) return <>{v.map(String).join(', ')}</>;
    return (
      <ul class="stack tight">
        {v.map((x, i) => (
          <li key={i}>
            <Json v={x} />
          </li>
        ))}
      </ul>
    );
  }
  if (v && typeof v === 'object') {
    const { entity_type: kind, entity_id: id, ...rest } = v as Row;
    if (typeof kind === 'string' && typeof id === 'string')
      return (
        <span>
          {words(kind)} <Named collection={collectionOf(kind)} ids={[id]} />
          {Object.keys(rest).length ? (
            <>
              ; <Json v={rest} />
            </>
          ) : null}
        </span>
      );
    return (
      <span>
        {Object.entries(v as Row).map(([k, x], i) => (
          <span key={k}>
            {i ? '; ' : ''}
            <span class="muted">{words(k)}:</span> <Json v={x} />
          </span>
        ))}
      </span>
    );
  }
  // A drawn signature is no text.
  if (typeof v === 'string' && v.startsWith('data:')) return <>{_('Yes')}</>;
  return <>{v === null ? '–' : typeof v === 'boolean' ? (v ? _('Yes') : _('No')) : String(v)}</>;
}
