import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { download, supabase, want } from '../lib/client';
import { usePermissions, words, type Permissions } from '../lib/catalog';
import { date, number } from '../lib/format';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { today } from '../lib/zone';
import type { Row } from '../database';
import { Badge, Button, Card, Empty, Head, LinkButton, Note, Problem, Skeleton } from '../ui/basic';
import { Select } from '../ui/form';
import { Regimes } from '../ui/regimes';
import { hrefOf } from '../ui/value';
import '../safety.css';

// The log of a year is kept for the five years that follow it (29 CFR 1904.33(a)).
const yearsKept = 5;

// InjuryLog is the log of work-related injuries of an establishment and a year, with what is certified, posted and sent of it.
export function InjuryLog() {
  const p = usePermissions();
  const { query, route } = useLocation();
  const sites = useQuery({
    queryKey: ['c', 'sites', 'log'],
    queryFn: () => want(supabase.from('sites').select('id,code,name,country').is('archived_at', null).order('code')),
  });
  if (!p || sites.isPending) return <Skeleton lines={8} />;
  const site = sites.data?.find((s) => s.id === query['site']) ?? sites.data?.[0];
  const now = Number(today().slice(0, 4));
  const year = Number(query['year']) || now;
  const years = Array.from({ length: yearsKept + 1 }, (_unused, n) => now - n);
  const go = (next: Record<string, string>) =>
    route(`/console/injuries?${new URLSearchParams({ site: site?.id ?? '', year: String(year), ...next })}`, true);
  return (
    <>
      <Head
        title={_('Injury log')}
        sub={_('Injuries and illnesses from work, by establishment and year, with the papers that the law asks for.')}
      />
      <Problem error={sites.error} retry={() => void sites.refetch()} />
      {site ? (
        <>
          <div class="row">
            <Select
              label={_('Establishment')}
              value={site.id}
              put={(v) => go({ site: v })}
              options={(sites.data ?? []).map((s): [string, string] => [s.id, `${s.code} ${s.name}`])}
            />
            <Select
              label={_('Year')}
              value={String(year)}
              put={(v) => go({ year: v })}
              options={years.map((y): [string, string] => [String(y), String(y)])}
            />
          </div>
          {site['country'] === 'US' ? (
            <American key={`${site.id} ${year}`} site={site} year={year} p={p} />
          ) : (
            <European key={`${site.id} ${year}`} site={site} year={year} p={p} />
          )}
        </>
      ) : (
        <Empty title={_('There is no establishment yet')} icon="shield" />
      )}
    </>
  );
}

interface Given {
  site: Row;
  year: number;
}

function American({ site, year, p }: Given & { p: Permissions }) {
  const names = p.collections['osha_cases']?.read != null;
  const summaries = useQuery({
    queryKey: ['c', 'osha_summaries', site.id, year],
    queryFn: () => want(supabase.from('osha_summaries').select('*').eq('site_id', site.id).eq('year', year)),
  });
  const cases = useQuery({
    queryKey: ['c', 'osha_cases', site.id, year],
    queryFn: () =>
      want(
        supabase
          .from('osha_cases')
          .select(
            'id,case_no,employee_name,job_title,outcome,recordable,days_away,days_restricted,incident_id,incidents(occurred_at,title)',
          )
          .eq('site_id', site.id)
          .eq('year', year)
          .order('case_no'),
      ),
    enabled: names,
  });
  const summary = summaries.data?.[0];
  const of = `site_id=${site.id}&year=${year}`;
  return (
    <div class="split">
      <div class="stack">
        <Card flush title={_('Cases')}>
          <Problem error={cases.error} retry={() => void cases.refetch()} />
          {!names ? (
            <div class="body">
              <Note>
                {_('Single cases are read by the safety officer and administrators. The summary shows their totals.')}
              </Note>
            </div>
          ) : cases.isPending ? (
            <div class="body">
              <Skeleton lines={4} />
            </div>
          ) : cases.data?.length ? (
            <Cases list={cases.data} />
          ) : (
            <Empty title={_('No case in {year}', { year: String(year) })} icon="check">
              {_('A case begins at its incident: whether it is recorded is decided there.')}
            </Empty>
          )}
        </Card>
      </div>
      <div class="stack">
        <Summary
          site={site}
          year={year}
          summary={summary}
          p={p}
          pending={summaries.isPending}
          error={summaries.error}
        />
        <Papers
          list={[
            ...(names
              ? [
                  {
                    says: _('Form 300, the log'),
                    path: `/v1/osha/300.pdf?${of}`,
                    file: `osha-300-${site['code']}-${year}.pdf`,
                  },
                  {
                    says: _('Form 300 without names'),
                    path: `/v1/osha/300.pdf?${of}&redact=true`,
                    file: `osha-300-${site['code']}-${year}-redacted.pdf`,
                  },
                  {
                    says: _('Forms 301, one for each case'),
                    path: `/v1/osha/301.pdf?${of}`,
                    file: `osha-301-${site['code']}-${year}.pdf`,
                  },
                ]
              : []),
            {
              says: _('Form 300A, the summary'),
              path: `/v1/osha/300a.pdf?${of}`,
              file: `osha-300a-${site['code']}-${year}.pdf`,
            },
            {
              says: _('300A for the Injury Tracking Application'),
              path: `/v1/osha/ita-300a.csv?${of}`,
              file: `ita-300a-${site['code']}-${year}.csv`,
            },
            ...(names
              ? [
                  {
                    says: _('Cases for the Injury Tracking Application'),
                    path: `/v1/osha/ita-cases.csv?${of}`,
                    file: `ita-cases-${site['code']}-${year}.csv`,
                  },
                ]
              : []),
          ]}
        />
      </div>
    </div>
  );
}

function Cases({ list }: { list: Row[] }) {
  return (
    <div class="table stacks" tabIndex={0} role="region" aria-label={_('Cases')}>
      <table>
        <thead>
          <tr>
            <th scope="col">{_('Case')}</th>
            <th scope="col">{_('Day')}</th>
            <th scope="col">{_('Outcome')}</th>
            <th scope="col" class="num">
              {_('Days away')}
            </th>
            <th scope="col" class="num">
              {_('Days restricted')}
            </th>
          </tr>
        </thead>
        <tbody>
          {list.map((c) => {
            const incident = c['incidents'] as { occurred_at?: string; title?: string } | null;
            return (
              <tr key={c.id}>
                <td data-label={_('Case')}>
                  <a class="strong" href={hrefOf('osha_cases', c.id)}>
                    {[c['case_no'], c['employee_name'] ?? _('Privacy case')].filter((x) => x != null).join(' · ')}
                  </a>
                  <div class="small muted">{incident?.title}</div>
                </td>
                <td data-label={_('Day')}>{date(incident?.occurred_at)}</td>
                <td data-label={_('Outcome')}>
                  {c['recordable'] === 'yes' ? (
                    words(String(c['outcome'] ?? ''))
                  ) : (
                    <Badge state={c['recordable'] === 'no' ? 'void' : 'open'}>
                      {c['recordable'] === 'no' ? _('not recordable') : _('to be decided')}
                    </Badge>
                  )}
                </td>
                <td class="num" data-label={_('Days away')}>
                  {number(Number(c['days_away']))}
                </td>
                <td class="num" data-label={_('Days restricted')}>
                  {number(Number(c['days_restricted']))}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

// Summary is what stands of the year: its totals, and what is still to be done with them.
function Summary({
  site,
  year,
  summary,
  p,
  pending,
  error,
}: Given & { summary?: Row; p: Permissions; pending: boolean; error: unknown }) {
  if (pending) return <Skeleton lines={4} />;
  if (error) return <Problem error={error} />;
  if (!summary)
    return (
      <Card title={_('Summary of {year}', { year: String(year) })}>
        <Empty
          title={_('There is no summary yet')}
          icon="file"
          action={
            p.collections['osha_summaries']?.create ? (
              <LinkButton kind="primary" href={`/console/c/osha_summaries/new?site_id=${site.id}&year=${year}`}>
                {_('Make the summary')}
              </LinkButton>
            ) : undefined
          }
        >
          {_('It is certified, posted from 1 February to 30 April, and sent by 2 March of the year that follows.')}
        </Empty>
      </Card>
    );
  const n = (field: string) => number(Number(summary[field]));
  const totals: [string, string][] = [
    [_('Deaths'), n('total_deaths')],
    [_('Cases with days away'), n('total_dafw_cases')],
    [_('Cases with restriction or transfer'), n('total_djtr_cases')],
    [_('Other recordable cases'), n('total_other_cases')],
    [_('Days away'), n('total_dafw_days')],
    [_('Days restricted'), n('total_djtr_days')],
    [_('Hours worked'), n('hours_worked')],
    [_('Employees on average'), n('avg_employees')],
  ];
  return (
    <Card
      title={_('Summary of {year}', { year: String(year) })}
      actions={<Badge state={summary['status']} />}
      footer={
        <a href={hrefOf('osha_summaries', summary.id)}>
          {summary['status'] === 'open' ? _('Complete and certify') : _('Open the summary')}
        </a>
      }
    >
      <dl class="facts">
        {totals.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {summary['doubt'] ? <Note kind="warn">{String(summary['doubt'])}</Note> : null}
    </Card>
  );
}

function European({ site, year, p }: Given & { p: Permissions }) {
  const of = `site_id=${site.id}&year=${year}`;
  return (
    <div class="stack">
      <Note>
        {_(
          'OSHA’s forms are for establishments in the United States. Here the law counts accidents by the days of absence that follow.',
        )}
      </Note>
      <Regimes site={site.id} year={year} p={p} />
      {p.collections['osha_cases']?.read != null ? (
        <Papers
          list={[
            {
              says: _('Accidents with more than three days of absence'),
              path: `/v1/eu/accidents.csv?${of}`,
              file: `accidents-${site['code']}-${year}.csv`,
            },
            {
              says: _('Accidents for ESAW, without names'),
              path: `/v1/eu/esaw.csv?${of}`,
              file: `esaw-${site['code']}-${year}.csv`,
            },
          ]}
        />
      ) : (
        <Note>{_('The safety officer and administrators have the papers: they are made of single cases.')}</Note>
      )}
    </div>
  );
}

interface Paper {
  says: string;
  path: string;
  file: string;
}

const kindOf = (paper: Paper) => (paper.file.endsWith('.csv') ? 'CSV' : 'PDF');

// Papers are files to print or send. What keeps one from being made stands beside it, rule by rule.
function Papers({ list }: { list: Paper[] }) {
  const [busy, setBusy] = useState('');
  const [refused, setRefused] = useState<{ path: string; error: unknown }>();
  const fetchPaper = async (paper: Paper) => {
    setBusy(paper.path);
    setRefused(undefined);
    await download(paper.path, paper.file)
      .catch((error: unknown) => setRefused({ path: paper.path, error }))
      .finally(() => setBusy(''));
  };
  return (
    <Card flush title={_('Papers')}>
      <ul class="lines">
        {list.map((paper) => (
          <li key={paper.path} style={{ flexWrap: 'wrap' }}>
            <span class="grow">{paper.says}</span>
            <Button
              size="small"
              icon="file"
              busy={busy === paper.path}
              aria-label={`${kindOf(paper)}: ${paper.says}`}
              onClick={() => void fetchPaper(paper)}
            >
              {kindOf(paper)}
            </Button>
            {refused?.path === paper.path ? (
              <div style={{ inlineSize: '100%' }}>
                <Problem error={refused.error} />
              </div>
            ) : null}
          </li>
        ))}
      </ul>
    </Card>
  );
}
