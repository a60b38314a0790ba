import { useRoute } from 'preact-iso';
import { useState } from 'preact/hooks';
import { rpc, serverNow, supabase, want } from '../lib/client';
import { usePermissions, words, type Permissions } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { date, dateTime, number } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { changed, done, next, useTrip, type Stop, type Trip } from '../lib/trip';
import type { Place } from '../lib/plane';
import { Badge, Button, Card, Empty, Head, LinkButton, Meter, Note, Problem, Skeleton } from '../ui/basic';
import { Ask } from '../ui/dialog';
import { NumberInput } from '../ui/number';
import { fail, toast } from '../ui/overlay';
import { Outcome } from '../ui/stop';
import { TripMap } from '../ui/trip-map';
import { hrefOf } from '../ui/value';
import '../floor.css';
import '../board.css';

const km = (n: number | string | null | undefined) => (n == null ? '–' : `${number(Number(n), 1)} km`);
const nameOf = (x: Place | null) => x?.name ?? x?.city ?? '–';
const addressOf = (x: Place | null) => (x?.name ? [x.postal_code, x.city].filter(Boolean).join(' ') : '');

interface Behind {
  no: string;
  reasons: string[];
}

// TripPage is a route: for its driver the next stop first, for everybody the stops in their order.
export function TripPage() {
  const { params } = useRoute();
  const p = usePermissions();
  const q = useTrip(params['id'] as string);
  const [chosen, setChosen] = useState('');
  const [behind, setBehind] = useState<Behind[]>([]);
  const [warnings, setWarnings] = useState<string[]>([]);
  if (q.isPending || !p) return <Skeleton lines={8} />;
  if (q.error) return <Problem error={q.error} retry={() => void q.refetch()} />;
  const t = q.data;
  if (!t)
    return (
      <Empty
        title={_('This route is not there')}
        icon="truck"
        action={<LinkButton href="/console/routes">{_('Routes')}</LinkButton>}
      >
        {_('It may have been deleted, or your role does not see it.')}
      </Empty>
    );
  const at = t.stops.find((s) => s.id === chosen && s.status === 'in_transit') ?? next(t);
  return (
    <>
      <Head
        crumbs={[[_('Routes'), '/console/routes']]}
        title={
          <span class="row">
            {t.route_no} <Badge state={t.status} />
          </span>
        }
        sub={`${date(t.date)} · ${t.driver?.worker?.name ?? _('Driver')} · ${t.vehicle?.plate ?? '–'}`}
      >
        <Verbs
          t={t}
          p={p}
          open={!!next(t)}
          began={(b, w) => {
            setBehind(b);
            setWarnings(w);
          }}
        />
      </Head>
      {warnings.map((w) => (
        <Note key={w} kind="warn">
          {w}
        </Note>
      ))}
      {behind.length ? (
        <Note kind="warn">
          <b>
            {plural(
              behind.length,
              '{n} shipment stayed behind and is off the route',
              '{n} shipments stayed behind and are off the route',
            )}
          </b>
          <ul>
            {behind.map((b) => (
              <li key={b.no}>
                {b.no}: {b.reasons.join(', ')}
              </li>
            ))}
          </ul>
        </Note>
      ) : null}
      <div class="split">
        <div class="stack">
          {t.status === 'started' && at ? <Now key={at.id} s={at} p={p} /> : null}
          {t.status === 'started' && !at ? (
            <Note kind="good">{_('Every stop is done. Finish the route when the vehicle is back.')}</Note>
          ) : null}
          <Stops t={t} at={at?.id} go={setChosen} />
          <Way t={t} at={t.status === 'started' ? at?.id : undefined} />
        </div>
        <Facts t={t} />
      </div>
    </>
  );
}

// Now is the stop at hand, with what a driver says there.
function Now({ s, p }: { s: Stop; p: Permissions }) {
  const [busy, setBusy] = useState(false);
  const arrive = async () => {
    setBusy(true);
    try {
      await want(
        supabase
          .from('shipments')
          .update({ arrived_at: serverNow().toISOString() })
          .eq('id', s.id)
          .select('id')
          .single(),
      );
      changed();
    } catch (e) {
      fail(e);
    } finally {
      setBusy(false);
    }
  };
  const fields = p.collections['shipments']?.update?.fields;
  const may = !!p.collections['shipments']?.update && (!fields || fields.includes('arrived_at'));
  return (
    <section class="task now" aria-label={_('Next stop')}>
      <div>
        <span class="what">
          {_('Next stop')}
          {s.stop_seq ? ` · ${number(s.stop_seq)}` : ''}
        </span>
        <span class="large">{nameOf(s.destination)}</span>
        <span>{addressOf(s.destination)}</span>
        <a class="small" href={hrefOf('shipments', s.id)}>
          {s.shipment_no}
        </a>
      </div>
      <div>
        {s.arrived_at ? (
          <span class="small muted">{_('Arrived {when}', { when: dateTime(s.arrived_at) })}</span>
        ) : may && s.status === 'in_transit' ? (
          <Button size="big" icon="map" busy={busy} onClick={() => void arrive()}>
            {_('I am there')}
          </Button>
        ) : null}
        <Outcome s={s} p={p} size="big" />
      </div>
    </section>
  );
}

function Stops({ t, at, go }: { t: Trip; at?: string; go: (id: string) => void }) {
  return (
    <Card
      flush
      title={_('Stops')}
      actions={
        <span class="muted small nobreak">
          {plural(t.stops.length, '{n} of {m} stop done', '{n} of {m} stops done', {
            n: number(done(t)),
            m: number(t.stops.length),
          })}
        </span>
      }
    >
      {t.stops.length ? (
        <ol class="lines stops">
          {t.stops.map((s) => (
            <li key={s.id} aria-current={t.status === 'started' && s.id === at ? 'step' : undefined}>
              <b class="num">{s.stop_seq ?? '–'}</b>
              <span class="grow">
                <span class="strong">{nameOf(s.destination)}</span>
                {addressOf(s.destination) ? <span class="muted"> · {addressOf(s.destination)}</span> : null}
                <br />
                <a class="small nobreak" href={hrefOf('shipments', s.id)}>
                  {s.shipment_no}
                </a>
                {s.exception_code ? <span class="small down"> · {words(s.exception_code.toLowerCase())}</span> : null}
                {(s.completed_at ?? s.arrived_at) ? (
                  <span class="small muted nobreak"> · {dateTime(s.completed_at ?? s.arrived_at)}</span>
                ) : null}
              </span>
              {t.status === 'started' && s.status === 'in_transit' && s.id !== at ? (
                <Button
                  size="small"
                  kind="quiet"
                  aria-label={_('Go there next: {place}', { place: nameOf(s.destination) })}
                  onClick={() => go(s.id)}
                >
                  {_('Go there next')}
                </Button>
              ) : null}
              <Badge state={s.status} />
            </li>
          ))}
        </ol>
      ) : (
        <Empty title={_('The route has no stops')} icon="truck">
          {t.status === 'cancelled' ? _('It was cancelled; its shipments can go on another route.') : ''}
        </Empty>
      )}
    </Card>
  );
}

function Way({ t, at }: { t: Trip; at?: string }) {
  const map = TripMap({ t, at });
  return map ? (
    <Card flush title={_('The way')}>
      {map}
    </Card>
  ) : null;
}

function Facts({ t }: { t: Trip }) {
  const facts: [string, string][] = [
    [_('Driver'), t.driver?.worker?.name ?? '–'],
    [_('Vehicle'), t.vehicle?.plate ?? '–'],
    [_('Planned, as the crow flies'), km(t.planned_km)],
    [_('Odometer at the start'), km(t.odometer_start_km)],
    ...(t.status === 'planned' || t.status === 'cancelled'
      ? []
      : [[_('Started'), t.started_at ? dateTime(t.started_at) : '–'] as [string, string]]),
    ...(t.status === 'finished'
      ? ([
          [_('Odometer at the end'), km(t.odometer_end_km)],
          [_('Driven'), km(t.distance_km)],
          [_('Finished'), t.finished_at ? dateTime(t.finished_at) : '–'],
          [
            _('At the wheel'),
            t.driving_min == null ? _('all of the time') : _('{n} min', { n: number(t.driving_min) }),
          ],
        ] as [string, string][])
      : []),
  ];
  return (
    <Card title={_('Trip')} actions={<a href={hrefOf('routes', t.id)}>{_('Open the record')}</a>}>
      <div class="stack">
        <Meter
          value={t.stops.length ? (done(t) / t.stops.length) * 100 : 0}
          warn={1000}
          bad={1000}
          label={_('Stops done: {no}', { no: t.route_no })}
        />
        <dl class="facts">
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </div>
    </Card>
  );
}

// Verbs are what can be done with the route as a whole.
function Verbs({
  t,
  p,
  open,
  began,
}: {
  t: Trip;
  p: Permissions;
  open: boolean;
  began: (behind: Behind[], warnings: string[]) => void;
}) {
  const [asking, setAsking] = useState<'start' | 'finish' | 'cancel' | null>(null);
  const may = (v: string) => p.verbs?.[v] === true;
  const cancels = p.collections['routes']?.moves?.some((m) => m.to === 'cancelled' && m.from.includes(t.status));
  return (
    <>
      {t.status === 'planned' && may('start_route') && t.stops.length ? (
        <Button kind="primary" icon="truck" onClick={() => setAsking('start')}>
          {_('Start the route')}
        </Button>
      ) : null}
      {t.status === 'started' && may('finish_route') ? (
        <Button kind={open ? undefined : 'primary'} icon="check" onClick={() => setAsking('finish')}>
          {_('Finish the route')}
        </Button>
      ) : null}
      {cancels ? (
        <Button kind="danger" onClick={() => setAsking('cancel')}>
          {_('Cancel the route')}
        </Button>
      ) : null}
      {asking === 'start' ? <Start t={t} began={began} close={() => setAsking(null)} /> : null}
      {asking === 'finish' ? <Finish t={t} close={() => setAsking(null)} /> : null}
      {asking === 'cancel' ? (
        <Ask
          danger
          title={_('Cancel {no}?', { no: t.route_no })}
          text={_('Its shipments can go on another route then.')}
          yes={_('Cancel the route')}
          close={() => setAsking(null)}
          act={async () => {
            await want(
              supabase
                .from('routes')
                .update({ status: 'cancelled' })
                .eq('id', t.id)
                .setHeader('If-Match', `"${t.version}"`)
                .select('id')
                .single(),
            );
            changed();
          }}
        />
      ) : null}
    </>
  );
}

function Odometer({ last, reading, put }: { last?: number | null; reading: string; put: (v: string) => void }) {
  const help = last == null ? undefined : _('It showed {km} last.', { km: km(last) });
  return (
    <NumberInput
      label={_('What does the odometer show?')}
      help={help}
      unit="km"
      value={reading}
      put={put}
      required
      autofocus
    />
  );
}

function Start({
  t,
  began,
  close,
}: {
  t: Trip;
  began: (behind: Behind[], warnings: string[]) => void;
  close: () => void;
}) {
  const draft = useDraft(`start_route ${t.id}`);
  const [reading, setReading] = draft.field('reading', '');
  return (
    <Ask
      title={_('Start {no} with {plate}', { no: t.route_no, plate: t.vehicle?.plate ?? '–' })}
      text={_('Shipments that may not leave come off the route.')}
      yes={_('Start the route')}
      close={close}
      draft={draft}
      act={async () => {
        const r = await rpc<{
          shipments: { ok: boolean; reasons: string[]; shipment: { shipment_no: string } }[];
          warnings: string[];
        }>('start_route', { route_id: t.id, vehicle_id: t.vehicle?.id ?? '', odometer_km: Number(reading) });
        began(
          r.shipments.filter((x) => !x.ok).map((x) => ({ no: x.shipment.shipment_no, reasons: x.reasons })),
          r.warnings,
        );
        toast(_('{no} is on its way', { no: t.route_no }));
        changed();
      }}
    >
      <Odometer last={t.vehicle?.odometer_km} reading={reading} put={setReading} />
    </Ask>
  );
}

function Finish({ t, close }: { t: Trip; close: () => void }) {
  const draft = useDraft(`finish_route ${t.id}`);
  const [reading, setReading] = draft.field('reading', '');
  const [minutes, setMinutes] = draft.field('minutes', '');
  return (
    <Ask
      title={_('Finish {no}', { no: t.route_no })}
      yes={_('Finish the route')}
      close={close}
      draft={draft}
      act={async () => {
        await rpc('finish_route', {
          route_id: t.id,
          odometer_km: Number(reading),
          driving_min: minutes ? Number(minutes) : undefined,
        });
        toast(_('{no} is finished', { no: t.route_no }));
        changed();
      }}
    >
      <Odometer last={t.odometer_start_km} reading={reading} put={setReading} />
      <NumberInput
        label={_('Time at the wheel')}
        help={_('Leave it empty when it was all of the time.')}
        unit="min"
        value={minutes}
        put={setMinutes}
      />
    </Ask>
  );
}
