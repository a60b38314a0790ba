import { usePermissions } from '../lib/catalog';
import { date, number } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { done, useTrips, type Trip } from '../lib/trip';
import { Badge, Card, Empty, Head, LinkButton, Meter, Problem, Skeleton } from '../ui/basic';
import { OfSeen } from '../ui/seen';

// TripsPage lists the routes that are out or to come, and the last that came back.
export function TripsPage() {
  const p = usePermissions();
  const ahead = useTrips(['planned', 'started'], 200);
  const over = useTrips(['finished'], 20);
  if (!p || ahead.isPending) return <Skeleton lines={8} />;
  const list = ahead.data ?? [];
  const out = list.filter((t) => t.status === 'started');
  const planned = list.filter((t) => t.status === 'planned');
  const past = over.data ?? [];
  return (
    <>
      <Head
        title={_('Routes')}
        sub={_('{n} on the road, {m} planned', { n: number(out.length), m: number(planned.length) })}
      >
        {p.verbs?.['plan_route'] ? (
          <LinkButton icon="plus" kind="primary" href="/console/shipments?choose=1">
            {_('Plan a route')}
          </LinkButton>
        ) : null}
        <LinkButton icon="list" href="/console/c/routes">
          {_('All routes')}
        </LinkButton>
      </Head>
      <OfSeen p={p} of="routes" />
      <Problem error={ahead.error ?? over.error} retry={() => void Promise.all([ahead.refetch(), over.refetch()])} />
      {!list.length && !ahead.error ? (
        <Empty title={_('No route is planned')} icon="truck">
          {p.verbs?.['plan_route'] ? _('Choose shipments on the board, and their stops are put in a short order.') : ''}
        </Empty>
      ) : null}
      <Lines title={_('On the road')} list={out} />
      <Lines title={_('Planned')} list={planned} />
      <Lines title={_('Came back')} list={past} />
    </>
  );
}

function Lines({ title, list }: { title: string; list: Trip[] }) {
  if (!list.length) return null;
  return (
    <Card flush title={title} actions={<span class="muted">{number(list.length)}</span>}>
      <ul class="lines trips">
        {list.map((t) => (
          <li key={t.id}>
            <a class="strong nobreak" href={`/console/routes/${t.id}`}>
              {t.route_no}
            </a>
            <span class="grow">
              {t.driver?.worker?.name ?? _('Driver')}
              <span class="muted"> · {t.vehicle?.plate ?? '–'}</span>
            </span>
            <span class="muted nobreak">{date(t.date)}</span>
            <span class="way-done">
              <span class="small nobreak">
                {plural(t.stops.length, '{n} of {m} stop done', '{n} of {m} stops done', {
                  n: number(done(t)),
                  m: number(t.stops.length),
                })}
              </span>
              <Meter
                value={t.stops.length ? (done(t) / t.stops.length) * 100 : 0}
                warn={1000}
                bad={1000}
                label={_('Stops done: {no}', { no: t.route_no })}
              />
            </span>
            <Badge state={t.status} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
