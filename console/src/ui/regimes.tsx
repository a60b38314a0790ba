import { api } from '../lib/client';
import { words, type Permissions } from '../lib/catalog';
import { date, number } from '../lib/format';
import { _, language } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { Card, Problem, Skeleton } from './basic';
import { Interval } from './interval';

interface Figure {
  code: string;
  name: string;
  status: string;
  value: number | null;
  low: number | null;
  high: number | null;
  count: number;
  denominator: string;
  exposure: number | null;
  citation: string;
}

export interface Regime {
  country: string;
  from: string;
  to: string;
  figures: Figure[];
}

const denominators: Record<string, () => string> = {
  hours_worked: () => _('Hours worked'),
  avg_employees: () => _('Employees on average'),
  full_time_equivalents: () => _('Full-time equivalents'),
  full_time_workers: () => _('Full-time workers'),
};

// describeBasis says what a figure stands on: what is divided, by what.
function describeBasis(f: Figure): string {
  const by = denominators[f.denominator]?.();
  return by ? `${number(f.count)} · ${by}: ${f.exposure == null ? '–' : number(f.exposure, 1)}` : '';
}

function nameCountry(country: string): string {
  return new Intl.DisplayNames([language.get()], { type: 'region' }).of(country) ?? country;
}

// Regimes are the figures of accidents that the country of an establishment counts, each with what it stands on.
export function Regimes({ site, year, p }: { site: string; year: number; p: Permissions }) {
  const may = p.functions['safety-rates'];
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['c', 'osha_cases', 'regimes', site, year],
    queryFn: () => api<{ regimes: Regime[] }>(`/functions/v1/safety-rates?site_id=${site}&year=${year}`),
    enabled: !!may,
  });
  if (!may) return null;
  if (error) return <Problem error={error} retry={() => void refetch()} />;
  if (isPending) return <Skeleton lines={5} />;
  return <RegimeCards regimes={data.regimes} />;
}

// RegimeCards are the figures of each country.
export function RegimeCards({ regimes }: { regimes: Regime[] }) {
  return (
    <>
      {regimes.map((r) => (
        <Card
          key={r.country}
          flush
          title={_('Figures as {country} counts them', { country: nameCountry(r.country) })}
          actions={<small class="muted">{`${date(r.from)} – ${date(r.to)}`}</small>}
        >
          <ul class="lines">
            {r.figures.map((f) => (
              <li key={f.code}>
                <span class="grow">
                  {f.name}
                  <br />
                  <small class="muted">{[describeBasis(f), f.citation].filter(Boolean).join(' · ')}</small>
                </span>
                <Interval value={f.value} low={f.low} high={f.high} />
                <b>{f.value == null ? words(f.status) : number(f.value, 2)}</b>
              </li>
            ))}
          </ul>
        </Card>
      ))}
    </>
  );
}
