import { useLocation } from 'preact-iso';
import { rpc, supabase, want } from '../lib/client';
import { useDraft } from '../lib/draft';
import { _, plural } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { changed } from '../lib/trip';
import { today } from '../lib/zone';
import type { Row } from '../database';
import { Ask } from './dialog';
import { Input, Select } from './form';
import { toast } from './overlay';

type Driver = Row & { vehicle_id: string | null; worker: { name: string } | null };
type Vehicle = Row & { plate: string; payload_kg: number | null };

// PlanRoute asks who drives the chosen shipments with what, and when.
export function PlanRoute({ chosen, close }: { chosen: string[]; close: () => void }) {
  const { route } = useLocation();
  const drivers = useQuery({
    queryKey: ['c', 'drivers', 'for a route'],
    queryFn: () =>
      want<Driver[]>(
        supabase
          .from('drivers')
          .select('id,vehicle_id,worker:worker_id(name)')
          .in('status', ['available', 'assigned', 'on_trip'])
          .limit(500),
      ),
  });
  const vehicles = useQuery({
    queryKey: ['c', 'vehicles', 'for a route'],
    queryFn: () =>
      want<Vehicle[]>(
        supabase.from('vehicles').select('id,plate,payload_kg').eq('status', 'in_service').order('plate').limit(500),
      ),
  });
  const draft = useDraft(`plan_route ${chosen.join()}`);
  const [day, setDay] = draft.field('day', today());
  const [who, setWho] = draft.field('who', '');
  const [what, setWhat] = draft.field('what', '');
  const drive = (id: string) => {
    setWho(id);
    const own = drivers.data?.find((d) => d.id === id)?.vehicle_id;
    if (own && vehicles.data?.some((v) => v.id === own)) setWhat(own);
  };
  const people = (drivers.data ?? [])
    .map((d): [string, string] => [d.id, d.worker?.name ?? _('Driver')])
    .sort((a, b) => a[1].localeCompare(b[1]));
  const fleet = (vehicles.data ?? []).map((v): [string, string] => [
    v.id,
    v.payload_kg == null ? v.plate : _('{plate}, up to {kg} kg', { plate: v.plate, kg: v.payload_kg }),
  ]);
  return (
    <Ask
      title={plural(chosen.length, 'Plan a route with {n} stop', 'Plan a route with {n} stops')}
      text={_('The stops are put in a short order, as the crow flies.')}
      yes={_('Plan the route')}
      error={drivers.error ?? vehicles.error}
      close={close}
      draft={draft}
      act={async () => {
        const { route: made } = await rpc<{ route: { id: string; route_no: string } }>('plan_route', {
          date: day,
          driver_id: who,
          vehicle_id: what,
          shipment_ids: chosen,
        });
        toast(_('{no} is planned', { no: made.route_no }));
        changed();
        route(`/console/routes/${made.id}`);
      }}
    >
      <Input label={_('Day')} type="date" min={today()} value={day} put={setDay} required />
      <Select label={_('Who drives?')} required value={who} put={drive} options={[['', _('Choose')], ...people]} />
      <Select
        label={_('With which vehicle?')}
        required
        value={what}
        put={setWhat}
        options={[['', _('Choose')], ...fleet]}
      />
    </Ask>
  );
}
