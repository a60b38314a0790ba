import { useState } from 'preact/hooks';
import { invoke } from '../lib/client';
import { words, type Permissions } from '../lib/catalog';
import { date, number } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { queryClient, useQuery } from '../lib/query';
import type { Answer } from '../database';
import { Button, Empty, Note, Problem, Skeleton } from './basic';
import { Dialog } from './dialog';
import { toast } from './overlay';
import { Named } from './value';

type Run = Answer<'auto-assign-training'>;

// So many of each list are shown; of the others their number.
const shown = 50;

// reasonOf says in words which score led to a course; who may not see scores learns that one did.
function reasonOf(text: string): string {
  const m = /^(\w+) (.*) scored ([\d.]+); (.*) is due from ([\d.]+)$/.exec(text);
  return m
    ? _('{kind} {name} has {score} points; the course is due from {least}.', {
        kind: words(String(m[1])),
        name: String(m[2]),
        score: String(m[3]),
        least: String(m[5]),
      })
    : _('A risk score reached the threshold of the course.');
}

function skippedFor(reason: Run['skipped'][number]['reason']): string {
  switch (reason) {
    case 'open':
      return _('has it open already');
    case 'valid':
      return _('holds it for more than 30 days');
    case 'left':
      return _('has left');
    default:
      return _('the score rests on too little');
  }
}

// TrainingRun shows whom the assignment by risk would give a course and whom not, and why, before it is run.
export function TrainingRun({ p, close }: { p: Permissions; close: () => void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const look = useQuery({
    queryKey: ['c', 'training_assignments', 'dry run'],
    queryFn: () => invoke('auto-assign-training', '', { dry_run: true }),
    staleTime: 0,
  });
  const run = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const made = await invoke('auto-assign-training', '', {});
      toast(plural(made.assignments_created, '{n} course was assigned', '{n} courses were assigned'));
      await queryClient.invalidateQueries({ queryKey: ['c', 'training_assignments'] });
      close();
    } catch (e) {
      setError(e);
    } finally {
      setBusy(false);
    }
  };
  const n = look.data?.assignments.length ?? 0;
  return (
    <Dialog
      kind="wide"
      title={_('Assign by risk')}
      close={close}
      footer={
        <>
          <Button onClick={close}>{_('Cancel')}</Button>
          {n ? (
            <Button kind="primary" busy={busy} onClick={() => void run()}>
              {plural(n, 'Assign {n} course', 'Assign {n} courses')}
            </Button>
          ) : null}
        </>
      }
    >
      <div class="stack">
        <p>
          {_(
            'Courses with a threshold go to the people behind the scores that reach it. Nothing is assigned before you say so.',
          )}
        </p>
        <Problem error={error ?? look.error} retry={() => void look.refetch()} />
        {look.data ? <Found run={look.data} p={p} /> : look.error ? null : <Skeleton lines={5} />}
      </div>
    </Dialog>
  );
}

// seesScores says whether a role may see the scores of single people, and so who was skipped.
const seesScores = (p: Permissions) => p.role !== 'manager';

function Found({ run, p }: { run: Run; p: Permissions }) {
  return (
    <>
      <p class="small muted">
        {_('{n} scores were held against {m} courses.', { n: run.scores_checked, m: run.courses_checked })}
      </p>
      {run.assignments.length ? (
        <section>
          <h3>{_('Would be assigned')}</h3>
          <ul class="lines">
            {run.assignments.slice(0, shown).map((x) => (
              <li key={x.id}>
                <span class="grow">
                  <Named collection="workers" ids={[x.worker_id]} />: <Named collection="courses" ids={[x.course_id]} />
                  <span class="small muted block">{reasonOf(x.assignment_reason)}</span>
                </span>
                <span class="small muted">{_('due {when}', { when: date(x.due_on) })}</span>
              </li>
            ))}
          </ul>
          <More n={run.assignments.length - shown} />
        </section>
      ) : (
        <Empty title={_('Nobody would be assigned anything')} icon="check">
          {_('No score reaches the threshold of a course, or whom it reaches has the course.')}
        </Empty>
      )}
      {run.skipped.length ? (
        <section>
          <h3>{_('Would be skipped')}</h3>
          <ul class="lines">
            {run.skipped.slice(0, shown).map((x) => (
              <li key={`${x.worker_id} ${x.course_id}`}>
                <span class="grow">
                  <Named collection="workers" ids={[x.worker_id]} />: <Named collection="courses" ids={[x.course_id]} />
                </span>
                <span class="small muted">{skippedFor(x.reason)}</span>
              </li>
            ))}
          </ul>
          <More n={run.skipped.length - shown} />
        </section>
      ) : seesScores(p) ? null : (
        <Note>{_('Who is skipped is shown to those who may see the scores of single people.')}</Note>
      )}
    </>
  );
}

function More({ n }: { n: number }) {
  return n > 0 ? <p class="small muted">{_('{n} more', { n: number(n) })}</p> : null;
}
