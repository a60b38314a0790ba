import type { Permissions } from '../lib/catalog';
import type { Condition } from '../lib/records';
import type { Row } from '../database';

// A Part is what hangs on a record, as its page shows it.
export interface Part {
  of: string; // the collection
  by: string; // its column that names the record
  columns: string;
  title?: string;
  where?: Condition[];
  order?: string;
  limit?: number;
  also?: string[]; // what is read besides the columns
  half?: boolean; // narrow enough to stand beside another
  always?: boolean; // shown where there is none, too
  person?: boolean; // by who was sent the goods
}

export interface Purpose {
  key: string; // the fields that are to be known first
  parts: Part[];
  progress?: { want: string; have: string; said: string }; // quantities of the first part
  waits?: (r: Row) => string; // what the record waits for
}

const among = (field: string, ...states: string[]): Condition => [field, 'in', `(${states.join()})`];
const underWay = among('status', 'open', 'in_progress');
const inspections = (by: string): Part => ({
  of: 'checklist_runs',
  by,
  columns: 'title,status,due_at,completed_at,score',
  title: 'Inspections',
  order: 'due_at.desc',
  limit: 6,
  always: true,
});

// What the page of a kind of record is for, the first part being what most people open it for.
export const purposes: Record<string, Purpose> = {
  orders: {
    key: '',
    parts: [
      {
        of: 'shipment_lines',
        by: 'order_id',
        columns: 'shipment_id,item_id,quantity,qty_shipped',
        title: 'Shipments',
        half: true,
      },
      { of: 'packages', by: 'order_id', columns: 'package_no,status,shipment_id', half: true },
    ],
  },
  shipments: {
    key: 'planned_at,eta,carrier_id,carrier,tracking_no,driver_id,vehicle_id,route_id,stop_seq,completed_at,exception_code',
    progress: { want: 'quantity', have: 'qty_shipped', said: 'Shipped' },
    parts: [
      {
        of: 'shipment_lines',
        by: 'shipment_id',
        columns: 'item_id,order_id,quantity,qty_shipped,qty_short,qty_damaged',
        title: 'Lines',
        limit: 40,
      },
      { of: 'packages', by: 'shipment_id', columns: 'package_no,status,sscc,weight_kg', always: true },
    ],
  },
  pick_lists: {
    key: 'assigned_worker_id,priority,strategy,released_at,started_at,completed_at,route_m',
    progress: { want: 'qty', have: 'qty_picked', said: 'Picked' },
    parts: [
      {
        of: 'pick_lines',
        by: 'pick_list_id',
        columns: 'seq,zone_id,item_id,lot_id,qty,qty_picked,status',
        title: 'Lines in walking order',
        order: 'seq.asc',
        limit: 60,
      },
    ],
  },
  items: {
    key: '',
    parts: [
      {
        of: 'order_lines',
        by: 'item_id',
        columns: 'order_id,qty_ordered,qty_received',
        title: 'On its way',
        also: ['bought:order_id!inner(type,status)'],
        where: [['bought.type', 'eq', 'inbound'], among('bought.status', 'confirmed', 'in_progress')],
        half: true,
      },
      {
        of: 'reservations',
        by: 'item_id',
        columns: 'zone_id,lot_id,quantity,picked',
        title: 'Promised',
        where: [['state', 'eq', 'active']],
        half: true,
      },
      {
        of: 'stock_movements',
        by: 'item_id',
        columns: 'occurred_at,type,from_zone_id,to_zone_id,quantity',
        title: 'Last movements',
        order: 'occurred_at.desc',
        limit: 6,
      },
      { of: 'item_components', by: 'kit_id', columns: 'item_id,qty', title: 'Made of', half: true },
      { of: 'item_uoms', by: 'item_id', columns: 'uom,factor,gtin,barcode', title: 'Units', half: true },
      { of: 'item_barcodes', by: 'item_id', columns: 'value,uom', title: 'Barcodes', half: true },
    ],
  },
  lots: {
    key: 'item_id,expires_on,best_before,manufactured_on,supplier,status_reason',
    parts: [
      {
        of: 'stock_levels',
        by: 'lot_id',
        columns: 'zone_id,stock_status,quantity,reserved',
        title: 'Where it lies',
        where: [['quantity', 'gt', '0']],
        half: true,
      },
      {
        of: 'reservations',
        by: 'lot_id',
        columns: 'quantity',
        title: 'Who was sent it',
        where: [['state', 'eq', 'consumed']],
        also: ['sale:order_line_id(order:order_id(id,order_no,party_name))'],
        half: true,
        always: true,
        person: true,
        limit: 100,
      },
    ],
  },
  zones: {
    key: 'utilization,load_units,max_capacity,kind,parent_id,site_id',
    parts: [
      {
        of: 'stock_levels',
        by: 'zone_id',
        columns: 'item_id,lot_id,stock_status,quantity,reserved',
        title: 'What lies here',
        where: [['quantity', 'gt', '0']],
        limit: 30,
      },
      {
        of: 'putaway_tasks',
        by: 'to_zone_id',
        columns: 'task_no,item_id,quantity,assigned_worker_id',
        where: [underWay],
        half: true,
      },
      {
        of: 'replenish_tasks',
        by: 'to_zone_id',
        columns: 'task_no,item_id,quantity,assigned_worker_id',
        where: [underWay],
        half: true,
      },
      {
        of: 'pick_lines',
        by: 'zone_id',
        columns: 'pick_list_id,item_id,qty,qty_picked',
        where: [['status', 'eq', 'pending']],
        half: true,
      },
      {
        of: 'count_tasks',
        by: 'zone_id',
        columns: 'count_no,status,due_on,assigned_worker_id',
        where: [among('status', 'open', 'counting', 'counted')],
        half: true,
      },
      {
        of: 'incidents',
        by: 'zone_id',
        columns: 'incident_no,severity,status,occurred_at',
        where: [['status', 'not.in', '(closed,void)']],
        half: true,
      },
    ],
  },
  workers: {
    key: 'job_title,team_id,site_id,employment,hired_on',
    parts: [
      {
        of: 'training_assignments',
        by: 'worker_id',
        columns: 'course_id,status,due_on,expires_on,certificate_no',
        title: 'Certificates',
        order: 'expires_on.asc',
      },
      {
        of: 'shifts',
        by: 'worker_id',
        columns: 'started_at,ended_at,hours,status',
        order: 'started_at.desc',
        limit: 5,
      },
      {
        of: 'pick_lists',
        by: 'assigned_worker_id',
        columns: 'pick_no,status,priority',
        where: [among('status', 'released', 'in_progress')],
        half: true,
      },
      {
        of: 'putaway_tasks',
        by: 'assigned_worker_id',
        columns: 'task_no,item_id,quantity',
        where: [underWay],
        half: true,
      },
      {
        of: 'count_tasks',
        by: 'assigned_worker_id',
        columns: 'count_no,zone_id,due_on',
        where: [among('status', 'open', 'counting')],
        half: true,
      },
      {
        of: 'routes',
        by: 'assigned_worker_id',
        columns: 'route_no,date,status',
        where: [among('status', 'planned', 'started')],
        half: true,
      },
    ],
  },
  equipment: {
    key: 'kind,zone_id,service_due_on,hours_meter,required_course_id,serial_no',
    parts: [
      inspections('equipment_id'),
      { of: 'checklist_schedules', by: 'equipment_id', columns: 'template_id,title,next_due_at,status' },
      {
        of: 'shifts',
        by: 'equipment_id',
        columns: 'worker_id,started_at,hours,status',
        order: 'started_at.desc',
        limit: 5,
      },
    ],
  },
  vehicles: {
    key: 'kind,on_trip,inspection_due_on,odometer_km,payload_kg,volume_m3,site_id',
    parts: [
      {
        of: 'routes',
        by: 'vehicle_id',
        columns: 'route_no,date,status,driver_id,planned_km',
        title: 'Next routes',
        where: [among('status', 'planned', 'started')],
        order: 'date.asc',
      },
      {
        of: 'shipments',
        by: 'vehicle_id',
        columns: 'shipment_no,status,planned_at,route_id',
        title: 'Load',
        where: [among('status', 'planned', 'packed', 'ready', 'in_transit')],
        always: true,
      },
      { of: 'drivers', by: 'vehicle_id', columns: 'worker_id,status', half: true },
      { ...inspections('vehicle_id'), columns: 'title,status,due_at', half: true },
    ],
  },
  count_tasks: {
    key: 'zone_id,item_id,method,due_on,assigned_worker_id,counted_at,counted_by,approved_at,approved_by,variance_value',
    waits: (r) => (r['status'] === 'counted' ? 'This count waits for a second person: nothing is booked yet.' : ''),
    parts: [
      {
        of: 'count_lines',
        by: 'count_task_id',
        columns: 'item_id,lot_id,expected,counted,variance,reason_code',
        title: 'Lines',
        limit: 60,
      },
    ],
  },
};

// partsOf are the parts of a record's page that the reader may see.
export function partsOf(collection: string, p: Permissions): Part[] {
  return (purposes[collection]?.parts ?? []).filter((x) => {
    const read = p.collections[x.of]?.read;
    return (
      read &&
      (!read.fields ||
        [x.by, ...(x.where ?? []).map(([f]) => f).filter((f) => !f.includes('.'))].every((n) =>
          read.fields?.includes(n),
        ))
    );
  });
}
