import { useState } from 'preact/hooks';
import { supabase, want } from '../lib/client';
import { type Permissions } from '../lib/catalog';
import { ago, number } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { plane, pointOf, type Place, type Point } from '../lib/plane';
import { useQuery } from '../lib/query';
import type { Row } from '../database';
import { Badge, Card, Empty } from '../ui/basic';
import { hrefOf } from '../ui/value';

export interface Stop extends Row {
  shipment_no: string;
  status: string;
  direction: string;
  eta: string | null;
  stop_seq: number | null;
  origin: Place | null;
  destination: Place | null;
  driver: { id: string; worker: { name: string } | null } | null;
}

// How many routes are told apart by colour and dashes; more repeat them.
const kinds = 6;

interface Trip {
  id: string;
  name: string;
  stops: Stop[];
  kind: number;
}

// Routes draws where shipments go: each driver's stops in their order from where
// they leave, to scale but without roads. The lists beside it say the same.
export function Routes({ list, p }: { list: Stop[]; p: Permissions }) {
  const [at, setAt] = useState('');
  const fields = p.collections['drivers']?.read?.fields;
  const seen = !!p.collections['drivers']?.read && (!fields || fields.includes('last_lat'));
  const drivers = useQuery({
    queryKey: ['c', 'drivers', 'where'],
    queryFn: () =>
      want<(Row & { last_lat: number; last_lon: number; worker: { name: string } | null })[]>(
        supabase
          .from('drivers')
          .select('id,last_lat,last_lon,worker:worker_id(name)')
          .eq('status', 'on_trip')
          .not('last_lat', 'is', null)
          .limit(200),
      ),
    enabled: seen,
    meta: { live: true },
  });
  const there = (s: Stop) => (s.direction === 'inbound' ? s.origin : s.destination);
  const here = (s: Stop) => (s.direction === 'inbound' ? s.destination : s.origin);
  const placed = list.filter((s) => pointOf(there(s)));
  if (!placed.length)
    return (
      <Empty title={_('No shipment says where it goes')} icon="truck">
        {_('A shipment is drawn when its destination has a latitude and a longitude.')}
      </Empty>
    );
  const trips: Trip[] = [
    ...new Map(
      placed.filter((s) => s.driver).map((s) => [s.driver?.id as string, s.driver?.worker?.name ?? _('Driver')]),
    ),
  ]
    .sort((a, b) => a[1].localeCompare(b[1]))
    .map(([id, name], i) => ({
      id,
      name,
      kind: i % kinds,
      stops: placed.filter((s) => s.driver?.id === id).sort((a, b) => (a.stop_seq ?? 999) - (b.stop_seq ?? 999)),
    }));
  const points = [
    ...placed.flatMap((s) => [pointOf(there(s)), pointOf(here(s))]),
    ...(drivers.data ?? []).map((d): Point => [d.last_lat, d.last_lon]),
  ].filter((x): x is Point => !!x);
  const { x: X, y: Y, width, height, free } = plane(points);
  const spots = new Map<string, { at: Point; place: Place; list: Stop[] }>();
  for (const s of placed) {
    const x = pointOf(there(s)) as Point;
    const k = x.join();
    spots.set(k, { at: x, place: there(s) as Place, list: [...(spots.get(k)?.list ?? []), s] });
  }
  const homes = new Map(
    placed
      .map((s) => here(s))
      .filter((h): h is Place => !!pointOf(h))
      .map((h) => [String(pointOf(h)), h]),
  );
  const spot = spots.get(at);
  const nameOf = (x: Place) => x.city ?? x.name ?? '–';
  return (
    <div class="split">
      <Card flush>
        <div class="routes">
          <svg viewBox={`-8 -6 ${width + 28} ${height + 12}`} role="group" aria-label={_('Where the shipments go')}>
            {trips.map((t) => {
              const way = [pointOf(here(t.stops[0] as Stop)), ...t.stops.map((s) => pointOf(there(s)))].filter(
                (x): x is Point => !!x,
              );
              return (
                <polyline key={t.id} class={`way k${t.kind}`} points={way.map((x) => `${X(x)},${Y(x)}`).join(' ')} />
              );
            })}
            {[...homes].map(([k, h]) => {
              const x = pointOf(h) as Point;
              return (
                <g key={k}>
                  <rect class="home" x={X(x) - 1.3} y={Y(x) - 1.3} width="2.6" height="2.6" rx="0.4" />
                  {free(x) ? (
                    <text class="strong" x={X(x) + 2.4} y={Y(x) + 0.8}>
                      {nameOf(h)}
                    </text>
                  ) : null}
                </g>
              );
            })}
            {[...spots].map(([k, s]) => (
              <g key={k}>
                <circle
                  cx={X(s.at)}
                  cy={Y(s.at)}
                  r={1.1 + Math.min(1.3, s.list.length * 0.18)}
                  class={`stop ${s.list.some((x) => x.driver) ? 'driven' : ''} ${k === at ? 'at' : ''}`}
                  role="button"
                  tabindex={0}
                  aria-label={plural(s.list.length, '{place}, {n} shipment', '{place}, {n} shipments', {
                    place: nameOf(s.place),
                  })}
                  onClick={() => setAt(k)}
                  onKeyDown={(e) => (e.key === 'Enter' || e.key === ' ') && (e.preventDefault(), setAt(k))}
                />
                {free(s.at) ? (
                  <text x={X(s.at) + 2.8} y={Y(s.at) + 0.8}>
                    {nameOf(s.place)}
                  </text>
                ) : null}
              </g>
            ))}
            {(drivers.data ?? []).map((d) => (
              <path
                key={d.id}
                class="van"
                d="M0-1.5 1.3 1.2H-1.3Z"
                transform={`translate(${X([d.last_lat, d.last_lon])} ${Y([d.last_lat, d.last_lon])})`}
              >
                <title>{d.worker?.name}</title>
              </path>
            ))}
          </svg>
        </div>
        <footer class="small muted">
          {_(
            'To scale, without roads. Squares are where shipments leave, triangles drivers as last seen; pale stops have no driver yet.',
          )}
        </footer>
      </Card>
      <div class="stack">
        {spot ? (
          <Card flush title={nameOf(spot.place)} actions={<span class="muted">{number(spot.list.length)}</span>}>
            <Lines list={spot.list} name={(s) => there(s)?.name ?? ''} />
          </Card>
        ) : null}
        {trips.map((t) => (
          <Card
            key={t.id}
            flush
            title={<h2 class={`row tight way-name k${t.kind}`}>{t.name}</h2>}
            actions={<span class="muted small">{plural(t.stops.length, '{n} stop', '{n} stops')}</span>}
          >
            <Lines list={t.stops} name={(s) => nameOf(there(s) as Place)} seq />
          </Card>
        ))}
        {placed.some((s) => !s.driver) ? (
          <p class="small muted">
            {plural(
              placed.filter((s) => !s.driver).length,
              '{n} shipment has no driver yet',
              '{n} shipments have no driver yet',
            )}
          </p>
        ) : null}
      </div>
    </div>
  );
}

function Lines({ list, name, seq }: { list: Stop[]; name: (s: Stop) => string; seq?: boolean }) {
  return (
    <ul class="lines">
      {list.slice(0, 30).map((s) => (
        <li key={s.id}>
          {seq && s.stop_seq ? <b class="num">{s.stop_seq}</b> : null}
          <span class="grow">
            <a class="nobreak" href={hrefOf('shipments', s.id)}>
              {s.shipment_no}
            </a>
            <br />
            <span class="small">{name(s)}</span>
          </span>
          {s.eta ? <span class="small muted nobreak">{ago(s.eta)}</span> : null}
          <Badge state={s.status} />
        </li>
      ))}
    </ul>
  );
}
