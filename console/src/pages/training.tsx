import { useLocation } from 'preact-iso';
import { useEffect, useState } from 'preact/hooks';
import { invoke, records, supabase, want } from '../lib/client';
import { usePermissions, type Permissions } from '../lib/catalog';
import { date } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { useQuery } from '../lib/query';
import type { Matrix, Place } from '../ui/training';
import { Button, Card, Empty, Head, LinkButton, Note, Problem, Segments, Skeleton } from '../ui/basic';
import { Select } from '../ui/form';
import { TrainingCell } from '../ui/training-cell';
import { TrainingGrid } from '../ui/training-grid';
import { TrainingList } from '../ui/training-list';
import '../training.css';

// Below this width the matrix is a list by person.
const narrow = '(max-width: 620px)';

function useNarrow(): boolean {
  const [is, set] = useState(() => matchMedia(narrow).matches);
  useEffect(() => {
    const media = matchMedia(narrow);
    const look = () => set(media.matches);
    media.addEventListener('change', look);
    return () => media.removeEventListener('change', look);
  }, []);
  return is;
}

const asked = ['only', 'site_id', 'job_title', 'course_id', 'worker_id', 'after'] as const;
type Asked = Partial<Record<(typeof asked)[number], string>>;

const queryOf = (a: Asked) => new URLSearchParams(Object.entries(a).filter(([, v]) => v)).toString();

// TrainingPage is who needs which training and who has it.
export function TrainingPage() {
  const p = usePermissions();
  const { query, route } = useLocation();
  const [place, setPlace] = useState<Place>();
  const isNarrow = useNarrow();
  const a: Asked = Object.fromEntries(asked.map((n) => [n, query[n] ?? '']));
  const params = queryOf(a);
  const q = useQuery({
    queryKey: ['c', 'training_assignments', 'matrix', params],
    queryFn: () => invoke('training-matrix', params ? `?${params}` : ''),
    meta: { live: true },
  });
  if (!p) return <Skeleton lines={8} />;
  const go = (next: Asked) => {
    const to = queryOf({ ...a, after: '', ...next });
    route(`/console/training${to ? `?${to}` : ''}`);
  };
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
          <TrainingList matrix={q.data} open={setPlace} />
        ) : (
          <Card flush>
            <TrainingGrid matrix={q.data} open={setPlace} />
          </Card>
        )
      ) : q.data ? (
        <Nothing a={a} matrix={q.data} p={p} />
      ) : null}
      {q.data ? <Pages a={a} matrix={q.data} go={go} /> : null}
      {place ? <TrainingCell place={place} p={p} close={() => setPlace(undefined)} /> : null}
    </>
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
        {_('Asked for is what the jobs and the equipment of the shifts ask for. Nobody is looked at for anything else.')}
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
