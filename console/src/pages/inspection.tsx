import { useRoute } from 'preact-iso';
import { useState } from 'preact/hooks';
import { records, want } from '../lib/client';
import { usePermissions, words } from '../lib/catalog';
import { askedOf, type Question, type Section, type Values } from '../lib/checklist';
import { ago, number } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { queryClient, useQuery } from '../lib/query';
import type { Row } from '../database';
import { Asked, type Said } from '../ui/answer';
import { Badge, Button, Card, Empty, Head, LinkButton, Note, Problem, Skeleton } from '../ui/basic';
import { toast } from '../ui/overlay';
import { inspectionSheet, SheetButton } from '../ui/print';
import { hrefOf } from '../ui/value';
import '../evidence.css';
import '../report.css';
import '../inspection.css';

interface Run extends Row {
  title: string;
  status: string;
  due_at: string;
  score: number | null;
  passed: number | null;
  failed: number | null;
  on_time: boolean | null;
  template: { sections: Section[]; description: string | null } | null;
  zone: { code: string; name: string } | null;
  equipment: { asset_no: string; name: string } | null;
}

const wanted =
  'id,title,status,due_at,score,passed,failed,on_time,template:template_id(sections,description),' +
  'zone:zone_id(code,name),equipment:equipment_id(asset_no,name)';

// InspectionPage asks the questions of an inspection, one answer saved at a time, and shows what came of it.
export function InspectionPage() {
  const { params } = useRoute();
  const id = params['id'] as string;
  const p = usePermissions();
  const key = ['c', 'checklist_runs', 'runner', id];
  const run = useQuery({
    queryKey: key,
    queryFn: () => want<Run | null>(records('checklist_runs').select(wanted).eq('id', id).maybeSingle()),
    meta: { live: true },
  });
  const answers = useQuery({
    queryKey: ['c', 'checklist_answers', 'of', id],
    queryFn: () => want<Row[]>(records('checklist_answers').select('*').eq('run_id', id).order('id').limit(300)),
    meta: { live: true },
  });
  if (!p || run.isPending || answers.isPending) return <Skeleton lines={8} />;
  if (run.error ?? answers.error)
    return <Problem error={run.error ?? answers.error} retry={() => void run.refetch()} />;
  const r = run.data;
  if (!r) return <Empty title={_('This record is not there')} icon="shield" />;
  const isOpen = ['scheduled', 'in_progress'].includes(r.status);
  const about = [
    r.zone ? `${r.zone.code} · ${r.zone.name}` : '',
    r.equipment ? `${r.equipment.asset_no} · ${r.equipment.name}` : '',
  ];
  return (
    <div class="report inspection">
      <Head
        crumbs={[[_('Inspections'), '/console/c/checklist_runs']]}
        title={
          <span class="row">
            {r.title} <Badge state={r.status} />
          </span>
        }
        sub={[...about, _('due {when}', { when: ago(r.due_at) })].filter(Boolean).join(' · ')}
      >
        <SheetButton path={inspectionSheet(id)} name={r.title} />
        <LinkButton href={hrefOf('checklist_runs', id)}>{_('All of the record')}</LinkButton>
      </Head>
      {r.template?.description ? <p class="muted">{r.template.description}</p> : null}
      {!r.template ? (
        <Empty title={_('This inspection has no questions')} icon="shield" />
      ) : isOpen && p.collections['checklist_answers']?.create ? (
        <Runner r={r} sections={r.template.sections} answers={answers.data ?? []} />
      ) : (
        <Result r={r} sections={r.template.sections} answers={answers.data ?? []} />
      )}
    </div>
  );
}

const valuesOf = (answers: Row[]): Values =>
  Object.fromEntries(answers.map((a) => [String(a['item_key']), a['value']]));

interface RunGiven {
  r: Run;
  sections: Section[];
  answers: Row[];
}

function Runner({ r, sections, answers }: RunGiven) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const byKey = new Map(answers.map((a) => [String(a['item_key']), a]));
  const asked = askedOf(sections, valuesOf(answers));
  const questions = sections.flatMap((s) => s.items).filter((q) => asked.has(q.key));
  const answered = questions.filter((q) => byKey.has(q.key)).length;
  const missing = questions.filter((q) => q.required && !byKey.has(q.key));
  const refresh = () => queryClient.invalidateQueries({ queryKey: ['c'] });
  const saveAnswer = async (q: Question, set: Said) => {
    const all = records('checklist_answers');
    const before = byKey.get(q.key);
    if (before && !('value' in set)) await want(all.update({ ...set }).eq('id', before.id));
    else await want(all.upsert({ run_id: r.id, item_key: q.key, ...set }, { onConflict: 'run_id,item_key' }));
    await refresh();
  };
  const finishInspection = async () => {
    setBusy(true);
    setError(null);
    try {
      await want(records('checklist_runs').update({ status: 'completed' }).eq('id', r.id));
      toast(_('The inspection is done'));
      await refresh();
    } catch (e) {
      setError(e);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <p class="muted" role="status">
        {_('{n} of {m} answered. Each answer is saved at once; you may leave and come back.', {
          n: number(answered),
          m: number(questions.length),
        })}
      </p>
      {sections.map((s, n) =>
        s.items.some((q) => asked.has(q.key)) ? (
          <Card key={n} title={s.title}>
            <ul class="questions">
              {s.items
                .filter((q) => asked.has(q.key))
                .map((q) => (
                  <Asked key={q.key} run={r.id} q={q} answer={byKey.get(q.key)} saveAnswer={saveAnswer} />
                ))}
            </ul>
          </Card>
        ) : null,
      )}
      {missing.length ? (
        <Note kind="warn">
          {plural(
            missing.length,
            '{n} question still needs an answer: {list}',
            '{n} questions still need an answer: {list}',
            {
              list: missing
                .slice(0, 3)
                .map((q) => q.prompt)
                .join(' · '),
            },
          )}
        </Note>
      ) : null}
      <Problem error={error} />
      <Button kind="primary" size="big" busy={busy} onClick={() => void finishInspection()}>
        {_('Finish the inspection')}
      </Button>
    </>
  );
}

// Result says how an inspection went: its score, the actions that came of it, and the answers that count, those that
// failed first.
function Result({ r, sections, answers }: RunGiven) {
  const asked = askedOf(sections, valuesOf(answers));
  const byKey = new Map(answers.map((a) => [String(a['item_key']), a]));
  const told = sections
    .flatMap((s) => s.items)
    .flatMap((q) => {
      const a = asked.has(q.key) ? byKey.get(q.key) : undefined;
      return a ? [{ q, a }] : [];
    })
    .sort((x, y) => Number(y.a['result'] === 'fail') - Number(x.a['result'] === 'fail'));
  const actions = useQuery({
    queryKey: ['c', 'actions', 'of inspection', r.id],
    queryFn: () =>
      want<Row[]>(
        records('actions')
          .select('id,action_no,title,status')
          .in('source_id', [r.id, ...answers.map((a) => a.id)])
          .limit(50),
      ),
  });
  return (
    <>
      {r.score !== null ? (
        <Note kind={r.failed ? 'warn' : 'good'}>
          {_('Score {score} %: {passed} passed, {failed} failed.', {
            score: number(Number(r.score), 1),
            passed: number(r.passed ?? 0),
            failed: number(r.failed ?? 0),
          })}
        </Note>
      ) : null}
      {actions.data?.length ? (
        <Card flush title={_('Actions that came of it')}>
          <ul class="lines">
            {actions.data.map((a) => (
              <li key={a.id}>
                <a class="grow" href={hrefOf('actions', a.id)}>
                  {String(a['action_no'])} · {String(a['title'])}
                </a>
                <Badge state={a['status']} />
              </li>
            ))}
          </ul>
        </Card>
      ) : null}
      <Card flush title={_('Answers')}>
        <ul class="lines">
          {told.map(({ q, a }) => (
            <li key={a.id}>
              <span class="grow">
                {q.prompt}
                {a['note'] ? <span class="small muted"> {String(a['note'])}</span> : null}
              </span>
              <b>{saidOf(a['value'])}</b>
              {a['result'] ? <Badge state={a['result']} /> : null}
            </li>
          ))}
        </ul>
      </Card>
    </>
  );
}

function saidOf(value: unknown): string {
  if (Array.isArray(value)) return _('Photos: {n}', { n: value.length });
  if (value === 'na') return _('Does not apply');
  return typeof value === 'number' ? number(value, 6) : words(String(value));
}
