import { records, supabase, want } from '../lib/client';
import { nameFields, nameOf, useCatalog, usePermissions, words, type Collection, type Field, type Permissions } from '../lib/catalog';
import { ago, number, unitOf, value } from '../lib/format';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { refKey } from '../lib/records';
import type { Row } from '../database';
import { Badge, Meter } from './basic';
import '../records.css';

const badged = new Set(['severity', 'potential_severity', 'stage', 'status', 'stock_status', 'outcome', 'cluster', 'result']);

export const numeric = (f: Field) => ['integer', 'decimal', 'float'].includes(f.type);

// hrefOf is where a record is looked at.
export function hrefOf(collection: string, id: string): string {
  return `/console/c/${collection}/${id}`;
}

// Value shows a field of a record as people read it.
export function Value({ c, f, row, full }: { c: Collection; f: Field; row: Record<string, unknown>; full?: boolean }) {
  const catalog = useCatalog();
  const v = row[f.name];
  if (v == null || v === '' || (Array.isArray(v) && !v.length)) return <span class="muted">–</span>;
  if (f.ref) {
    const to = row[refKey(f.name)] as Record<string, unknown> | null | undefined;
    const worker = to?.['worker_id__ref'] as Record<string, unknown> | undefined;
    return <a href={hrefOf(f.ref, String(v))}>{to ? nameOf(worker ? catalog?.get('workers') : catalog?.get(f.ref), worker ?? to) : String(v).slice(0, 8)}</a>;
  }
  if (f.names === 'members' || f.name === 'created_by') return <MemberName id={String(v)} />;
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
      <time dateTime={String(v)} title={value(f, v)}>
        {full ? `${value(f, v)} (${ago(v)})` : ago(v)}
      </time>
    );
  if (f.type === 'array' && Array.isArray(v)) {
    if (f.names) return full ? <Named collection={f.names} ids={v.map(String).slice(0, 50)} /> : <span class="muted">{number(v.length)}</span>;
    return (
      <span class="row tight">
        {v.slice(0, full ? 50 : 3).map((x) => (
          <Badge key={String(x)} tone="plain">
            {typeof x === 'string' ? words(x) : JSON.stringify(x)}
          </Badge>
        ))}
      </span>
    );
  }
  if (f.type === 'json') return full ? <Json v={v} /> : <span class="muted clip">{JSON.stringify(v)}</span>;
  if (full && f.name === 'entity_id' && row['entity_type']) return <Named collection={collectionOf(String(row['entity_type']))} ids={[String(v)]} />;
  if (f.type === 'uuid') return <code title={String(v)}>{String(v).slice(0, 8)}</code>;
  if (numeric(f) && !full) return <>{number(Number(v), f.type === 'float' ? 4 : 2)}{unitOf(f) === '%' ? ' %' : ''}</>;
  return <>{value(f, v)}</>;
}

// MemberName is a member by the address that colleagues know.
function MemberName({ id }: { id: string }) {
  const p = usePermissions();
  const names = useNames(p);
  return names.has(id) ? <>{names.get(id)}</> : <code title={id}>{id.slice(0, 8)}</code>;
}

export function useNames(p?: Permissions): Map<string, string> {
  const q = useQuery({
    queryKey: ['c', 'members', 'names'],
    queryFn: () => want(supabase.from('members').select('user_id,email,role').limit(500)),
    enabled: !!p?.collections['members']?.read,
    staleTime: 5 * 60_000,
  });
  return new Map((q.data ?? []).map((m) => [String(m['user_id']), String(m['email'] ?? words(String(m['role'])))]));
}

// Named are records that a field lists, by what names them.
export function Named({ collection, ids }: { collection: string; ids: string[] }) {
  const p = usePermissions();
  const c = useCatalog()?.get(collection);
  const rows = useQuery({
    queryKey: ['c', collection, 'named', ids.join()],
    queryFn: () => want(records(collection).select(['id', ...nameFields(c as Collection)].join(',')).in('id', ids)),
    enabled: !!c && !!p?.collections[collection]?.read,
  }).data;
  return (
    <>
      {ids.map((id, i) => {
        const r = rows?.find((x) => x.id === id);
        return (
          <span key={id}>
            {i ? ', ' : ''}
            <a href={hrefOf(collection, id)}>{r ? nameOf(c, r) : id.slice(0, 8)}</a>
          </span>
        );
      })}
    </>
  );
}

// collectionOf is the collection of a kind of entity: zone, driver, worker, equipment.
const collectionOf = (kind: string) => (kind === 'equipment' ? kind : `${kind}s`);

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
          {Object.keys(rest).length ? <>; <Json v={rest} /></> : null}
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
  return <>{v === null ? '–' : typeof v === 'boolean' ? (v ? _('Yes') : _('No')) : String(v)}</>;
}
