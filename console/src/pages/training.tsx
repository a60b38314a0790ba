import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { invoke, records, supabase, want } from '../lib/client';
import { usePermissions, type Permissions } from '../lib/catalog';
import { date } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { useNarrow } from '../lib/narrow';
import { useQuery } from '../lib/query';
import { Button, Card, Empty, Head, LinkButton, Note, Problem, Segments, Skeleton } from '../ui/basic';
import { Select } from '../ui/form';
import { keyOf, placesOf, type Matrix, type Place } from '../ui/training';
import { Assign, canAssign, Certify, isAssignable, Waive } from '../ui/training-actions';
import { TrainingCell, type Step } from '../ui/training-cell';
import { TrainingGrid } from '../ui/training-grid';
import { TrainingList } from '../ui/training-list';
import { TrainingRun } from '../ui/training-run';
import '../board.css';
import '../training.css';

const asked = ['only', 'site_id', 'job_title', 'course_id', 'worker_id', 'after'] as const;
type Asked = Partial<Record<(typeof asked)[number], string>>;

const queryOf = (a: Asked) => new URLSearchParams(Object.entries(a).filter(([, v]) => v)).toString();

// keepOffered keeps of what was chosen what the matrix still offers, as it stands now: new data may show that somebody
// else has assigned it since.
function keepOffered(picked: Map<string, Place>, matrix?: Matrix): Map<string, Place> {
  if (!picked.size || !matrix) return picked;
  const offered = matrix.people.flatMap((person) => placesOf(person, matrix.courses)).filter(isAssignable);
  return new Map(offered.map((x): [string, Place] => [keyOf(x), x]).filter(([key]) => picked.has(key)));
}

// TrainingPage is who needs which training and who has it.
export function TrainingPage() {
  const p = usePermissions();
  const { query, route } = useLocation();
  const [place, setPlace] = useState<Place>();
  const [step, setStep] = useState<Step | 'run'>();
  const [picked, setChosen] = useState<Map<string, Place>>(new Map());
  const isNarrow = useNarrow();
  const a: Asked = Object.fromEntries(asked.map((n) => [n, query[n] ?? '']));
  const params = queryOf(a);
  const q = useQuery({
    queryKey: ['c', 'training_assignments', 'matrix', params],
    queryFn: () => invoke('training-matrix', params ? `?${params}` : ''),
    meta: { live: true },
  });
  if (!p) return <Skeleton lines={8} />;
  const chosen = keepOffered(picked, q.data);
  const go = (next: Asked) => {
    setChosen(new Map());
    const to = queryOf({ ...a, after: '', ...next });
    route(`/console/training${to ? `?${to}` : ''}`);
  };
  const mayAssign = canAssign(p);
  const choose = (x: Place) => {
    const next = new Map(chosen);
    if (!next.delete(keyOf(x)) && isAssignable(x)) next.set(keyOf(x), x);
    setChosen(next);
  };
  const given = {
    chosen: new Set(chosen.keys()),
    open: setPlace,
    ...(mayAssign ? { choose } : {}),
  };
  const shut = () => (setStep(undefined), setPlace(undefined));
  const assigned = () => (shut(), setChosen(new Map()));
  return (
    <>
      <Head
        title={_('Training matrix')}
        sub={
          q.data
            ? _('What is asked of whom, and how long it is valid, as of {when}.', { when: date(q.data.today) })
            : undefined
        }
      >
        {p.functions['auto-assign-training'] && !p.read_only ? (
          <Button icon="gauge" onClick={() => setStep('run')}>
            {_('Assign by risk')}
          </Button>
        ) : null}
        <LinkButton icon="list" href="/console/c/training_assignments">
          {_('All trainings')}
        </LinkButton>
      </Head>
      <Filters a={a} go={go} matrix={q.data} p={p} isNarrow={isNarrow} />
      <Problem error={q.error} retry={() => void q.refetch()} />
      {q.isPending ? (
        <Skeleton lines={8} />
      ) : q.data && q.data.courses.length && q.data.people.length ? (
        isNarrow ? (
          <TrainingList matrix={q.data} {...given} />
        ) : (
          <Card flush>
            <TrainingGrid matrix={q.data} {...given} />
          </Card>
        )
      ) : q.data ? (
        <Nothing a={a} matrix={q.data} p={p} />
      ) : null}
      {q.data ? <Pages a={a} matrix={q.data} go={go} /> : null}
      {q.data && mayAssign ? (
        <Choice
          matrix={q.data}
          chosen={chosen}
          put={setChosen}
          assign={() => (setPlace(undefined), setStep('assign'))}
        />
      ) : null}
      {place && !step ? <TrainingCell place={place} p={p} close={shut} step={setStep} /> : null}
      {step === 'assign' ? (
        <Assign places={place ? [place] : [...chosen.values()]} close={shut} done={assigned} />
      ) : step === 'run' ? (
        <TrainingRun p={p} close={shut} />
      ) : place && step === 'waive' ? (
        <Waive place={place} close={shut} done={shut} />
      ) : place && step === 'certify' ? (
        <Certify place={place} p={p} close={shut} done={shut} />
      ) : null}
    </>
  );
}

// Choice is what is chosen on the page, and what is done with it: single cells, or every gap that is not assigned yet.
function Choice({
  matrix,
  chosen,
  put,
  assign,
}: {
  matrix: Matrix;
  chosen: Map<string, Place>;
  put: (to: Map<string, Place>) => void;
  assign: () => void;
}) {
  const gaps = matrix.people
    .flatMap((person) => placesOf(person, matrix.courses))
    .filter((x) => x.cell?.gap && isAssignable(x));
  if (!chosen.size)
    return gaps.length ? (
      <div class="row">
        <Button size="small" onClick={() => put(new Map(gaps.map((x) => [keyOf(x), x])))}>
          {plural(gaps.length, 'Choose {n} open gap', 'Choose all {n} open gaps')}
        </Button>
        <span class="small muted">{_('Or choose single cells: the space bar, or Ctrl and a click.')}</span>
      </div>
    ) : null;
  return (
    <div class="row choosing" role="status">
      <span class="grow">{plural(chosen.size, '{n} course is chosen', '{n} courses are chosen')}</span>
      <Button onClick={() => put(new Map())}>{_('Choose none')}</Button>
      <Button kind="primary" onClick={assign}>
        {_('Assign')}
      </Button>
    </div>
  );
}

// Filters say whom and which course the matrix is about.
function Filters({
  a,
  go,
  matrix,
  p,
  isNarrow,
}: {
  a: Asked;
  go: (next: Asked) => void;
  matrix?: Matrix;
  p: Permissions;
  isNarrow: boolean;
}) {
  const sites = useQuery({
    queryKey: ['c', 'sites', 'names'],
    queryFn: () => want(supabase.from('sites').select('id,code,name').is('archived_at', null).order('code')),
    enabled: !!p.collections['sites']?.read,
    staleTime: 5 * 60_000,
  });
  const courses = useQuery({
    queryKey: ['c', 'courses', 'names'],
    queryFn: () =>
      want(
        supabase.from('courses').select('id,code,title').eq('status', 'active').is('archived_at', null).order('code'),
      ),
    staleTime: 60_000,
  });
  const titles = useQuery({
    queryKey: ['c', 'workers', 'titles'],
    queryFn: () => want<{ job_title: string | null; n: number }[]>(records('workers').select('job_title,n:count()')),
    staleTime: 5 * 60_000,
  });
  const jobs = (titles.data ?? [])
    .flatMap((t) => (t.job_title ? [t.job_title] : []))
    .sort((x, y) => x.localeCompare(y));
  const narrowing = (
    <>
      {(sites.data?.length ?? 0) > 1 ? (
        <Select
          label={_('Site')}
          value={a.site_id ?? ''}
          put={(v) => go({ site_id: v })}
          options={[
            ['', _('All sites')],
            ...(sites.data ?? []).map((s): [string, string] => [s.id, `${s.code} ${s.name}`]),
          ]}
        />
      ) : null}
      <Select
        label={_('Job title')}
        value={a.job_title ?? ''}
        put={(v) => go({ job_title: v })}
        options={[['', _('All jobs')], ...jobs.map((t): [string, string] => [t, t])]}
      />
      <Select
        label={_('Course')}
        value={a.course_id ?? ''}
        put={(v) => go({ course_id: v })}
        options={[
          ['', _('All courses')],
          ...(courses.data ?? []).map((c): [string, string] => [c.id, `${c.code} ${c.title}`]),
        ]}
      />
    </>
  );
  const one = a.worker_id ? matrix?.people[0]?.name : undefined;
  return (
    <div class="row matrix-filters">
      <Segments
        label={_('Show')}
        options={[
          ['', _('Everybody')],
          ['gaps', _('With gaps')],
          ['ending', _('Ending within 30 days')],
        ]}
        at={a.only ?? ''}
        go={(v) => go({ only: v })}
      />
      {isNarrow ? (
        <details class="fold" open={!!(a.site_id || a.job_title || a.course_id)}>
          <summary>{_('Filter')}</summary>
          <div class="stack">{narrowing}</div>
        </details>
      ) : (
        narrowing
      )}
      {a.worker_id ? (
        <Button icon="close" onClick={() => go({ worker_id: '' })}>
          {one ? _('Only {who}', { who: one }) : _('One person')}
        </Button>
      ) : null}
    </div>
  );
}

// Nothing says in words why there is no row or no column.
function Nothing({ a, matrix, p }: { a: Asked; matrix: Matrix; p: Permissions }) {
  if (!matrix.courses.length)
    return (
      <Empty
        title={_('No course is given')}
        icon="star"
        action={
          p.collections['courses']?.create ? (
            <LinkButton kind="primary" href="/console/c/courses/new">
              {_('New course')}
            </LinkButton>
          ) : undefined
        }
      >
        {_('Without a course nothing is asked of anybody here, which does not say that nothing is needed.')}
      </Empty>
    );
  if (a.only && matrix.next)
    return (
      <Note>
        {plural(
          matrix.people_looked_at,
          '{n} person was looked at; of this person nothing is to be shown. There are more behind.',
          '{n} people were looked at; of these nothing is to be shown. There are more behind.',
        )}
      </Note>
    );
  if (a.only === 'gaps')
    return (
      <Empty title={_('No gap is found')} icon="check">
        {_(
          'Asked for is what the jobs and the equipment of the shifts ask for. Nobody is looked at for anything else.',
        )}
      </Empty>
    );
  if (a.only === 'ending')
    return (
      <Empty title={_('Nothing ends within 30 days')} icon="check">
        {_('What has ended already and what is missing stands under the gaps.')}
      </Empty>
    );
  return (
    <Empty title={_('Nobody is found')} icon="people">
      {_('The matrix is about people on record who have not left.')}
    </Empty>
  );
}

// Pages lead on: a page begins behind the last person of the one before.
function Pages({ a, matrix, go }: { a: Asked; matrix: Matrix; go: (next: Asked) => void }) {
  return (
    <div class="row">
      <span class="grow small muted" role="status">
        {a.only
          ? _('{n} of {m} people looked at', { n: matrix.people.length, m: matrix.people_looked_at })
          : plural(matrix.people.length, '{n} person', '{n} people')}
      </span>
      {a.after ? <Button onClick={() => go({ after: '' })}>{_('From the beginning')}</Button> : null}
      {matrix.next ? (
        <Button icon="chevron" onClick={() => go({ after: String(matrix.next) })}>
          {_('Next people')}
        </Button>
      ) : null}
    </div>
  );
}
