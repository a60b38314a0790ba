import { invoke } from '../lib/client';
import { usePermissions, words, type Permissions } from '../lib/catalog';
import { ago, dateTime, number } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { formatView, type Condition } from '../lib/records';
import type { Answer } from '../database';
import { Badge, Card, Empty, Head, LinkButton, Meter, Problem, Skeleton } from '../ui/basic';
import { because, type Counted } from '../ui/because';
import { Interval } from '../ui/interval';
import { monthsOf, reportsHref, type Overview } from '../ui/overview';
import { Months } from '../ui/overview-months';
import { Waiting } from '../ui/overview-waiting';
import { RegimeCards, type Regime } from '../ui/regimes';
import { hrefOf } from '../ui/value';
import { Age } from './home';
import '../safety.css';
import '../overview.css';

// SafetyPage is the desk of whoever answers for safety: what waits for them, how the months went, and where it is worst.
export function SafetyPage() {
  const p = usePermissions();
  const q = useQuery({
    queryKey: ['c', 'incidents', 'overview'],
    queryFn: () => invoke('safety-overview'),
    enabled: !!p?.functions['safety-overview'],
    meta: { live: true },
  });
  if (!p) return <Skeleton lines={8} />;
  const o = q.data;
  return (
    <>
      <Head title={_('Safety overview')} sub={_('What waits for you, how the months went, and where it is worst.')}>
        <Age at={o?.timestamp} again={() => void q.refetch()} />
        {p.collections['incidents']?.create ? (
          <LinkButton kind="primary" icon="plus" href="/console/report">
            {_('Make a report')}
          </LinkButton>
        ) : null}
      </Head>
      {p.functions['safety-overview'] ? null : (
        <Empty title={_('This page is for those who lead')} icon="shield">
          {_('It counts what all have reported. Your own reports are under Incidents.')}
        </Empty>
      )}
      <Problem error={q.error} retry={() => void q.refetch()} />
      {o ? (
        <>
          <Waiting o={o} p={p} />
          <Months o={o} p={p} />
          <div class="halves">
            <Distribution title={_('Reports by kind')} field="kind" by={o.window.by_category} o={o} />
            <Distribution title={_('Reports by severity')} field="severity" by={o.window.by_severity} o={o} />
          </div>
          <Rates p={p} />
          <div class="halves">
            <Recent o={o} />
            <Riskiest o={o} p={p} />
          </div>
        </>
      ) : q.isPending && p.functions['safety-overview'] ? (
        <Skeleton lines={10} />
      ) : null}
    </>
  );
}

interface DistributionProps {
  title: string;
  field: string;
  by: Record<string, number>;
  o: Overview;
}

const severities = ['critical', 'high', 'medium', 'low'];

// Distribution is what the reports of the window were about.
function Distribution({ title, field, by, o }: DistributionProps) {
  const all = Object.entries(by).sort((x, y) =>
    field === 'severity'
      ? severities.indexOf(x[0]) - severities.indexOf(y[0])
      : y[1] - x[1] || x[0].localeCompare(y[0]),
  );
  const sum = o.window.reports;
  return (
    <Card flush title={title} actions={<small class="muted">{monthsOf(o)}</small>}>
      {sum ? (
        <ul class="lines">
          {all.map(([value, n]) => (
            <li key={value}>
              <a class="grow" href={reportsHref(o.window, [field, 'eq', value])}>
                {words(value)}
              </a>
              <span class="share">
                <Meter value={(100 * n) / sum} warn={1000} bad={1000} label={words(value)} />
              </span>
              <span class="num">{number(n)}</span>
            </li>
          ))}
        </ul>
      ) : (
        <p class="body muted">{_('Nothing was reported, which does not say that nothing happened.')}</p>
      )}
    </Card>
  );
}

type RatesAnswer = Answer<'safety-rates'>;

// Rates are those of the year so far, and what the countries of the sites count, each with the interval that so few cases leave.
function Rates({ p }: { p: Permissions }) {
  const q = useQuery({
    queryKey: ['c', 'osha_cases', 'rates'],
    queryFn: () => invoke('safety-rates'),
    enabled: !!p.functions['safety-rates'],
    meta: { live: true },
  });
  if (!p.functions['safety-rates']) return null;
  if (q.error) return <Problem error={q.error} retry={() => void q.refetch()} />;
  if (!q.data) return <Skeleton lines={4} />;
  return (
    <section class="stack tight" aria-label={_('Rates')}>
      <h2>{_('Rates of {year} so far', { year: String(q.data.year) })}</h2>
      <div class="halves rates">
        <OwnRates r={q.data} p={p} />
        <div class="stack">
          <RegimeCards regimes={q.data.regimes as unknown as Regime[]} />
        </div>
      </div>
    </section>
  );
}

function OwnRates({ r, p }: { r: RatesAnswer; p: Permissions }) {
  const c = r.cases;
  const ofYear: Condition[] = [
    ['recordable', 'eq', 'yes'],
    ['year', 'eq', String(r.year)],
  ];
  const casesHref = (...more: Condition[]) =>
    p.collections['osha_cases']?.read
      ? `/console/c/osha_cases${formatView({ conditions: [...ofYear, ...more] })}`
      : undefined;
  const list = [
    {
      name: _('TRIR, recordable cases per 200,000 hours'),
      rate: r.trir,
      n: c.deaths + c.days_away + c.restricted + c.other,
      href: casesHref(),
    },
    {
      name: _('DART, with days away, restricted or transferred, per 200,000 hours'),
      rate: r.dart,
      n: c.days_away + c.restricted,
      href: casesHref(['outcome', 'in', '(days_away,restricted)']),
    },
    {
      name: _('LTIFR, injuries with lost time per million hours'),
      rate: r.ltifr,
      n: c.lost_time_injuries,
      href: casesHref(['outcome', 'in', '(death,days_away)'], ['illness_type', 'eq', 'injury']),
    },
  ];
  return (
    <Card flush title={_('All sites')} actions={<small class="muted">{_('with their 90 % intervals')}</small>}>
      <ul class="lines">
        {list.map(({ name, rate, n, href }) => (
          <li key={name}>
            <span class="grow">
              {name}
              <small class="muted block">
                {href ? <a href={href}>{plural(n, '{n} case', '{n} cases')}</a> : plural(n, '{n} case', '{n} cases')}
                {' · '}
                {r.hours_worked ? _('{n} hours worked', { n: number(r.hours_worked, 0) }) : _('no hours on record')}
              </small>
            </span>
            <Interval {...rate} />
            <span class="value">{rate.value == null ? _('not known') : number(rate.value)}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

// Recent are the reports that came last, as far as the reader may see them.
function Recent({ o }: { o: Overview }) {
  return (
    <Card
      flush
      title={_('Last reports')}
      actions={<a href={reportsHref(o.window)}>{_('All {n}', { n: number(o.window.reports) })}</a>}
    >
      {o.recent_incidents.length ? (
        <ul class="lines">
          {o.recent_incidents.map((i) => (
            <li key={i.id}>
              <a class="grow" href={hrefOf('incidents', i.id)}>
                {String(i.title)}
                <span class="small muted block">
                  {String(i.incident_no)} · {words(String(i.kind))} · {ago(i.reported_at)}
                </span>
              </a>
              <Badge state={i.severity} />
            </li>
          ))}
        </ul>
      ) : (
        <p class="body muted">{_('Nothing was reported, which does not say that nothing happened.')}</p>
      )}
    </Card>
  );
}

// Riskiest are the places and machines with the highest official scores, each with the sentence why; no people.
function Riskiest({ o, p }: { o: Overview; p: Permissions }) {
  const leads = p.functions['calculate-predictive-safety-scores'];
  const at = o.riskiest[0]?.computed_at;
  return (
    <Card
      flush
      title={_('Riskiest places and machines')}
      actions={
        at ? (
          <small class="muted" title={dateTime(at)}>
            {_('as of {when}', { when: ago(at) })}
          </small>
        ) : undefined
      }
      footer={leads && o.riskiest.length ? <a href="/console/risk">{_('The whole ranking')}</a> : undefined}
    >
      {o.riskiest.length ? (
        <ol class="ranking">
          {o.riskiest.map((s, i) => (
            <li key={s.entity_id}>
              <span class="muted">{number(i + 1)}</span>
              <a
                class="strong"
                href={
                  leads
                    ? `/console/risk/${s.entity_type}/${s.entity_id}`
                    : hrefOf(s.entity_type === 'zone' ? 'zones' : 'equipment', s.entity_id)
                }
              >
                {[s.code, s.name].filter(Boolean).join(' · ')}
              </a>
              <span class="score">{number(s.score, 1)}</span>
              <Badge state={s.cluster.toLowerCase()}>{words(s.cluster)}</Badge>
              <span class="wide small muted">{because(s.inputs as unknown as Counted)}</span>
            </li>
          ))}
        </ol>
      ) : (
        <p class="body muted">
          {_(
            'No place or machine has a score: a score needs reports or shifts on record. That does not say that all are safe.',
          )}
        </p>
      )}
    </Card>
  );
}
