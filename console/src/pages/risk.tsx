import { lazy, useLocation, useRoute } from 'preact-iso';
import { invoke, supabase, want } from '../lib/client';
import { titleOf, usePermissions, words } from '../lib/catalog';
import { ago, date, number, percent } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { useQuery } from '../lib/query';
import type { Answer } from '../database';
import { Badge, Card, Empty, Head, LinkButton, Note, Problem, Segments, Skeleton } from '../ui/basic';
import { because } from '../ui/because';
import { collectionOf, hrefOf, useCalled } from '../ui/value';
import '../safety.css';

const Plot = lazy(() => import('../ui/plot').then((m) => m.Plot));

type Score = Answer<'calculate-predictive-safety-scores'>['scores'][number];
type Term = Score['terms'][number];

// Ranked are places and equipment, not people.
const kinds = ['zone', 'equipment'] as const;
type Kind = (typeof kinds)[number];

// The period of official scores, in days.
const period = 30;

const shown = 30;

// So many reports behind a score are listed, the newest.
const most = 100;

const day = 86_400_000;

// useScores computes scores as of now, which is a look: nothing is kept.
function useScores(kind: Kind, id = '') {
  return useQuery({
    queryKey: ['risk', kind, id],
    queryFn: () =>
      invoke('calculate-predictive-safety-scores', `?run=look&entity_type=${kind}${id ? `&entity_id=${id}` : ''}`),
    staleTime: 60_000,
  });
}

const nounOf = (kind: Kind) => (kind === 'zone' ? _('Places') : titleOf('equipment'));

// RiskPage ranks places and equipment by what happened there, and says why.
export function RiskPage() {
  const p = usePermissions();
  const { query, route } = useLocation();
  const kind: Kind = query['of'] === 'equipment' ? 'equipment' : 'zone';
  const q = useScores(kind);
  if (!p) return <Skeleton lines={8} />;
  const list = q.data?.scores ?? [];
  const risky = list.filter((s) => s.score > 0);
  return (
    <>
      <Head
        title={_('Risk')}
        sub={_(
          'Computed from the last {n} days as of now. Looking saves nothing; clusters, rules and training go by the official run of the night.',
          { n: period },
        )}
      >
        <LinkButton icon="list" href={`/console/c/predictive_scores?f=entity_type.eq.${kind}&order=computed_at.desc`}>
          {_('Official scores')}
        </LinkButton>
      </Head>
      <div class="row">
        <Segments
          label={_('Rank')}
          options={kinds.map((k): [Kind, string] => [k, nounOf(k)])}
          at={kind}
          go={(v) => route(`/console/risk?of=${v}`, true)}
        />
      </div>
      <Problem error={q.error} retry={() => void q.refetch()} />
      {q.isPending ? (
        <Skeleton lines={8} />
      ) : q.error ? null : risky.length ? (
        <>
          <Bands list={list} />
          <Card
            title={
              kind === 'zone'
                ? plural(risky.length, '{n} place with a risk', '{n} places with a risk')
                : plural(risky.length, '{n} piece of equipment with a risk', '{n} pieces of equipment with a risk')
            }
            flush
          >
            <ol class="ranking">
              {risky.slice(0, shown).map((s, i) => (
                <Ranked key={s.entity_id} s={s} kind={kind} place={i + 1} />
              ))}
            </ol>
          </Card>
          <Quiet n={list.length - risky.length} kind={kind} />
        </>
      ) : (
        <Empty title={_('Nothing to rank')} icon="shield">
          {_('A score needs incidents, near misses or shifts on record. Nothing on record is not the same as safe.')}
        </Empty>
      )}
    </>
  );
}

// Quiet says of how many nothing was recorded, and that this proves nothing.
function Quiet({ n, kind }: { n: number; kind: Kind }) {
  if (n <= 0) return null;
  return (
    <Note>
      {kind === 'zone'
        ? plural(
            n,
            'Of {n} more place nothing was recorded in the period, which does not say that it is safe.',
            'Of {n} more places nothing was recorded in the period, which does not say that they are safe.',
          )
        : plural(
            n,
            'Of {n} more piece of equipment nothing was recorded in the period, which does not say that it is safe.',
            'Of {n} more pieces of equipment nothing was recorded in the period, which does not say that they are safe.',
          )}
    </Note>
  );
}

const bands = ['Critical', 'High', 'Medium', 'Low', 'Unclear'] as const;

// Bands counts what was ranked by band.
function Bands({ list }: { list: Score[] }) {
  return (
    <p class="row">
      {bands.map((b) => (
        <span key={b} class="row tight">
          <Badge state={b.toLowerCase()}>{words(b)}</Badge> {number(list.filter((s) => s.cluster === b).length)}
        </span>
      ))}
    </p>
  );
}

function Ranked({ s, kind, place }: { s: Score; kind: Kind; place: number }) {
  const called = useCalled(collectionOf(kind), s.entity_id);
  return (
    <li>
      <span class="muted">{number(place)}</span>
      <a class="strong" href={`/console/risk/${kind}/${s.entity_id}`}>
        {called ?? words(s.entity_type)}
      </a>
      <span class="score">{number(s.score, 1)}</span>
      <Badge state={s.cluster.toLowerCase()}>{words(s.cluster)}</Badge>
      <span class="wide">
        <Points terms={s.terms} />
      </span>
      <span class="wide small muted">
        {because(s.inputs)} {confidenceOf(s.confidence)}
      </span>
    </li>
  );
}

// Points draws what each input adds to a score of 100 at most; the sentence beside it says the same. What lowers
// the score takes its points off all that raises it, so that the bar is as long as the score.
function Points({ terms }: { terms: Term[] }) {
  const score = terms.reduce((sum, t) => sum + t.points, 0);
  const raised = terms.reduce((sum, t) => sum + Math.max(0, t.points), 0);
  const rest = 100 - score;
  return (
    <span class="parts" aria-hidden="true">
      {terms.map((t, i) =>
        t.points > 0 ? <i key={t.name} class={`p${i % 4}`} style={{ flexGrow: (t.points * score) / raised }} /> : null,
      )}
      {rest > 0 ? <span style={{ flexGrow: rest }} /> : null}
    </span>
  );
}

function confidenceOf(c: number): string {
  const share = percent(c * 100, 0);
  return c < 0.5
    ? _('Confidence {share}: few hours are on record, so one report more or less moves it far.', { share })
    : _('Confidence {share}.', { share });
}

const termSays: Record<string, () => string> = {
  incidents: () => _('Incidents'),
  near_misses: () => _('Near misses and hazards'),
  shift_hours: () => _('Long hours'),
  load: () => _('Work per hour above the standard'),
};

// RiskEntityPage explains one score down to the records that it counts.
export function RiskEntityPage() {
  const { params } = useRoute();
  const kind: Kind = params['kind'] === 'equipment' ? 'equipment' : 'zone';
  const id = String(params['id']);
  const called = useCalled(collectionOf(kind), id);
  const q = useScores(kind, id);
  const s = q.data?.scores[0];
  const crumbs: [string, string][] = [[_('Risk'), `/console/risk?of=${kind}`]];
  return (
    <>
      <Head title={called ?? _('Risk')} sub={_('Risk of the last {n} days, as of now', { n: period })} crumbs={crumbs}>
        <LinkButton href={hrefOf(collectionOf(kind), id)}>{_('Open the record')}</LinkButton>
      </Head>
      <Problem error={q.error} retry={() => void q.refetch()} />
      {q.isPending ? <Skeleton lines={8} /> : null}
      {s ? (
        <div class="split">
          <div class="stack">
            <Card
              title={<h2>{_('{score} of 100', { score: number(s.score, 1) })}</h2>}
              actions={<Badge state={s.cluster.toLowerCase()}>{words(s.cluster)}</Badge>}
            >
              <div class="stack">
                <Points terms={s.terms} />
                <p>
                  {because(s.inputs)} {confidenceOf(s.confidence)}
                </p>
                <ul class="terms">
                  {s.terms.map((t, i) => (
                    <li key={t.name}>
                      <span class={`part p${i % 4}`}>{termSays[t.name]?.() ?? words(t.name)}</span>
                      <span>{plural(Number(t.points.toFixed(1)), '{n} point', '{n} points')}</span>
                    </li>
                  ))}
                </ul>
                <p class="small muted">
                  {_('Model: {what}. The points add up to the score.', { what: words(s.model_kind) })}
                </p>
              </div>
            </Card>
            <Past kind={kind} id={id} />
          </div>
          <Counted kind={kind} id={id} n={s.inputs.incident_count + s.inputs.near_miss_count} />
        </div>
      ) : q.data ? (
        <Empty title={_('No score')} icon="shield" />
      ) : null}
    </>
  );
}

// Past is how the official score went.
function Past({ kind, id }: { kind: Kind; id: string }) {
  const q = useQuery({
    queryKey: ['c', 'predictive_scores', kind, id],
    queryFn: () =>
      want<{ score: number; cluster: string; computed_at: string }[]>(
        supabase
          .from('predictive_scores')
          .select('score,cluster,computed_at')
          .eq('entity_type', kind)
          .eq('entity_id', id)
          .order('computed_at', { ascending: false })
          .limit(120),
      ),
  });
  const list = [...(q.data ?? [])].reverse();
  const last = list.at(-1);
  return (
    <Card title={_('Official scores')}>
      <Problem error={q.error} retry={() => void q.refetch()} />
      {!last ? (
        <p class="muted">{_('There is no official score yet: the first comes tonight.')}</p>
      ) : (
        <div class="stack">
          <p>
            {_('Newest: {score} ({band}), {when}', {
              score: number(last.score, 1),
              band: words(last.cluster),
              when: ago(last.computed_at),
            })}
          </p>
          {list.length > 1 ? (
            <Plot
              label={_('Official scores')}
              at={list.map((s) => Date.parse(s.computed_at) / 1000)}
              series={{ name: words('score'), kind: 'line', values: list.map((s) => s.score) }}
            />
          ) : null}
        </div>
      )}
    </Card>
  );
}

// Counted are the incidents that the score counts, n in all, as far as the reader may see them.
function Counted({ kind, id, n }: { kind: Kind; id: string; n: number }) {
  const p = usePermissions();
  const from = new Date(Date.now() - period * day).toISOString();
  const named = `entities.cs.[{"entity_id":"${id}"}]`;
  const q = useQuery({
    queryKey: ['c', 'incidents', 'of', id],
    queryFn: () => {
      const rows = supabase
        .from('incidents')
        .select('id,incident_no,title,kind,severity,occurred_at,status')
        .gt('occurred_at', from)
        .neq('status', 'void');
      return want(
        (kind === 'zone'
          ? rows.or(`zone_id.eq.${id},${named}`)
          : rows.contains('entities', JSON.stringify([{ entity_id: id }]))
        )
          .order('occurred_at', { ascending: false })
          .limit(most),
      );
    },
    enabled: !!p?.collections['incidents']?.read,
  });
  return (
    <Card title={plural(n, '{n} report behind it', '{n} reports behind it')} flush>
      <Problem error={q.error} retry={() => void q.refetch()} />
      {q.data && q.data.length < n ? (
        <p class="body muted">
          {_('Listed are {m} of them: those of the place itself that you may read, the newest first.', {
            m: number(q.data.length),
          })}
        </p>
      ) : null}
      <ul class="lines">
        {q.data?.map((i) => (
          <li key={i.id}>
            <a class="grow" href={hrefOf('incidents', i.id)}>
              {i.title}
              <span class="small muted" style={{ display: 'block' }}>
                {i.incident_no} · {words(String(i.kind))} · {date(i.occurred_at)}
              </span>
            </a>
            <Badge state={i.severity} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
