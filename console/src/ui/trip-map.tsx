import { _ } from '../lib/i18n';
import { plane, pointOf, type Place, type Point } from '../lib/plane';
import { open, type Stop, type Trip } from '../lib/trip';

const nameOf = (p: Place | null) => p?.city ?? p?.name ?? '–';

// TripMap draws the stops of a route in their order, from where they are loaded and
// back. The list of stops says the same. Null when nothing says where it is.
export function TripMap({ t, at }: { t: Trip; at?: string }) {
  const stops = t.stops.map((s) => [s, pointOf(s.destination)]).filter((x): x is [Stop, Point] => !!x[1]);
  if (!stops.length) return null;
  const start = stops[0]?.[0].origin ?? null;
  const home = pointOf(start);
  const way = [home, ...stops.map((x) => x[1]), home].filter((x): x is Point => !!x);
  const p = plane(way);
  const name = (key: string, point: Point, text: string, strong?: boolean) =>
    p.free(point) ? (
      <text key={key} class={strong ? 'strong' : undefined} x={p.x(point) + 3.2} y={p.y(point) + 0.9}>
        {text}
      </text>
    ) : null;
  return (
    <div class="routes trip-map">
      <svg
        viewBox={`-8 -6 ${p.width + 28} ${p.height + 12}`}
        role="img"
        aria-label={_('The way of {no}, to scale, without roads', { no: t.route_no })}
      >
        <polyline class="way k0" points={way.map((x) => `${p.x(x)},${p.y(x)}`).join(' ')} />
        {home ? <rect class="home" x={p.x(home) - 1.6} y={p.y(home) - 1.6} width="3.2" height="3.2" rx="0.5" /> : null}
        {home ? name('home', home, nameOf(start), true) : null}
        {stops.map(([s, x]) => (
          <g key={s.id}>
            <circle
              cx={p.x(x)}
              cy={p.y(x)}
              r="2.2"
              class={`stop ${open(s) ? 'driven' : ''} ${s.id === at ? 'at' : ''}`}
            />
            <text class={`seq ${open(s) ? 'on' : ''}`} x={p.x(x)} y={p.y(x) + 0.85}>
              {s.stop_seq ?? ''}
            </text>
            {name(s.id, x, nameOf(s.destination))}
          </g>
        ))}
      </svg>
    </div>
  );
}
