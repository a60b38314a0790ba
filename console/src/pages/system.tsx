import { api } from '../lib/client';
import { ago, dateTime, number } from '../lib/format';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { Badge, Card, Note, Problem, Skeleton } from '../ui/basic';

interface Ready {
  status: string;
  checks?: Record<string, unknown>;
  reasons?: unknown;
}

interface Server {
  version: string;
  engine: string;
  engine_version: string;
}

interface Backups {
  scheduled: boolean;
  every_seconds: number;
  last_good_at: string | null;
  age_seconds: number | null;
  bytes: number | null;
  place: { looked_at: string | null; ok: boolean; missing: number } | null;
  drill: { proved_at: string | null; problem?: string } | null;
}

// ready reads /readyz, which says why also when it is not.
async function ready(): Promise<Ready> {
  const r = await fetch('/readyz');
  return (await r.json()) as Ready;
}

// System is how the server is: whether it takes requests, what it runs on, how old its last backup is.
export function System() {
  const health = useQuery({ queryKey: ['readyz'], queryFn: ready, refetchInterval: 15_000 });
  const backup = useQuery({
    queryKey: ['backup-status'],
    queryFn: () => api<Backups>('/v1/backup-status'),
    refetchInterval: 60_000,
  });
  const server = useQuery({ queryKey: ['server'], queryFn: () => api<Server>('/v1/server') });
  const h = health.data;
  const b = backup.data;
  const old = b?.scheduled && (b.age_seconds == null || b.age_seconds > 2 * b.every_seconds);
  const away = b?.place?.looked_at && !b.place.ok;
  const every = (s: number) =>
    s % 86_400 === 0
      ? _('every {n} days', { n: number(s / 86_400) })
      : _('every {n} hours', { n: number(s / 3600, 1) });
  return (
    <div class="grid" style={{ '--min': '320px' }}>
      <Card
        title={_('Server')}
        actions={
          h ? (
            <Badge tone={h.status === 'ready' ? 'good' : 'bad'}>
              {h.status === 'ready' ? _('ready') : _('not ready')}
            </Badge>
          ) : null
        }
      >
        <Problem error={health.error} retry={() => void health.refetch()} />
        <Problem error={server.error} retry={() => void server.refetch()} />
        {h && server.data ? (
          <dl class="facts">
            <div>
              <dt>{_('Version')}</dt>
              <dd>{server.data.version}</dd>
            </div>
            <div>
              <dt>{_('Database')}</dt>
              <dd>
                {server.data.engine} {server.data.engine_version}
              </dd>
            </div>
          </dl>
        ) : (
          <Skeleton />
        )}
        {h && h.status !== 'ready' ? (
          <Note kind="bad">
            <pre class="mono small">{JSON.stringify(h, null, 2)}</pre>
          </Note>
        ) : null}
      </Card>
      <Card
        title={_('Backup')}
        actions={
          b ? (
            <Badge tone={!b.scheduled ? 'warn' : old || away ? 'bad' : 'good'}>
              {!b.scheduled ? _('not scheduled') : away ? _('missing') : old ? _('too old') : _('in time')}
            </Badge>
          ) : null
        }
      >
        <Problem error={backup.error} retry={() => void backup.refetch()} />
        {b ? (
          <div class="stack tight">
            <div class="row">
              <span
                style={{ fontSize: '1.6rem', fontWeight: 650 }}
                title={b.last_good_at ? dateTime(b.last_good_at) : undefined}
              >
                {b.last_good_at ? ago(b.last_good_at) : _('none yet')}
              </span>
              {b.bytes ? <span class="muted">{_('{n} MB', { n: number(b.bytes / 1_000_000, 1) })}</span> : null}
            </div>
            <p class="muted small">
              {b.scheduled
                ? _('The server makes one by itself, {every}.', { every: every(b.every_seconds) })
                : _(
                    'The server makes none by itself. Whoever runs it sets backup_to, or calls holdfast backup on a schedule of their own.',
                  )}
            </p>
            {away ? (
              <Note kind="bad">
                {_('Backups are gone from their place, or it cannot be used. “holdfast doctor” says what is wrong.')}
              </Note>
            ) : null}
            {b.drill?.problem ? (
              <Note kind="bad">{_('The last restore on trial failed. “holdfast doctor” says why.')}</Note>
            ) : b.drill?.proved_at ? (
              <p class="muted small">
                {_('One was restored on trial {when}.', { when: ago(b.drill.proved_at) })}
              </p>
            ) : null}
          </div>
        ) : (
          <Skeleton />
        )}
      </Card>
    </div>
  );
}
