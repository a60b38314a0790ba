import { useLocation } from 'preact-iso';
import { useEffect, useRef, useState } from 'preact/hooks';
import { records, supabase, want } from '../lib/client';
import { useCatalog, usePermissions, words } from '../lib/catalog';
import { date, number, percent } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { keepPreviousData, useQuery } from '../lib/query';
import { endOf, homeZone, today } from '../lib/zone';
import type { Row } from '../database';
import { Badge, Button, Card, Empty, Head, LinkButton, Meter, Problem, Segments, Skeleton } from '../ui/basic';
import { Dialog } from '../ui/dialog';
import '../records.css';
import '../work.css';
import { Children } from '../ui/related';
import { OfSeen, readsWhole } from '../ui/seen';
import { Zoomed } from '../ui/zoom';

type Colour = 'use' | 'risk' | 'age';

interface Zone extends Row {
  code: string;
  name: string;
  kind: string;
  x: number;
  y: number;
  z: number;
  utilization: number | null;
  max_capacity: number;
  load_units: number;
  status: string;
  site_id: string | null;
  parent_id: string | null;
}

const columns = 'id,code,name,kind,x,y,z,utilization,max_capacity,load_units,status,site_id,parent_id';

// all reads every zone, a thousand at a time.
async function all(): Promise<Zone[]> {
  const out: Zone[] = [];
  for (;;) {
    let q = supabase.from('zones').select(columns).neq('status', 'archived').order('id').limit(1000);
    const last = out[out.length - 1];
    if (last) q = q.gt('id', last.id);
    const rows = await want<Zone[]>(q);
    out.push(...rows);
    if (rows.length < 1000) return out;
  }
}

const step = (colour: Colour, v: number | null | undefined): string => {
  if (v == null) return 'un';
  if (colour === 'age') return v >= 180 ? 'u4' : v >= 90 ? 'u3' : v >= 60 ? 'u2' : v >= 30 ? 'u1' : 'u0';
  if (colour === 'use') return v > 100 ? 'u4' : v >= 85 ? 'u3' : v >= 50 ? 'u2' : v > 0 ? 'u1' : 'u0';
  return v >= 75 ? 'u4' : v >= 50 ? 'u3' : v >= 25 ? 'u2' : v > 0 ? 'u1' : 'u0';
};

const keys: Record<Colour, [string, string][]> = {
  use: [
    ['u0', 'empty'],
    ['u1', 'below 50 %'],
    ['u2', '50 to 85 %'],
    ['u3', '85 to 100 %'],
    ['u4', 'overfull'],
    ['un', 'without limit'],
  ],
  age: [
    ['u0', 'below 30 days'],
    ['u1', '30 to 60'],
    ['u2', '60 to 90'],
    ['u3', '90 to 180'],
    ['u4', 'half a year and more'],
    ['un', 'nothing in it'],
  ],
  risk: [
    ['u0', 'none'],
    ['u1', 'low'],
    ['u2', 'medium'],
    ['u3', 'high'],
    ['u4', 'critical'],
    ['un', 'no score'],
  ],
};

const named: Record<Colour, [string, string]> = {
  use: ['Utilisation', 'Fullest'],
  risk: ['Risk', 'Riskiest'],
  age: ['Days at rest', 'Longest at rest'],
};

// rested is by place how many days the stock that lies there longest has not moved.
async function rested(): Promise<Map<string, number>> {
  const out = new Map<string, number>();
  for (let from = 0; ; from += 1000) {
    const rows = await want<{ zone_id: string; since: string }[]>(
      records('stock_levels')
        .select('zone_id,since:updated_at.min()')
        .gt('quantity', 0)
        .order('zone_id')
        .range(from, from + 999),
    );
    for (const r of rows) out.set(r.zone_id, Math.max(0, (Date.now() - Date.parse(r.since)) / 86_400_000));
    if (rows.length < 1000) return out;
  }
}

// Moved is what came to a place and left it since a moment, item by item.
interface Moved extends Row {
  parent_id: string | null;
  came: { sum: number; item: { capacity_units: number } | null }[];
  went: { sum: number; item: { capacity_units: number } | null }[];
}

// gained is by how many capacity units each place's load grew since a moment.
// The ledger holds every movement, so a place's load on a day is what it holds
// now less what it gained since; sizes of items and places are those of today.
async function gained(since: string): Promise<Map<string, number>> {
  const rows: Moved[] = [];
  for (;;) {
    const sums = (name: string, column: string) =>
      `${name}:stock_movements!${column}(quantity.sum(),item:item_id(capacity_units))`;
    let q = records('zones')
      .select(`id,parent_id,${sums('came', 'to_zone_id')},${sums('went', 'from_zone_id')}`)
      .gt('came.occurred_at', since)
      .gt('went.occurred_at', since)
      .order('id')
      .limit(1000);
    const last = rows[rows.length - 1];
    if (last) q = q.gt('id', last.id);
    const page = (await want(q)) as unknown as Moved[];
    rows.push(...page);
    if (page.length < 1000) break;
  }
  const parents = new Map(rows.map((r) => [r.id, r.parent_id]));
  const out = new Map<string, number>();
  const units = (list: Moved['came']) => list.reduce((n, g) => n + g.sum * (g.item?.capacity_units ?? 1), 0);
  for (const r of rows) {
    const d = units(r.came) - units(r.went);
    if (d) for (let at: string | null | undefined = r.id; at; at = parents.get(at)) out.set(at, (out.get(at) ?? 0) + d);
  }
  return out;
}

// daysBack is how far the plan is shown in the past.
const daysBack = 90;

const holds = new Set(['bin', 'dock', 'staging', 'quarantine']);

// columns and rows of the plan: coordinates in their order, wide gaps drawn
// short, so that every place is large enough to be seen and hit.
function drawn(values: number[], size: number, most: number): Map<number, number> {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  const out = new Map<number, number>();
  let at = 0;
  sorted.forEach((v, i) => {
    const gap = i ? v - (sorted[i - 1] as number) : 0;
    if (i && gap >= 0.3) at += Math.min(size * most, Math.max(size * 1.08, gap * size * 0.8));
    out.set(v, at);
  });
  return out;
}

// areaOf is the area that a place lies in: what carries a name on the plan.
function areaOf(z: Zone, by: Map<string, Zone>): Zone | undefined {
  for (let up: Zone | undefined = z; up; up = up.parent_id ? by.get(up.parent_id) : undefined)
    if (up.kind === 'area' || up.kind === 'aisle') return up;
  return undefined;
}

// MapPage is the plan of a site, by the places' coordinates.
export function MapPage() {
  const p = usePermissions();
  const catalog = useCatalog();
  const { query, route } = useLocation();
  const zones = useQuery({ queryKey: ['c', 'zones', 'all'], queryFn: all, meta: { live: true } });
  const sites = useQuery({
    queryKey: ['c', 'sites', 'all'],
    queryFn: () => want(supabase.from('sites').select('id,name').order('name').limit(200)),
    enabled: !!p?.collections['sites']?.read,
  });
  const colour: Colour = query['by'] === 'risk' || query['by'] === 'age' ? query['by'] : 'use';
  const rest = useQuery({
    queryKey: ['c', 'stock_levels', 'rest'],
    queryFn: rested,
    enabled: colour === 'age' && !!p?.collections['stock_levels']?.read,
    meta: { live: true },
  });
  const scores = useQuery({
    queryKey: ['c', 'predictive_scores', 'zones'],
    queryFn: () =>
      want(
        supabase
          .from('predictive_scores')
          .select('entity_id,score,cluster,computed_at')
          .eq('entity_type', 'zone')
          .order('computed_at', { ascending: false })
          .limit(1000),
      ),
    enabled: colour === 'risk' && !!p?.collections['predictive_scores']?.read,
  });
  const past =
    colour === 'use' && /^\d{4}-\d\d-\d\d$/.test(query['day'] ?? '') && p?.collections['stock_movements']?.read
      ? (query['day'] as string)
      : '';
  const since = useQuery({
    queryKey: ['zones-gained', past],
    queryFn: () => gained(endOf(past, homeZone())),
    enabled: !!past,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
  // What the colours are worked out from here, besides the places' own figures.
  const sums = ['zones', ...(past ? ['stock_movements'] : []), ...(colour === 'age' ? ['stock_levels'] : [])]
    .filter((of) => p && !readsWhole(p, of))
    .slice(0, 1);
  const [find, setFind] = useState('');
  const [table, setTable] = useState(false);
  if (!p || !catalog || zones.isPending) return <Skeleton lines={8} />;
  if (zones.error) return <Problem error={zones.error} retry={() => void zones.refetch()} />;
  const risk = new Map<string, number>();
  for (const s of scores.data ?? [])
    if (!risk.has(String(s['entity_id']))) risk.set(String(s['entity_id']), Number(s['score']));
  const counts = new Map<string, number>();
  for (const z of zones.data) counts.set(z.site_id ?? '', (counts.get(z.site_id ?? '') ?? 0) + 1);
  const biggest = [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? '';
  // A link to a place leads to its site.
  const linked = zones.data.find((z) => z.id === query['at']);
  const site = query['site'] ?? (linked ? (linked.site_id ?? '') : biggest);
  const here = zones.data.filter((z) => (z.site_id ?? '') === site);
  const levels = [...new Set(here.filter((z) => holds.has(z.kind)).map((z) => z.z))].sort((a, b) => a - b);
  const level = query['z'] ?? 'all';
  const shown = here.filter((z) => holds.has(z.kind) && (level === 'all' || String(z.z) === level));
  const used = (z: Zone) =>
    !past
      ? z.utilization
      : z.max_capacity > 0 && since.data
        ? Math.max(0, Math.round((1000 * (z.load_units - (since.data.get(z.id) ?? 0))) / z.max_capacity) / 10)
        : null;
  const value = (z: Zone) =>
    colour === 'use'
      ? used(z)
      : colour === 'age'
        ? (rest.data?.get(z.id) ?? null)
        : (risk.get(z.id) ?? (z.parent_id ? risk.get(z.parent_id) : undefined) ?? null);
  const ranked = [...shown].sort((a, b) => (value(b) ?? -1) - (value(a) ?? -1));
  const at = here.find((z) => z.id === query['at']);
  const go = (next: Record<string, string>) => {
    const q = new URLSearchParams({ ...query, ...next });
    // The places without a site are a site, too.
    for (const [k, v] of [...q]) if (!v && k !== 'site') q.delete(k);
    route(`/console/map?${q}`, true);
  };
  const text = (z: Zone) => {
    const v = value(z);
    return v == null ? '–' : colour === 'use' ? percent(v, 0) : number(v, 0);
  };
  const seek = (v: string) => {
    setFind(v);
    const hit = here.find((z) => z.code.toLowerCase() === v.trim().toLowerCase());
    if (hit) go({ at: hit.id, z: level !== 'all' && String(hit.z) !== level ? 'all' : level === 'all' ? '' : level });
  };
  const zoneCollection = catalog.get('zones');
  return (
    <>
      <Head
        title={_('Warehouse map')}
        sub={_('Every place where it stands, wide gaps drawn short. Choose one to see what is in it.')}
      >
        <Button onClick={() => setTable(!table)}>{table ? _('As a plan') : _('As a table')}</Button>
        <Button onClick={() => print()}>{_('Print')}</Button>
        <LinkButton href="/console/c/zones">{_('All places')}</LinkButton>
      </Head>
      <Problem error={scores.error ?? rest.error ?? since.error} />
      <div class="split">
        <Card
          flush
          title={
            <div class="row">
              <Segments<Colour>
                label={_('Colour')}
                options={(['use', 'risk', 'age'] as const).map((c) => [c, _(named[c][0])])}
                at={colour}
                go={(v) => go({ by: v === 'use' ? '' : v })}
              />
              {counts.size > 1 ? (
                <select
                  class="input"
                  style={{ inlineSize: 'auto' }}
                  aria-label={_('Site')}
                  value={site}
                  onChange={(e) => go({ site: e.currentTarget.value, at: '', z: '' })}
                >
                  {[...counts.keys()].map((id) => (
                    <option key={id} value={id}>
                      {String(sites.data?.find((s) => s.id === id)?.['name'] ?? _('Without a site'))}
                    </option>
                  ))}
                </select>
              ) : null}
              <select
                class="input"
                style={{ inlineSize: 'auto' }}
                aria-label={_('Level')}
                value={level}
                onChange={(e) => go({ z: e.currentTarget.value === 'all' ? '' : e.currentTarget.value })}
              >
                <option value="all">{_('All levels')}</option>
                {levels.map((z) => (
                  <option key={z} value={String(z)}>
                    {_('Height {z} m', { z: number(z, 1) })}
                  </option>
                ))}
              </select>
            </div>
          }
          actions={
            <>
              <input
                class="input"
                type="search"
                style={{ inlineSize: '118px' }}
                list="places"
                aria-label={_('Go to a place')}
                placeholder={_('Go to')}
                value={find}
                onInput={(e) => seek(e.currentTarget.value)}
              />
              <datalist id="places">
                {here.slice(0, 500).map((z) => (
                  <option key={z.id} value={z.code}>
                    {z.name}
                  </option>
                ))}
              </datalist>
            </>
          }
        >
          {!shown.length ? (
            <Empty
              title={_('No places here yet')}
              icon="map"
              action={<LinkButton href="/console/c/zones">{_('All places')}</LinkButton>}
            >
              {_('A place appears when it has coordinates, in metres from a corner of the site.')}
            </Empty>
          ) : table ? (
            <Ranked list={ranked} text={text} pick={(z) => go({ at: z.id })} />
          ) : (
            <Floor
              zones={shown}
              all={here}
              colour={colour}
              value={value}
              text={text}
              at={at?.id}
              pick={(z) => go({ at: z.id })}
            />
          )}
          <footer class="stack tight">
            {colour === 'use' && p.collections['stock_movements']?.read ? (
              <Days day={past} busy={since.isFetching} put={(day) => go({ day })} />
            ) : null}
            <div class={`scale ${colour}`} aria-label={_('Meaning of the colours')} role="group">
              {keys[colour].map(([c, meaning]) => (
                <span key={c}>
                  <i class={c} />
                  {_(meaning)}
                </span>
              ))}
            </div>
          </footer>
        </Card>
        <Card
          flush
          title={past ? _('{what} on {day}', { what: _(named[colour][1]), day: date(past) }) : _(named[colour][1])}
          actions={
            <>
              <span class="small muted">{_('{n} places', { n: number(shown.length) })}</span>{' '}
              {sums.map((of) => (
                <OfSeen key={of} p={p} of={of} />
              ))}
            </>
          }
        >
          <ul class="lines">
            {ranked.slice(0, 10).map((z) => (
              <li key={z.id}>
                <button type="button" class="link strong nobreak" onClick={() => go({ at: z.id })}>
                  {z.code}
                </button>
                <span class="grow">
                  {value(z) == null ? null : (
                    <Meter
                      value={colour === 'age' ? Math.min(100, (value(z) as number) / 1.8) : (value(z) as number)}
                      label={z.code}
                    />
                  )}
                </span>
                <span class="num nobreak" style={{ minInlineSize: '52px' }}>
                  {text(z)}
                </span>
              </li>
            ))}
          </ul>
        </Card>
      </div>
      {at ? (
        <Dialog
          kind="side-panel"
          title={at.code}
          close={() => go({ at: '' })}
          footer={
            <LinkButton kind="primary" href={`/console/c/zones/${at.id}`}>
              {_('Open the record')}
            </LinkButton>
          }
        >
          <div class="row">
            <Badge state={at.status} /> <span class="muted">{words(at.kind)}</span>
          </div>
          <p>{at.name}</p>
          {at.utilization != null ? (
            <div class="stack tight">
              <div class="row">
                <b>{percent(at.utilization)}</b>
                <span class="muted small push">
                  {_('{n} of {m} units', { n: number(at.load_units), m: number(at.max_capacity) })}
                </span>
              </div>
              <Meter value={at.utilization} label={_('Filled')} />
            </div>
          ) : null}
          {rest.data?.has(at.id) ? (
            <p>
              {plural(
                Math.round(rest.data.get(at.id) as number),
                'Something in it has not moved for {n} day',
                'Something in it has not moved for {n} days',
              )}
            </p>
          ) : null}
          {risk.has(at.id) ? <p>{_('Risk score {n} of 100', { n: number(risk.get(at.id) as number, 0) })}</p> : null}
          <h3>{_('What is in it')}</h3>
          {zoneCollection && catalog.get('stock_levels') && p.collections['stock_levels']?.read ? (
            <Children
              c={catalog.get('stock_levels') as never}
              column="zone_id"
              id={at.id}
              catalog={catalog}
              p={p}
              columns={['item_id', 'quantity', 'stock_status']}
            />
          ) : null}
          {catalog.get('incidents') && p.collections['incidents']?.read ? (
            <>
              <h3>{_('Incidents here')}</h3>
              <Children
                c={catalog.get('incidents') as never}
                column="zone_id"
                id={at.id}
                catalog={catalog}
                p={p}
                columns={['incident_no', 'severity', 'status']}
                limit={4}
              />
            </>
          ) : null}
        </Dialog>
      ) : null}
    </>
  );
}

// Days goes back in time: a day on a slider, worked out by the ledger.
function Days({ day, busy, put }: { day: string; busy: boolean; put: (day: string) => void }) {
  const [back, setBack] = useState(0);
  // Keys and drags come faster than pages are drawn: what is shown follows the
  // hand, and the day is asked for when the hand rests.
  const asked = useRef('');
  const rest = useRef(0);
  useEffect(() => {
    if (day !== asked.current || !day)
      setBack(
        day ? Math.min(daysBack, Math.max(1, Math.round((Date.parse(today(0)) - Date.parse(day)) / 86_400_000))) : 0,
      );
  }, [day]);
  const slide = (n: number) => {
    setBack(n);
    clearTimeout(rest.current);
    rest.current = window.setTimeout(() => put((asked.current = n ? today(n) : '')), 300);
  };
  const said = back ? _('Evening of {day}', { day: date(today(back)) }) : _('Now');
  return (
    <div class="row days" aria-busy={busy}>
      <label class="grow">
        <span class="sr">{_('Day')}</span>
        <input
          type="range"
          min={-daysBack}
          max={0}
          step={1}
          value={-back}
          aria-valuetext={said}
          onInput={(e) => slide(-e.currentTarget.valueAsNumber)}
        />
      </label>
      <output class="nobreak" aria-live="polite">
        {said}
      </output>
      <Button size="small" disabled={!back} onClick={() => put('')}>
        {_('Back to now')}
      </Button>
    </div>
  );
}

const cell = { w: 1.5, h: 2.2 };
// How many places without coordinates stand beside each other.
const inRow = 14;

const nowhere = { id: 'nowhere', code: 'Without coordinates' } as Zone;

// stood gives places without coordinates a stand below the others, in rows by
// their codes: on one point none could be seen or hit.
function stood(zones: Zone[]): { zones: Zone[]; bare: Set<string> } {
  const bare = zones
    .filter((z) => !z.x && !z.y)
    .sort((a, b) => a.code.localeCompare(b.code, undefined, { numeric: true }));
  if (bare.length < 5) return { zones, bare: new Set() };
  const at = new Map(bare.map((z, i) => [z.id, i]));
  const rest = zones.filter((z) => !at.has(z.id));
  const left = rest.length ? Math.min(...rest.map((z) => z.x)) : 0;
  const below = rest.length ? Math.max(...rest.map((z) => z.y)) + 3 : 0;
  const put = (z: Zone, i: number) => ({ ...z, x: left + (i % inRow), y: below + Math.floor(i / inRow) });
  return { zones: [...rest, ...bare.map(put)], bare: new Set(at.keys()) };
}

// PickPlace is the plan as a way to say where something was.
export function PickPlace({ at, pick }: { at: string; pick: (id: string) => void }) {
  const zones = useQuery({ queryKey: ['c', 'zones', 'all'], queryFn: all });
  const sites = useQuery({
    queryKey: ['c', 'sites', 'all'],
    queryFn: () => want(supabase.from('sites').select('id,name').order('name').limit(200)),
  });
  const [chosen, setChosen] = useState<string>();
  if (zones.isPending) return <Skeleton lines={4} />;
  if (zones.error) return <Problem error={zones.error} retry={() => void zones.refetch()} />;
  const counts = new Map<string, number>();
  for (const z of zones.data) counts.set(z.site_id ?? '', (counts.get(z.site_id ?? '') ?? 0) + 1);
  const site = chosen ?? [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? '';
  const here = zones.data.filter((z) => (z.site_id ?? '') === site);
  const label = (z: Zone) => `${z.code}, ${z.name}`;
  return (
    <Card
      flush
      title={words('plan')}
      actions={
        counts.size > 1 ? (
          <select
            class="input"
            style={{ inlineSize: 'auto' }}
            aria-label={_('Site')}
            value={site}
            onChange={(e) => setChosen(e.currentTarget.value)}
          >
            {[...counts.keys()].map((id) => (
              <option key={id} value={id}>
                {String(sites.data?.find((x) => x.id === id)?.['name'] ?? _('Without a site'))}
              </option>
            ))}
          </select>
        ) : null
      }
    >
      <Floor
        zones={here.filter((z) => holds.has(z.kind))}
        all={here}
        colour="use"
        value={() => null}
        text={label}
        label={label}
        at={at}
        pick={(z) => pick(z.id)}
      />
    </Card>
  );
}

interface FloorProps {
  zones: Zone[];
  all: Zone[];
  colour: Colour;
  value: (z: Zone) => number | null;
  text: (z: Zone) => string;
  label?: (z: Zone) => string; // what a place is called to who does not see its colour
  at?: string;
  pick: (z: Zone) => void;
}

// Floor draws the places from above, area by area; those that stand over each other share the width.
function Floor({ zones: given, all: here, colour, value, text, label, at, pick }: FloorProps) {
  const by = new Map(here.map((z) => [z.id, z]));
  const { zones, bare } = stood(given);
  const xs = drawn(
    zones.map((z) => z.x),
    cell.w,
    1.7,
  );
  const ys = drawn(
    zones.map((z) => z.y),
    cell.h,
    1.35,
  );
  const X = (z: Zone) => xs.get(z.x) as number;
  const Y = (z: Zone) => (ys.get(z.y) as number) * 1.25;
  const stacks = new Map<string, Zone[]>();
  for (const z of zones) stacks.set(`${X(z)} ${Y(z)}`, [...(stacks.get(`${X(z)} ${Y(z)}`) ?? []), z]);
  const areas = new Map<Zone, Zone[]>();
  for (const z of zones) {
    const a = bare.has(z.id) ? nowhere : areaOf(z, by);
    if (a) areas.set(a, [...(areas.get(a) ?? []), z]);
  }
  const width = Math.max(...xs.values()) + cell.w;
  const height = Math.max(...ys.values()) * 1.25 + cell.h;
  const keys = (e: KeyboardEvent, z: Zone) => {
    const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[e.key] as
      [number, number] | undefined;
    if (e.key === 'Enter' || e.key === ' ') pick(z);
    else if (!way) return;
    else {
      const near = (o: Zone) => {
        const dx = X(o) - X(z);
        const dy = Y(o) - Y(z);
        const ahead = dx * way[0] + dy * way[1];
        return ahead > 0.01 ? ahead + 2 * (Math.abs(dx * way[1]) + Math.abs(dy * way[0])) : Infinity;
      };
      const next = zones.reduce((best, o) => (near(o) < near(best) ? o : best), z);
      document.getElementById(`cell-${next.id}`)?.focus();
    }
    e.preventDefault();
  };
  const focus = at && zones.some((z) => z.id === at) ? at : zones[0]?.id;
  return (
    <Zoomed kind={`plan ${colour}`}>
      <svg
        viewBox={`-1.5 -2.6 ${width + 3} ${height + 4}`}
        role="group"
        aria-label={_('Plan of the floor; the arrow keys move from place to place')}
      >
        <defs>
          <pattern id="stripes" width="0.5" height="0.5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <path d="M0 0V0.500" stroke="var(--text)" stroke-width="0.22" />
          </pattern>
        </defs>
        {[...areas].map(([a, list]) => {
          const left = Math.min(...list.map(X));
          const top = Math.min(...list.map(Y));
          return (
            <text key={a.id} x={left} y={top - 0.5}>
              {a === nowhere ? _(a.code) : a.code}
            </text>
          );
        })}
        {[...stacks.values()].flatMap((stack) =>
          stack.map((z, i) => {
            const part = cell.w / stack.length;
            const v = value(z);
            const box = { x: X(z) + i * part, y: Y(z), width: part, height: cell.h, rx: 0.16 };
            const name = label?.(z) ?? `${z.code}, ${_(named[colour][0])} ${text(z)}`;
            return (
              <g key={z.id}>
                <rect
                  {...box}
                  id={`cell-${z.id}`}
                  class={`cell ${step(colour, v)} ${z.id === at ? 'at' : ''}`}
                  role="button"
                  tabindex={z.id === focus ? 0 : -1}
                  aria-label={name}
                  onClick={() => pick(z)}
                  onKeyDown={(e) => keys(e, z)}
                >
                  <title>{name}</title>
                </rect>
                {step(colour, v) === 'u4' || z.status === 'blocked' ? (
                  <rect {...box} fill="url(#stripes)" pointer-events="none" />
                ) : null}
              </g>
            );
          }),
        )}
      </svg>
    </Zoomed>
  );
}

// Ranked is the same as a table, for those who do not see the plan.
function Ranked({ list, text, pick }: { list: Zone[]; text: (z: Zone) => string; pick: (z: Zone) => void }) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label={_('Places')} style={{ maxBlockSize: '66vh' }}>
      <table>
        <thead>
          <tr>
            <th scope="col">{_('Place')}</th>
            <th scope="col">{_('Name')}</th>
            <th scope="col">{_('Kind')}</th>
            <th scope="col" class="num">
              X · Y · Z (m)
            </th>
            <th scope="col" class="num">
              {_('Value')}
            </th>
          </tr>
        </thead>
        <tbody>
          {list.map((z) => (
            <tr key={z.id}>
              <td>
                <button type="button" class="link" onClick={() => pick(z)}>
                  {z.code}
                </button>
              </td>
              <td>{z.name}</td>
              <td>{words(z.kind)}</td>
              <td class="num">{[z.x, z.y, z.z].map((n) => number(n, 1)).join(' · ')}</td>
              <td class="num">{text(z)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
