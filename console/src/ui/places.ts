import { type Permissions } from '../lib/catalog';

// Place is an entry of the navigation.
interface Place {
  href: string;
  text: string;
  icon: string;
  may: (p: Permissions) => boolean;
  key?: string;
}

const reads = (name: string) => (p: Permissions) => p.collections[name]?.read != null;
const seesMatrix = (p: Permissions) => p.functions['training-matrix'] === true;
const admin = (p: Permissions) => p.role === 'owner' || p.role === 'admin';

// The hand-made part of the navigation; every other collection is under All records.
export const places: { title: string; list: Place[] }[] = [
  {
    title: '',
    list: [{ href: '/console/', text: 'Overview', icon: 'home', may: () => true, key: 'h' }],
  },
  {
    title: 'Warehouse',
    list: [
      { href: '/console/map', text: 'Warehouse map', icon: 'map', may: reads('zones'), key: 'm' },
      { href: '/console/c/items', text: 'Items', icon: 'box', may: reads('items'), key: 'i' },
      { href: '/console/c/orders', text: 'Orders', icon: 'cart', may: reads('orders'), key: 'o' },
      { href: '/console/c/pick_lists', text: 'Pick lists', icon: 'pick', may: reads('pick_lists'), key: 'p' },
      {
        href: '/console/plan',
        text: 'Planning',
        icon: 'clock',
        may: (p) => p.verbs?.['plan_wave'] === true || p.verbs?.['receive_return'] === true,
        key: 'l',
      },
      {
        href: '/console/floor',
        text: 'Floor work',
        icon: 'scan',
        may: (p) => p.verbs?.['pick_line'] === true,
        key: 'f',
      },
      { href: '/console/shipments', text: 'Shipments', icon: 'truck', may: reads('shipments'), key: 's' },
      { href: '/console/routes', text: 'Routes', icon: 'list', may: reads('routes'), key: 't' },
    ],
  },
  {
    title: 'Safety',
    list: [
      {
        href: '/console/safety',
        text: 'Safety overview',
        icon: 'shield',
        may: (p) => p.functions['safety-overview'] === true,
      },
      {
        href: '/console/report',
        text: 'Make a report',
        icon: 'plus',
        may: (p) => !!p.collections['incidents']?.create,
      },
      { href: '/console/c/incidents', text: 'Incidents', icon: 'alert', may: reads('incidents'), key: 'n' },
      { href: '/console/actions', text: 'Actions', icon: 'check', may: reads('actions'), key: 'a' },
      { href: '/console/c/checklist_runs', text: 'Inspections', icon: 'shield', may: reads('checklist_runs') },
      {
        href: '/console/risk',
        text: 'Risk',
        icon: 'gauge',
        may: (p) => p.functions['calculate-predictive-safety-scores'] === true,
      },
      { href: '/console/register', text: 'Risk register', icon: 'list', may: reads('work_units') },
      { href: '/console/compliance', text: 'Compliance', icon: 'shield', may: reads('compliance_states') },
      { href: '/console/injuries', text: 'Injury log', icon: 'file', may: reads('osha_summaries') },
      { href: '/console/training', text: 'Training', icon: 'star', may: seesMatrix },
      {
        href: '/console/c/training_assignments',
        text: 'Training',
        icon: 'star',
        may: (p) => reads('training_assignments')(p) && !seesMatrix(p),
      },
      {
        href: '/console/engagement',
        text: 'Engagement',
        icon: 'star',
        may: (p) => p.functions['safety-engagement'] === true && reads('point_events')(p),
      },
    ],
  },
  {
    title: 'Organisation',
    list: [
      { href: '/console/c/workers', text: 'People', icon: 'people', may: reads('workers') },
      { href: '/console/imports', text: 'Imports', icon: 'upload', may: reads('import_jobs'), key: 'u' },
      { href: '/console/all', text: 'All records', icon: 'list', may: () => true, key: 'r' },
      { href: '/console/admin', text: 'Administration', icon: 'gear', may: admin },
    ],
  },
];
