import { useQuery } from './query';
import { api } from './client';
import { currency } from './format';
import { zones } from './zone';
import { _, language } from './i18n';

// What the collections are (GET /catalog.json) and what the caller may do with them (GET /v1/permissions).

export interface Field {
  name: string;
  type: 'text' | 'integer' | 'decimal' | 'float' | 'boolean' | 'uuid' | 'timestamp' | 'date' | 'json' | 'array';
  format?: string;
  label: string;
  doc?: string;
  unit?: string;
  default?: string;
  one_of?: string[];
  codes?: string;
  min?: string;
  max?: string;
  max_len?: number;
  ref?: string;
  names?: string;
  required?: boolean;
  read_only?: boolean;
  fixed?: boolean;
  list?: boolean; // a document that is a list of others
  parts?: Field[]; // what a document, or each element of a list of them, is made of
}

export interface Move {
  from: string[];
  to: string;
}

export interface Collection {
  name: string;
  doc: string;
  family: string;
  fields: Field[];
  unique?: string[][];
  states?: { field: string; initial: string[]; moves: Move[] };
  children?: { collection: string; column: string }[];
  import?: { key: string[]; fields: string[] };
  archives?: boolean;
  append_only?: boolean;
}

interface Right {
  rows: string;
  fields?: string[];
}

export interface Rights {
  read: Right | null;
  create: Right | null;
  update: Right | null;
  delete: Right | null;
  moves?: Move[];
}

export interface Permissions {
  user_id: string;
  tenant_id: string;
  role: string;
  read_only: boolean;
  currency: string;
  timezone: string;
  site_timezones: Record<string, string>;
  collections: Record<string, Rights>;
  functions: Record<string, boolean>;
  verbs?: Record<string, boolean>;
}

export type Catalog = Map<string, Collection>;

export function useCatalog(enabled = true): Catalog | undefined {
  return useQuery({
    queryKey: ['catalog'],
    queryFn: async () =>
      new Map((await api<{ collections: Collection[] }>('/catalog.json')).collections.map((c) => [c.name, c])),
    staleTime: Infinity,
    gcTime: Infinity,
    enabled,
  }).data;
}

export function usePermissionsQuery() {
  const read = async () => {
    const p = await api<Permissions>('/v1/permissions');
    currency.set(p.currency);
    zones.set({ home: p.timezone, sites: p.site_timezones });
    return p;
  };
  return useQuery({ queryKey: ['permissions'], queryFn: read, staleTime: 5 * 60_000 });
}

export function usePermissions(): Permissions | undefined {
  return usePermissionsQuery().data;
}

const acronyms: Record<string, string> = {
  sku: 'SKU',
  id: 'ID',
  eta: 'ETA',
  gtin: 'GTIN',
  sscc: 'SSCC',
  osha: 'OSHA',
  sso: 'SSO',
  url: 'URL',
  uom: 'Unit',
  abc: 'ABC',
  lpn: 'Plate',
  ip: 'IP',
  mfa: 'MFA',
  ppe: 'PPE',
  eb: 'Empirical Bayes',
};

// words turns a name of the interface into words: in_progress -> In progress.
export function words(name: string): string {
  const text = name
    .split(/[_.]/)
    .map((w) => acronyms[w] ?? w)
    .join(' ')
    .trim();
  return _(text.charAt(0).toUpperCase() + text.slice(1));
}

export function titleOf(c: Collection | string): string {
  return words(typeof c === 'string' ? c : c.name);
}

const singulars: Record<string, string> = {
  equipment: 'equipment',
  settings: 'setting',
  audit: 'audit entry',
  talk_attendances: 'attendance',
  stock_levels: 'stock level',
};

export function singular(name: string): string {
  return words(
    singulars[name] ??
      name
        .replace(/ies$/, 'y')
        .replace(/(ss|sh|ch|x)es$/, '$1')
        .replace(/s$/, ''),
  );
}

// newOf is the name of the button that makes a record.
export function newOf(name: string): string {
  const what = singular(name);
  return language.get() === 'en'
    ? `New ${/^[A-Z][a-z]/.test(what) ? what.charAt(0).toLowerCase() + what.slice(1) : what}`
    : _('New: {what}', { what });
}

const names = [
  'name',
  'title',
  'topic',
  'party_name',
  'order_no',
  'shipment_no',
  'pick_no',
  'incident_no',
  'action_no',
  'sku',
  'code',
  'lot_no',
  'plate',
  'asset_no',
  'display_name',
  'email',
  'cluster_name',
  'file_name',
  'url',
  'description',
  'key',
  'type',
  'kind',
];
const codes =
  'sku code entry_no order_no shipment_no pick_no incident_no action_no employee_no lot_no asset_no plate task_no count_no receipt_no route_no wave_no job_no'.split(
    ' ',
  );

// nameFields are the fields by which people know a record: its code or number, and its name.
export function nameFields(c: Collection): string[] {
  const has = (n: string) => c.fields.some((f) => f.name === n);
  const code = codes.find(has);
  const name = names.find(
    (n) =>
      n !== code &&
      has(n) &&
      !codes.includes(n) &&
      !(code && ['type', 'kind', 'key', 'url', 'description', 'email'].includes(n)),
  );
  return [code, name].filter((x): x is string => !!x);
}

export function nameOf(c: Collection | undefined, row: Record<string, unknown>): string {
  const parts = (c ? nameFields(c) : names.filter((n) => n in row).slice(0, 1))
    .map((n) => row[n])
    .filter((v) => v != null && v !== '');
  return parts.slice(0, 2).join(' · ') || (c ? singular(c.name) : '–');
}

export function visible(c: Collection, rights?: Rights): Field[] {
  const shown = rights?.read?.fields;
  return shown ? c.fields.filter((f) => shown.includes(f.name)) : c.fields;
}

// What a record gets later, by what happens to it or by a verb: it is not asked for when the record is made.
const later: Record<string, string> = {
  actions: 'cancel_reason,effectiveness,evidence,follows_id',
  checklist_runs: 'score,cancel_reason',
  drivers: 'last_lat,last_lon,last_seen_at',
  incidents:
    'occurred_tz,reported_at,reported_by,reporter_name,lat,lon,journey,duplicate_of,void_reason,root_causes,lessons,reopen_reason,change_reason',
  lots: 'status_reason',
  members: 'email',
  order_lines: 'qty_cancelled',
  orders: 'hold_reason,source',
  osha_cases: 'osha_told_at',
  osha_summaries: 'certified_name,certified_title,certified_phone,posted_from,posted_to,submission_ref,cases_submitted_on,change_reason',
  pick_lines: 'qty_picked,short_reason',
  pick_lists: 'route_m,wave_no',
  regulations: 'follows_sites',
  shipments: 'arrived_at,proof,exception_code,exception_note,stop_seq',
  risk_entries: 'measure_done_on,effect_checked_on,effective',
  stock_movements: 'ref_type,idempotency_key,reversal_of,uom_quantity',
  training_assignments: 'assignment_type,close_reason',
};

// isAsked says whether a form asks for a field: not for a state, which buttons lead to, nor for an id of any kind of
// record, which only programs write; and of a new record not for what the server fills in or what comes later.
function isAsked(c: Collection, f: Field, creating: boolean): boolean {
  if (['tenant_id', 'id', 'archived_at', c.states?.field].includes(f.name)) return false;
  if (f.type === 'uuid' && !f.ref && !f.names) return false;
  // Free objects are written by the pages that know them.
  if (f.type === 'json' && !f.parts && f.name !== 'value') return false;
  return !creating || (f.format !== 'number' && !later[c.name]?.split(',').includes(f.name));
}

// writable are the fields a form offers.
export function writable(c: Collection, rights: Rights | undefined, creating: boolean): Field[] {
  const right = creating ? rights?.create : rights?.update;
  if (!right) return [];
  return c.fields.filter(
    (f) =>
      !f.read_only &&
      isAsked(c, f, creating) &&
      (creating || !f.fixed) &&
      (!right.fields || right.fields.includes(f.name)),
  );
}

const families: Record<string, string> = {
  warehouse: 'Warehouse',
  logistics: 'Orders and transport',
  people: 'People',
  safety: 'Safety',
  engagement: 'Engagement',
  platform: 'Administration',
};

export function familyTitle(f: string): string {
  return _(families[f] ?? words(f));
}

// isMadeBeside says that records are made on the page of the record that they are about, and have no form of their own.
export const isMadeBeside = (c: Collection) => c.name === 'comments';
