import { supabase, want } from './client';
import type { Place } from './plane';
import { queryClient, useQuery } from './query';
import type { Row } from '../database';

// A route as its pages need it: who drives what, and the stops that name it.

export interface Stop extends Row {
  shipment_no: string;
  status: string;
  direction: string;
  stop_seq: number | null;
  arrived_at: string | null;
  completed_at: string | null;
  exception_code: string | null;
  origin: Place | null;
  destination: Place | null;
}

export interface Trip extends Row {
  route_no: string;
  status: 'planned' | 'started' | 'finished' | 'cancelled';
  date: string;
  planned_km: number | null;
  started_at: string | null;
  finished_at: string | null;
  driving_min: number | null;
  odometer_start_km: number | null;
  odometer_end_km: number | null;
  distance_km: number | null;
  driver: { id: string; worker: { name: string } | null } | null;
  vehicle: { id: string; plate: string; odometer_km: number | null } | null;
  stops: Stop[];
}

const columns =
  'id,version,route_no,status,date,planned_km,started_at,finished_at,driving_min,odometer_start_km,odometer_end_km,distance_km,driver:driver_id(id,worker:worker_id(name)),vehicle:vehicle_id(id,plate,odometer_km),stops:shipments(id,shipment_no,status,direction,stop_seq,arrived_at,completed_at,exception_code,origin,destination)';

const inOrder = (t: Trip): Trip => ({
  ...t,
  stops: [...t.stops].sort((a, b) => (a.stop_seq ?? 1e9) - (b.stop_seq ?? 1e9)),
});

export const open = (s: Stop) => ['planned', 'packed', 'ready', 'in_transit'].includes(s.status);
export const done = (t: Trip) => t.stops.filter((s) => !open(s)).length;

// next is the stop that a driver goes to now.
export const next = (t: Trip) => t.stops.find(open);

// useTrips are the routes in some states: those to come by their day, those that are over from the latest on.
export function useTrips(states: Trip['status'][], limit: number, enabled = true) {
  const over = states.includes('finished');
  return useQuery({
    queryKey: ['c', 'routes', 'trips', ...states],
    queryFn: async () =>
      (
        await want<Trip[]>(
          supabase
            .from('routes')
            .select(columns)
            .in('status', states)
            .order('date', { ascending: !over })
            .order('route_no')
            .limit(limit),
        )
      ).map(inOrder),
    enabled,
    meta: { live: true },
  });
}

export function useTrip(id: string) {
  return useQuery({
    queryKey: ['c', 'routes', 'trip', id],
    queryFn: async () => {
      const t = await want<Trip | null>(supabase.from('routes').select(columns).eq('id', id).maybeSingle());
      return t && inOrder(t);
    },
    meta: { live: true },
  });
}

// changed reads again what a verb about a route changed.
export const changed = () =>
  void queryClient.invalidateQueries({ predicate: (q) => q.queryKey[1] === 'routes' || q.queryKey[1] === 'shipments' });
