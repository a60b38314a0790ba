import type { Row } from '../database';
import { records, want } from './client';
import { zones } from './zone';
import {
  nameFields,
  visible,
  type Catalog,
  type Collection,
  type Field,
  type Permissions,
  type Rights,
} from './catalog';

// A condition of a list: field, operator, value, as the API has them.
export type Condition = [field: string, op: string, value: string];

export interface View {
  conditions: Condition[];
  order: [string, 'asc' | 'desc'] | null;
  columns: string[] | null;
  search: string;
  after: string; // where the page begins: the last row's [value, id] before it
  row: number; // how many rows are in front of it
}

export const pageSize = 50;

export function parseView(query: string): View {
  const q = new URLSearchParams(query);
  const [field, way] = (q.get('order') ?? '').split('.');
  return {
    conditions: q.getAll('f').flatMap((text): Condition[] => {
      const m = /^([a-z0-9_]+)\.((?:not\.)?[a-z]+)\.(.*)$/s.exec(text);
      return m ? [[m[1] as string, m[2] as string, m[3] as string]] : [];
    }),
    order: field ? [field, way === 'desc' ? 'desc' : 'asc'] : null,
    columns: q.get('cols')?.split(',').filter(Boolean) ?? null,
    search: q.get('q') ?? '',
    after: q.get('after') ?? '',
    row: Number(q.get('row') ?? 0),
  };
}

export function formatView(v: Partial<View>): string {
  const q = new URLSearchParams();
  for (const c of v.conditions ?? []) q.append('f', c.join('.'));
  if (v.order) q.set('order', v.order.join('.'));
  if (v.columns) q.set('cols', v.columns.join(','));
  if (v.search) q.set('q', v.search);
  if (v.after) {
    q.set('after', v.after);
    q.set('row', String(v.row ?? 0));
  }
  const text = q.toString();
  return text ? `?${text}` : '';
}

const hidden = new Set([
  'tenant_id',
  'id',
  'stock_key',
  'version',
  'created_by',
  'created_at',
  'updated_at',
  'archived_at',
]);

// What people look for first in the collections that they look at most.
const known: Record<string, string> = {
  items: 'sku,name,status,category,available,on_hand,reorder_point,stock_value',
  orders: 'order_no,party_name,type,status,stage,promised_at,qty_ordered,total_value',
  order_lines: 'line_no,order_id,item_id,qty_ordered,qty_allocated,qty_picked,qty_shipped,unit_price,amount',
  pick_lists: 'pick_no,status,assigned_worker_id,priority,strategy,released_at,completed_at',
  pick_lines: 'seq,status,pick_list_id,zone_id,item_id,qty,qty_picked',
  shipments: 'shipment_no,status,direction,carrier,driver_id,planned_at,eta',
  shipment_lines: 'item_id,shipment_id,order_id,quantity,qty_shipped,qty_short,qty_damaged',
  incidents: 'incident_no,title,severity,status,kind,zone_id,occurred_at',
  actions: 'action_no,title,status,type,assignee_user_id,due_on',
  checklist_runs: 'title,status,zone_id,assignee_user_id,due_at,score',
  training_assignments: 'course_id,user_id,status,due_on,completed_at,result',
  workers: 'employee_no,name,status,job_title,team_id,hired_on',
  zones: 'code,name,kind,status,utilization,load_units,max_capacity',
  stock_levels: 'item_id,zone_id,lot_id,stock_status,quantity,reserved',
  stock_movements: 'occurred_at,type,item_id,from_zone_id,to_zone_id,quantity,worker_id,created_by',
  reservations: 'item_id,zone_id,lot_id,quantity,picked,state',
  putaway_tasks: 'task_no,status,item_id,from_zone_id,to_zone_id,quantity,quantity_done',
  count_tasks: 'count_no,status,zone_id,item_id,method,due_on',
  count_lines: 'item_id,count_task_id,lot_id,expected,counted,variance,reason_code',
  lots: 'lot_no,item_id,status,expires_on,supplier',
  receipts: 'receipt_no,order_id,zone_id,line_count,discrepancies,received_at',
  receipt_lines: 'line_no,receipt_id,item_id,lot_id,quantity,uom,discrepancy',
  predictive_scores: 'entity_type,entity_id,score,cluster,confidence,model_kind,computed_at',
  compliance_events: 'regulation_id,entity_type,entity_id,status,value,threshold,evaluated_at',
  compliance_states: 'regulation_id,entity_type,entity_id,status,value,threshold,last_evaluated_at',
  score_runs: 'entity_type,model_kind,period_days,scores_computed,computed_at',
  work_units: 'code,name,site_id,headcount,activities',
  risk_entries: 'entry_no,priority,unit_id,hazard_family,situation,rating_before,rating_after,review_on',
  risk_register_versions: 'number,site_id,reason,made_at,entries,gaps,keep_until',
  drivers: 'worker_id,status,vehicle_id,phone,licence_class,licence_expires_on',
};

// columnsOf are the columns a list begins with: what names a record, its state, then what there is.
export function columnsOf(c: Collection, rights?: Rights): string[] {
  const may = visible(c, rights);
  const seen = may.filter(
    (f) =>
      !hidden.has(f.name) &&
      f.type !== 'json' &&
      f.type !== 'array' &&
      !['description', 'notes', 'note'].includes(f.name),
  );
  const wanted = known[c.name]?.split(',').filter((n) => may.some((f) => f.name === n));
  if (wanted?.length) return wanted;
  const first = [...nameFields(c), c.states?.field].filter((x): x is string => !!x);
  const rest = seen.map((f) => f.name).filter((n) => !first.includes(n));
  const dates = rest.filter((n) => /_(at|on)$/.test(n));
  const others = rest.filter((n) => !dates.includes(n));
  return [...first, ...others.slice(0, Math.max(2, 6 - first.length)), ...dates.slice(0, 1)].filter((n) =>
    seen.some((f) => f.name === n),
  );
}

// refKey is where the record that a reference points to is found in a row.
export const refKey = (field: string) => `${field}__ref`;

// placed are the columns that say in which zone the moments of a row are told, where not all are told in one.
function placed(c: Collection, columns: string[], p: Permissions): string[] {
  const told = columns.some((n) => c.fields.find((f) => f.name === n)?.type === 'timestamp');
  if (!told || !Object.keys(zones.get().sites).length) return [];
  return visible(c, p.collections[c.name])
    .map((f) => f.name)
    .filter((n) => n === 'site_id' || n === 'occurred_tz');
}

// unitColumns are the columns that say what a price is of, where one is among the columns.
const unitColumns = (c: Collection, columns: string[]) =>
  columns.includes('unit_price') ? ['uom', 'price_uom'].filter((n) => c.fields.some((f) => f.name === n)) : [];

// priceUnit is the unit that the price of a row is of; '' where the row names none.
export const priceUnit = (row: Record<string, unknown>) => String(row['price_uom'] ?? row['uom'] ?? '');

// selection asks for columns, and for the names of what they refer to in the same request.
export function selection(c: Collection, columns: string[], catalog: Catalog, p: Permissions): string {
  const refs = columns.flatMap((n) => {
    const f = c.fields.find((x) => x.name === n);
    const to = f?.ref ? catalog.get(f.ref) : undefined;
    const seen = to && p.collections[to.name]?.read;
    if (!f?.ref || !to || !seen) return [];
    const names = nameFields(to).filter((x) => !seen.fields || seen.fields.includes(x));
    const nested =
      !names.length && to.fields.some((x) => x.name === 'worker_id')
        ? `,${refKey('worker_id')}:worker_id(id,name)`
        : '';
    return [`${refKey(n)}:${n}(${['id', ...names].join(',')}${nested})`];
  });
  // An id of several kinds is named by its kind.
  const kind = columns.includes('entity_id') ? ['entity_type'] : [];
  return [...new Set(['id', ...columns, ...kind, ...placed(c, columns, p), ...unitColumns(c, columns), ...refs])].join(
    ',',
  );
}

// searchFilter is the search over what names a record, as the conditions of or=().
export function searchFilter(c: Collection, text: string): string {
  const safe = text.replace(/[\\"%*]/g, ' ').trim();
  return c.fields
    .filter(
      (f) =>
        f.type === 'text' &&
        !f.one_of &&
        (nameFields(c).includes(f.name) ||
          ['party_name', 'external_ref', 'tracking_no', 'gtin', 'email', 'description', 'city'].includes(f.name)),
    )
    .map((f) => `${f.name}.ilike."%${safe}%"`)
    .join(',');
}

// narrowed applies conditions and search; its parameter is a request of supabase-js.
export function narrowed<Q extends { filter(f: string, op: string, v: string): Q; or(text: string): Q }>(
  q: Q,
  c: Collection,
  v: Pick<View, 'conditions' | 'search'>,
): Q {
  for (const [f, op, value] of v.conditions) q = q.filter(f, op, value);
  const search = v.search ? searchFilter(c, v.search) : '';
  return search ? q.or(search) : q;
}

const quoted = (v: unknown) => `"${String(v).replace(/[\\"]/g, (x) => `\\${x}`)}"`;

// page is one page and one row more, which says whether there is another. It begins after a row instead of passing over
// rows, and says where that is so that an index can begin there: the millionth page costs what the first does. Rows without
// a value come last, and are asked for by themselves.
export async function page(
  c: Collection,
  v: View,
  columns: string[],
  catalog: Catalog,
  p: Permissions,
): Promise<Row[]> {
  const [field, way] = v.order ?? ['id', 'desc'];
  const wanted = field === 'id' || columns.includes(field) ? columns : [...columns, field];
  const ascending = way === 'asc';
  const past = ascending ? 'gt' : 'lt';
  const begin = () => narrowed(records(c.name).select(selection(c, wanted, catalog, p)), c, v);
  const rows = (q: ReturnType<typeof begin>, most = pageSize + 1) => {
    const ordered = field === 'id' ? q : q.order(field, { ascending, nullsFirst: false });
    return want(ordered.order('id', { ascending }).limit(most));
  };
  if (!v.after) return rows(begin());
  const [value, id] = JSON.parse(v.after) as [unknown, string];
  if (field === 'id') return rows(begin().filter('id', past, id));
  if (value === null) return rows(begin().is(field, null).filter('id', past, id));
  const found = await rows(
    begin()
      .filter(field, `${past}e`, String(value))
      .or(`${field}.${past}.${quoted(value)},and(${field}.eq.${quoted(value)},id.${past}.${id})`),
  );
  const missing = pageSize + 1 - found.length;
  if (!missing || c.fields.find((f) => f.name === field)?.required) return found;
  return [...found, ...(await rows(begin().is(field, null), missing))];
}

// searchable are the fields that a filter can be made of.
export function filterable(c: Collection, p: Permissions): Field[] {
  return visible(c, p.collections[c.name]).filter((f) => f.type !== 'json' && f.name !== 'tenant_id');
}
