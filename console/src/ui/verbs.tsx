import { useState } from 'preact/hooks';
import { rpc } from '../lib/client';
import { nameOf, words, type Collection, type Permissions } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { _ } from '../lib/i18n';
import type { Row, Verb, VerbArgs } from '../database';
import { Button, LinkButton } from './basic';
import { Ask } from './dialog';
import { OwnerActivity, OwnerStock } from './activity';
import { AdjustStock, MovePlate, MoveStock, PutBack } from './goods';
import { NumberInput } from './number';
import { toast } from './overlay';
import { Plain } from './plain';
import { CreateShipment, Pack } from './pack';
import { Recall } from './recall';
import { Outcome } from './stop';
import type { VerbGiven } from './given';

interface Given extends Omit<VerbGiven, 'close'> {
  p: Permissions;
}

// A Saying is a verb as a button of a record: what it is called, when it makes sense, and what a person adds to it.
interface Saying {
  verb: Verb;
  text: string;
  when: (r: Row) => boolean;
  kind?: 'primary' | 'danger';
  form: (given: Given & { close: () => void }) => preact.JSX.Element;
}

// A Way leads to the page where a verb is said.
interface Way {
  verb: Verb;
  text: string;
  when: (r: Row) => boolean;
  href: (r: Row) => string;
}

const is =
  (...states: string[]) =>
  (r: Row) =>
    states.includes(String(r['status']));
const isOpenOrder = is('confirmed', 'in_progress');
const outbound = (r: Row) => ['outbound', 'transfer'].includes(String(r['type'] ?? r['direction']));
// Goods of a transfer come in once they have left.
const comesIn = (r: Row) =>
  r['type'] === 'inbound' || (r['type'] === 'transfer' && has(r, 'qty_shipped') > has(r, 'qty_received'));
const has = (r: Row, name: string) => Number(r[name] ?? 0);

// Plain asks whether, and for a reason where the verb takes one.
function plain<V extends Verb>(
  verb: V,
  text: string,
  said: string,
  args: (r: Row, reason: string) => VerbArgs<V>,
  { reason, danger, note }: { reason?: boolean; danger?: boolean; note?: string } = {},
): Saying['form'] {
  return ({ c, r, done, close }) => (
    <Plain
      title={`${_(text)}: ${nameOf(c, r)}`}
      {...{ text, said, reason, danger, note, done, close }}
      act={(why) => rpc(verb, args(r, why))}
    />
  );
}

function ClosePackage({ c, r, done, close }: Given & { close: () => void }) {
  const draft = useDraft(`close_package ${r.id}`);
  const [weight, setWeight] = draft.field('weight', String(r['weight_kg'] ?? ''));
  return (
    <Ask
      title={`${_('Close the package')}: ${nameOf(c, r)}`}
      text={_('It gets its number and its label; its content no longer changes.')}
      yes={_('Close the package')}
      close={close}
      draft={draft}
      act={async () => {
        await rpc('close_package', { package_id: r.id, ...(weight ? { weight_kg: Number(weight) } : {}) });
        toast(_('The package is closed'));
        done();
      }}
    >
      <NumberInput label={_('Weight')} unit="kg" value={weight} put={setWeight} autofocus />
    </Ask>
  );
}

const sayings: Record<string, Saying[]> = {
  orders: [
    {
      verb: 'release_picks',
      text: 'Release to pick',
      kind: 'primary',
      when: (r) =>
        outbound(r) && isOpenOrder(r) && has(r, 'qty_allocated') > has(r, 'qty_picked') && r['stage'] !== 'picking',
      form: plain('release_picks', 'Release to pick', 'The pick list is released', (r) => ({ order_ids: [r.id] })),
    },
    {
      verb: 'pack',
      text: 'Pack',
      kind: 'primary',
      when: (r) => outbound(r) && isOpenOrder(r) && has(r, 'qty_picked') > has(r, 'qty_packed'),
      form: (given) => <Pack {...given} />,
    },
    {
      verb: 'create_shipment',
      text: 'Make a shipment',
      when: (r) => outbound(r) && isOpenOrder(r) && has(r, 'qty_allocated') > has(r, 'qty_shipped'),
      form: (given) => <CreateShipment {...given} />,
    },
  ],
  packages: [
    {
      verb: 'close_package',
      text: 'Close the package',
      kind: 'primary',
      when: is('open'),
      form: (given) => <ClosePackage {...given} />,
    },
    {
      verb: 'unpack',
      text: 'Unpack',
      kind: 'danger',
      when: is('open', 'closed'),
      form: plain('unpack', 'Unpack', 'The package is empty', (r) => ({ package_id: r.id }), {
        danger: true,
        note: 'All of its goods lie in the lane again. The number of a closed package is not used again.',
      }),
    },
  ],
  shipments: [
    {
      verb: 'pack',
      text: 'Pack',
      kind: 'primary',
      when: (r) => outbound(r) && is('planned', 'packed')(r),
      form: (given) => <Pack {...given} />,
    },
    {
      verb: 'dispatch',
      text: 'Dispatch',
      kind: 'primary',
      when: (r) => outbound(r) && is('planned', 'packed', 'ready')(r),
      form: plain('dispatch', 'Dispatch', 'The shipment is on its way', (r) => ({ shipment_id: r.id }), {
        note: 'Its goods leave the stock. Where it may not leave yet, this says why.',
      }),
    },
    {
      verb: 'return_shipment',
      text: 'Take back',
      when: (r) => outbound(r) && is('in_transit', 'exception')(r),
      form: plain(
        'return_shipment',
        'Take back',
        'The shipment comes back',
        (r, note) => ({ shipment_id: r.id, note }),
        { reason: true, note: 'Its goods come in under a return order.' },
      ),
    },
  ],
  lots: [
    {
      verb: 'recall_lot',
      text: 'Recall',
      kind: 'danger',
      when: is('released', 'quarantine', 'expired'),
      form: (given) => <Recall {...given} />,
    },
  ],
  count_tasks: [
    {
      verb: 'approve_count',
      text: 'Approve',
      kind: 'primary',
      when: is('counted'),
      form: plain('approve_count', 'Approve', 'The count is booked', (r, reason) => ({ count_task_id: r.id, reason }), {
        reason: true,
      }),
    },
    {
      verb: 'recount',
      text: 'Count again',
      when: is('counted'),
      form: plain('recount', 'Count again', 'It is counted again', (r, reason) => ({ count_task_id: r.id, reason }), {
        reason: true,
      }),
    },
  ],
  pick_lines: [
    {
      verb: 'unpick',
      text: 'Put back',
      when: (r) => has(r, 'qty_picked') > 0,
      form: (given) => <PutBack {...given} />,
    },
  ],
  goods_owners: [
    { verb: 'owner_activity', text: 'What was done', when: () => true, form: (given) => <OwnerActivity {...given} /> },
    { verb: 'owner_stock', text: 'What lies here', when: () => true, form: (given) => <OwnerStock {...given} /> },
  ],
  stock_adjustments: [
    {
      verb: 'approve_adjustment',
      text: 'Approve',
      kind: 'primary',
      when: is('waiting'),
      form: plain(
        'approve_adjustment',
        'Approve',
        'The adjustment is booked',
        (r, reason) => ({ adjustment_id: r.id, reason }),
        { reason: true },
      ),
    },
    {
      verb: 'reject_adjustment',
      text: 'Reject',
      kind: 'danger',
      when: is('waiting'),
      form: plain(
        'reject_adjustment',
        'Reject',
        'The adjustment is refused',
        (r, reason) => ({ adjustment_id: r.id, reason }),
        { reason: true, danger: true },
      ),
    },
  ],
  ...Object.fromEntries(
    ['items', 'zones', 'stock_levels'].map((name): [string, Saying[]] => [
      name,
      [
        { verb: 'move_stock', text: 'Move goods', when: () => true, form: (given) => <MoveStock {...given} /> },
        {
          verb: 'move_plate',
          text: 'Move the plate',
          when: (r) => !!r['lpn'] && has(r, 'quantity') > 0,
          form: (given) => <MovePlate {...given} />,
        },
        {
          verb: 'adjust_stock',
          text: 'Adjust the stock',
          when: () => true,
          form: (given) => <AdjustStock {...given} />,
        },
      ],
    ]),
  ),
};

const ways: Record<string, Way[]> = {
  orders: [
    {
      verb: 'receive',
      text: 'Receive',
      when: (r) => comesIn(r) && isOpenOrder(r),
      href: (r) => `/console/floor/receive?order=${r.id}`,
    },
    {
      verb: 'receive_return',
      text: 'Take in',
      when: (r) => r['type'] === 'return' && isOpenOrder(r),
      href: () => '/console/plan?part=returns',
    },
  ],
  pick_lists: [
    {
      verb: 'claim_pick_list',
      text: 'Pick',
      when: is('released', 'in_progress'),
      href: (r) => `/console/floor/pick/${r.id}`,
    },
  ],
  putaway_tasks: [
    { verb: 'put_away', text: 'Put away', when: is('open', 'in_progress'), href: (r) => `/console/floor/put/${r.id}` },
  ],
  replenish_tasks: [
    {
      verb: 'replenish',
      text: 'Bring it',
      when: is('open', 'in_progress'),
      href: () => '/console/plan?part=replenish',
    },
  ],
  waves: [
    { verb: 'release_picks', text: 'Release to pick', when: is('planned'), href: () => '/console/plan?part=waves' },
  ],
  count_tasks: [
    { verb: 'enter_count', text: 'Count', when: is('open', 'counting'), href: (r) => `/console/floor/count/${r.id}` },
  ],
  zones: [
    {
      verb: 'start_count',
      text: 'Count this place',
      when: (r) => r['status'] !== 'archived',
      href: (r) => `/console/floor/count?zone=${r.id}`,
    },
  ],
  routes: [{ verb: 'start_route', text: 'To the route', when: () => true, href: (r) => `/console/routes/${r.id}` }],
};

// The states that are left to buttons of their own where verbs do the others: no verb leads there.
const bare: Record<string, string[]> = { pick_lists: ['released', 'cancelled'], lots: ['quarantine', 'released'] };
const inboundStates = ['in_transit', 'arrived', 'received', 'cancelled'];

// isBare says whether a record is led to a state by a button of that state, because no verb of this person does that.
export function isBare(c: Collection, r: Row, to: string, p: Permissions): boolean {
  if (c.name !== 'shipments') return bare[c.name]?.includes(to) ?? true;
  if (!outbound(r)) return inboundStates.includes(to);
  return to === 'cancelled' || (to === 'in_transit' && r['status'] === 'ready' && !p.verbs?.['dispatch']);
}

const verbOf: Record<string, string> = {
  confirmed: 'Confirm',
  in_progress: 'Start',
  on_hold: 'Put on hold',
  cancelled: 'Cancel',
  completed: 'Complete',
  released: 'Release',
  active: 'Activate',
  blocked: 'Block',
  archived: 'Archive',
  discontinued: 'Discontinue',
  done: 'Mark as done',
  verified: 'Verify',
  triaged: 'Triage',
  investigating: 'Investigate',
  closed: 'Close',
  packed: 'Mark as packed',
  ready: 'Mark as ready',
  in_transit: 'Dispatch',
  delivered: 'Mark as delivered',
  exception: 'Report an exception',
  returned: 'Mark as returned',
  arrived: 'Mark as arrived',
  received: 'Mark as received',
  quarantine: 'Put in quarantine',
  recalled: 'Recall',
  approved: 'Approve',
  paused: 'Pause',
  ended: 'End',
  published: 'Publish',
  in_service: 'Put in service',
  maintenance: 'Send to maintenance',
  out_of_service: 'Take out of service',
  retired: 'Retire',
  picked: 'Mark as picked',
  short: 'Mark as short',
  assigned: 'Assign',
  available: 'Make available',
  on_trip: 'Send on a trip',
  off_duty: 'End duty',
  suspended: 'Suspend',
  on_leave: 'Send on leave',
  left: 'Mark as left',
  failed: 'Mark as failed',
  void: 'Void',
};

// verbFor is what leads to a state, as a button says it.
export function verbFor(state: string): string {
  return _(verbOf[state] ?? words(state));
}

// RecordVerbs are what this person can do about a record as it stands.
export function RecordVerbs(given: Given) {
  const { c, r, p } = given;
  const [asking, setAsking] = useState<Saying | null>(null);
  const may = (v: Saying | Way) => p.verbs?.[v.verb] === true && v.when(r);
  const at = (sayings[c.name] ?? []).filter(may);
  const led = (ways[c.name] ?? []).filter(may);
  return (
    <>
      {led.map((v) => (
        <LinkButton key={v.verb} href={v.href(r)}>
          {_(v.text)}
        </LinkButton>
      ))}
      {at.map((v) => (
        <Button key={v.verb} kind={v.kind} onClick={() => setAsking(v)}>
          {_(v.text)}
        </Button>
      ))}
      {c.name === 'shipments' ? <Outcome s={r as Parameters<typeof Outcome>[0]['s']} p={p} size="plain" /> : null}
      {asking ? asking.form({ ...given, close: () => setAsking(null) }) : null}
    </>
  );
}
