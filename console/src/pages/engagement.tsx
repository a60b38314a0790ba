import { useState } from 'preact/hooks';
import { invoke, records, want } from '../lib/client';
import { usePermissions, words, type Permissions } from '../lib/catalog';
import { ago, brief, date, dateTime, number } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { formatView, type Condition } from '../lib/records';
import { endOf, homeZone, momentOf } from '../lib/zone';
import type { Answer } from '../database';
import { Button, Card, Empty, Head, LinkButton, Meter, Note, Problem, Skeleton } from '../ui/basic';
import { isStreakCut, mostEarned, streakOf, type Earned } from '../ui/engagement';
import { Icon } from '../ui/icon';
import { Tile } from '../ui/tile';
import { hrefOf, Named } from '../ui/value';
import '../records.css';
import '../engagement.css';

type Engagement = Answer<'safety-engagement'>;

// So many of what earned points are shown before more is asked for.
const firstEarned = 10;

// useEarned reads what the reader's points were given for, newest first.
function useEarned(p?: Permissions) {
  return useQuery({
    queryKey: ['c', 'point_events', 'own'],
    queryFn: () =>
      want<Earned[]>(
        records('point_events')
          .select('id,kind,points,source_type,source_id,occurred_at')
          .eq('user_id', p?.user_id ?? '')
          .is('reversed_at', null)
          .order('occurred_at', { ascending: false })
          .order('id', { ascending: false })
          .limit(mostEarned),
      ),
    enabled: !!p?.collections['point_events']?.read,
    meta: { live: true },
  });
}

// EngagementPage is what a person's reports and work have earned, and for administrators the boards of teams and zones.
// Nobody sees another person's points here, and nobody is ranked.
export function EngagementPage() {
  const p = usePermissions();
  const q = useQuery({
    queryKey: ['c', 'point_events', 'engagement'],
    queryFn: () => invoke('safety-engagement'),
    enabled: !!p,
    meta: { live: true },
  });
  const earned = useEarned(p);
  if (!p) return <Skeleton lines={8} />;
  const e = q.data;
  const canRead = !!p.collections['point_events']?.read;
  return (
    <>
      <Head
        title={_('My engagement')}
        sub={
          e
            ? _(
                '{from} to {to}. Points are for reporting and for finishing what was agreed, never for days without injuries.',
                {
                  from: date(e.user_score.period_start),
                  to: date(e.user_score.period_end),
                },
              )
            : undefined
        }
      />
      <Problem error={q.error} retry={() => void q.refetch()} />
      {e ? <Figures e={e} earned={earned} p={p} /> : q.error ? null : <Skeleton lines={4} />}
      <div class="engagement">
        {canRead ? <What earned={earned} /> : null}
        {e ? <Badges e={e} p={p} /> : null}
      </div>
      {e?.team_scores ? <Teams e={e} p={p} /> : null}
      {e?.zone_scores ? <Zones e={e} /> : null}
    </>
  );
}

// pointsHref is the list of the reader's points, of a month or of all time.
function pointsHref(p: Permissions, month?: Engagement['user_score']): string {
  const conditions: Condition[] = [
    ['user_id', 'eq', p.user_id],
    ['reversed_at', 'is', 'null'],
  ];
  if (month)
    conditions.push(
      ['occurred_at', 'gte', momentOf(`${month.period_start}T00:00`, homeZone())],
      ['occurred_at', 'lte', endOf(month.period_end, homeZone())],
    );
  return `/console/c/point_events${formatView({ conditions, order: ['occurred_at', 'desc'] })}`;
}

type EarnedQuery = ReturnType<typeof useEarned>;

// Figures are what was earned in numbers. The streak is made of points that are read: where they are not, there is none.
function Figures({ e, earned, p }: { e: Engagement; earned: EarnedQuery; p: Permissions }) {
  const list = earned.data;
  const streak = list && streakOf(list);
  const hasStreak = !!p.collections['point_events']?.read && (!!list || !earned.error);
  return (
    <div class="tiles">
      <Tile
        name={_('Score of the month')}
        icon="gauge"
        value={e.user_score.score}
        note={_('of 100: points of the month in per cent of the target')}
        href={pointsHref(p, e.user_score)}
      />
      <Tile name={_('My points')} icon="star" value={e.total_points} note={_('of all time')} href={pointsHref(p)} />
      {hasStreak ? (
        <Tile
          name={_('Streak')}
          icon="bolt"
          value={streak}
          show={(n) => (list && isStreakCut(list) ? _('at least {n}', { n: brief(n) }) : brief(n))}
          note={plural(streak ?? 0, 'week running with points', 'weeks running with points')}
          href={pointsHref(p)}
        />
      ) : null}
      <Tile
        name={_('My badges')}
        icon="shield"
        value={e.badges.length}
        note={e.badges[0] ? _('the latest: {what}', { what: e.badges[0].name }) : _('none yet')}
        href={`/console/c/user_badges${formatView({ conditions: [['user_id', 'eq', p.user_id]] })}`}
      />
    </div>
  );
}

// What lists the records that earned points.
function What({ earned }: { earned: EarnedQuery }) {
  const [most, setMost] = useState(firstEarned);
  const list = earned.data;
  return (
    <Card flush title={_('What earned them')}>
      {earned.error ? (
        <div class="body">
          <Problem error={earned.error} retry={() => void earned.refetch()} />
        </div>
      ) : null}
      {list === undefined ? (
        earned.error ? null : (
          <div class="body">
            <Skeleton lines={3} />
          </div>
        )
      ) : list.length ? (
        <ul class="lines">
          {list.slice(0, most).map((x) => (
            <li key={x.id}>
              <span class="grow">
                <span class="strong">{words(x.kind)}</span>
                <span class="small stands">
                  <Named collection={x.source_type} ids={[x.source_id]} />
                </span>
              </span>
              <span class="small muted" title={dateTime(x.occurred_at)}>
                {ago(x.occurred_at)}
              </span>
              <span class="earned">+{number(x.points)}</span>
            </li>
          ))}
        </ul>
      ) : (
        <Empty title={_('No points yet')} icon="star" action={<Report />}>
          {_('A report that is accepted, an action that is verified, an inspection, a course or a talk earns some.')}
        </Empty>
      )}
      {list && list.length > most ? (
        <div class="pager">
          <Button size="small" onClick={() => setMost(most + 100)}>
            {_('Show {n} more', { n: number(Math.min(100, list.length - most)) })}
          </Button>
        </div>
      ) : null}
    </Card>
  );
}

function Report() {
  const p = usePermissions();
  return p?.collections['incidents']?.create ? (
    <LinkButton kind="primary" icon="plus" href="/console/report">
      {_('Make a report')}
    </LinkButton>
  ) : null;
}

// Badges are those that were earned, with what each is for, and behind a fold those that can be.
function Badges({ e, p }: { e: Engagement; p: Permissions }) {
  const all = useQuery({
    queryKey: ['c', 'badges', 'all'],
    queryFn: () => want(records('badges').select('id,code,name,description').order('code').limit(200)),
    enabled: !!p.collections['badges']?.read,
    staleTime: 5 * 60_000,
  });
  const has = new Set(e.badges.map((b) => b.id));
  const others = (all.data ?? []).filter((b) => !has.has(b.id));
  return (
    <Card title={_('My badges')}>
      <div class="stack">
        {e.badges.length ? (
          <ul class="badges">
            {e.badges.map((b) => (
              <li key={b.id}>
                <Icon name="star" size={20} />
                <span class="grow">
                  <a href={hrefOf('badges', b.id)}>{b.name}</a>
                  <span class="small muted stands">{b.description}</span>
                </span>
                <span class="small muted">{date(b.awarded_at)}</span>
              </li>
            ))}
          </ul>
        ) : (
          <p class="muted">{_('None yet.')}</p>
        )}
        {others.length ? (
          <details class="fold">
            <summary>{plural(others.length, '{n} more can be earned', '{n} more can be earned')}</summary>
            <ul class="badges">
              {others.map((b) => (
                <li key={b.id}>
                  <span class="grow">
                    <a href={hrefOf('badges', b.id)}>{String(b['name'])}</a>
                    <span class="small muted stands">{String(b['description'] ?? '')}</span>
                  </span>
                </li>
              ))}
            </ul>
          </details>
        ) : null}
      </div>
    </Card>
  );
}

// Teams are the teams of the month, the best first; what is too small to be shown is counted alone.
function Teams({ e, p }: { e: Engagement; p: Permissions }) {
  const teams = (e.team_scores ?? []).filter((t) => t !== null);
  return (
    <Card flush title={_('Teams this month')}>
      {teams.length ? (
        <div class="table stacks" role="region" tabIndex={0} aria-label={_('Teams this month')}>
          <table>
            <thead>
              <tr>
                <th>{_('Team')}</th>
                <th class="num">{_('Score')}</th>
                <th class="num">{_('Members who sign in')}</th>
              </tr>
            </thead>
            <tbody>
              {teams.map((t) => (
                <tr key={t.team_id}>
                  <td data-label={_('Team')}>
                    <a class="strong" href={hrefOf('teams', t.team_id)}>
                      {t.code} {t.name}
                    </a>
                  </td>
                  <td class="num" data-label={_('Score')}>
                    {number(t.score, 1)}
                  </td>
                  <td class="num" data-label={_('Members who sign in')}>
                    {number(t.n)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <p class="body muted">{_('No team is large enough to be shown.')}</p>
      )}
      {e.suppressed ? (
        <div class="body">
          <Note>
            {plural(
              e.suppressed,
              '{n} team is not shown: too few people, or who is in it could be told from the others.',
              '{n} teams are not shown: too few people, or who is in them could be told from the others.',
            )}{' '}
            {p.collections['settings']?.read ? (
              <a href="/console/admin/settings">{_('The least size is a setting')}</a>
            ) : null}
          </Note>
        </div>
      ) : null}
    </Card>
  );
}

type Zone = NonNullable<NonNullable<Engagement['zone_scores']>[number]>;

// partsOf says what a zone's score is made of.
function partsOf({ parts, n }: Zone): string {
  if (!n) return _('nothing was due and nothing is on record');
  const risk = parts.predictive_score;
  return [
    risk == null ? '' : _('risk score {n}', { n: number(risk, 1) }),
    _('inspections in time {n} %', { n: number(parts.checklist_compliance, 1) }),
    _('actions in time {n} %', { n: number(parts.actions_on_time, 1) }),
  ]
    .filter(Boolean)
    .join(' · ');
}

// Zones are how safe places are kept, the best first: places, not people.
function Zones({ e }: { e: Engagement }) {
  const zones = (e.zone_scores ?? [])
    .filter((z) => z !== null)
    .sort((x, y) => y.score - x.score || x.code.localeCompare(y.code));
  const [most, setMost] = useState(firstEarned);
  return (
    <Card flush title={_('Zones this month')}>
      {zones.length ? (
        <ul class="lines">
          {zones.slice(0, most).map((z) => (
            <li key={z.zone_id}>
              <span class="grow">
                <a class="strong" href={hrefOf('zones', z.zone_id)}>
                  {z.code} {z.name}
                </a>
                <span class="small muted stands">{partsOf(z)}</span>
              </span>
              <span class="zone-score">
                <Meter value={z.score} label={_('Score of {what}', { what: z.code })} warn={101} bad={101} />
              </span>
              <span class="num strong">{number(z.score, 1)}</span>
            </li>
          ))}
        </ul>
      ) : (
        <p class="body muted">{_('No zone has figures this month.')}</p>
      )}
      {zones.length > most ? (
        <div class="pager">
          <Button size="small" onClick={() => setMost(zones.length)}>
            {_('Show {n} more', { n: number(zones.length - most) })}
          </Button>
        </div>
      ) : null}
    </Card>
  );
}
