import { useState } from 'preact/hooks';
import { rpc, supabase, want } from '../lib/client';
import { nameOf } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { number } from '../lib/format';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { momentOf } from '../lib/zone';
import type { Row } from '../database';
import { Empty, Skeleton } from './basic';
import { Ask } from './dialog';
import { Check, Moment, Select } from './form';
import { NumberInput } from './number';
import { toast } from './overlay';
import { Reference } from './reference';
import { useZoneOf } from './where';
import type { VerbGiven } from './given';

interface Line extends Row {
  line_no: number;
  qty_picked: number;
  qty_packed: number;
  is_kit: boolean | null;
  item: { sku: string; name: string; base_uom: string } | null;
}

interface Package {
  id: string;
  package_no: string;
}

const looseOf = (l: Line) => Math.round((Number(l.qty_picked) - Number(l.qty_packed)) * 1e4) / 1e4;

// Pack puts what is picked of an order or a shipment into a package, an open one or a new one, and closes it where it is full.
export function Pack({ c, r, done, close }: VerbGiven) {
  const orders = c.name === 'orders' ? [r.id] : ((r['order_ids'] ?? []) as string[]);
  const target = c.name === 'orders' ? { order_id: r.id } : { shipment_id: r.id };
  const lines = useQuery({
    queryKey: ['c', 'order_lines', 'pack', r.id],
    queryFn: () =>
      want<Line[]>(
        supabase
          .from('order_lines')
          .select('id,line_no,qty_picked,qty_packed,is_kit,item:item_id(sku,name,base_uom)')
          .in('order_id', orders)
          .order('line_no')
          .limit(500),
      ),
  });
  const open = useQuery({
    queryKey: ['c', 'packages', 'open', r.id],
    queryFn: () =>
      want(
        supabase
          .from('packages')
          .select('id,package_no')
          .eq(c.name === 'orders' ? 'order_id' : 'shipment_id', r.id)
          .eq('status', 'open')
          .order('id')
          .limit(50),
      ),
  });
  const draft = useDraft(`pack ${r.id}`);
  const [into, setInto] = draft.field('into', '');
  const [typed, setTyped] = draft.field<Record<string, string>>('typed', {});
  const [packed, setPacked] = useState<Package | null>(null);
  const [full, setFull] = draft.field('full', true);
  const [weight, setWeight] = draft.field('weight', '');
  const loose = (lines.data ?? []).filter((l) => !l.is_kit && looseOf(l) > 0); // a kit's goods are its components'
  const quantity = (l: Line) => typed[l.id] ?? String(looseOf(l));
  const chosen = loose.filter((l) => Number(quantity(l)) > 0);
  return (
    <Ask
      kind="wide"
      title={_('Pack {no}', { no: nameOf(c, r) })}
      yes={full ? _('Pack and close') : _('Pack')}
      close={close}
      draft={draft}
      error={lines.error ?? open.error}
      act={async () => {
        const made =
          packed ??
          (
            await rpc<{ package: Package }>('pack', {
              ...target,
              ...(into ? { package_id: into } : {}),
              lines: chosen.map((l) => ({ order_line_id: l.id, quantity: Number(quantity(l)) })),
            })
          ).package;
        // Where closing is refused the goods are packed all the same: what is sent next only closes.
        setPacked(made);
        if (full) await rpc('close_package', { package_id: made.id, ...(weight ? { weight_kg: Number(weight) } : {}) });
        toast(_('{no} is packed', { no: made.package_no }));
        done();
      }}
    >
      {lines.isPending ? <Skeleton lines={3} /> : null}
      {lines.data && !loose.length ? <Empty title={_('Nothing is picked that is not packed')} icon="box" /> : null}
      {loose.map((l) => (
        <NumberInput
          key={l.id}
          label={`${l.item?.sku ?? l.line_no} · ${l.item?.name ?? ''}`}
          unit={l.item?.base_uom}
          help={_('{n} picked and not packed', { n: number(looseOf(l)) })}
          value={quantity(l)}
          put={(v) => setTyped((now) => ({ ...now, [l.id]: v }))}
        />
      ))}
      {open.data?.length ? (
        <Select
          label={_('Into which package?')}
          value={into}
          put={setInto}
          options={[['', _('A new one')], ...open.data.map((x): [string, string] => [x.id, String(x['package_no'])])]}
        />
      ) : null}
      <Check label={_('It is full: close it, and give it its number and label')} on={full} put={setFull} />
      {full ? <NumberInput label={_('Weight')} unit="kg" value={weight} put={setWeight} /> : null}
    </Ask>
  );
}

const refTo = (label: string, name: string) => ({ name, type: 'uuid' as const, label, ref: name });

// CreateShipment makes a shipment of all that is reserved for an order and on no other.
export function CreateShipment({ c, r, done, close }: VerbGiven) {
  const draft = useDraft(`create_shipment ${r.id}`);
  const [carrier, setCarrier] = draft.field('carrier', '');
  const [driver, setDriver] = draft.field('driver', '');
  const [vehicle, setVehicle] = draft.field('vehicle', '');
  const [planned, setPlanned] = draft.field('planned', '');
  const zone = useZoneOf(r);
  return (
    <Ask
      title={_('A shipment of {no}', { no: nameOf(c, r) })}
      text={_('All that is promised or picked for the order and on no other shipment goes with it.')}
      yes={_('Make a shipment')}
      close={close}
      draft={draft}
      act={async () => {
        const given = {
          carrier_id: carrier,
          driver_id: driver,
          vehicle_id: vehicle,
          planned_at: planned ? momentOf(planned, zone) : '',
        };
        const made = await rpc<{ shipment: { shipment_no: string } }>('create_shipment', {
          order_ids: [r.id],
          ...Object.fromEntries(Object.entries(given).filter(([, v]) => v)),
        });
        toast(_('{what} was made', { what: made.shipment.shipment_no }));
        done();
      }}
    >
      <Reference f={refTo('Carrier', 'carriers')} text={carrier} put={setCarrier} />
      <Reference f={refTo('Driver', 'drivers')} text={driver} put={setDriver} />
      <Reference f={refTo('Vehicle', 'vehicles')} text={vehicle} put={setVehicle} />
      <Moment label={_('Planned at')} zone={zone} value={planned} put={setPlanned} />
    </Ask>
  );
}
