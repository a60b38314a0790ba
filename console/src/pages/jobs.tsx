import { useLocation } from 'preact-iso';
import { api } from '../lib/client';
import { words } from '../lib/catalog';
import { ago, dateTime, number } from '../lib/format';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { Badge, Button, Card, Empty, Problem, Segments, Skeleton } from '../ui/basic';
import { fail, toast } from '../ui/overlay';

interface Job {
  kind: string;
  doc: string;
  key: string;
  whose: 'tenant' | 'server';
  status: 'pending' | 'running' | 'done' | 'failed';
  tries: number;
  made_at: string;
  due_at: string;
  done_at: string | null;
}

const states: [string, string][] = [
  ['', 'Not done'],
  ['failed', 'Given up'],
  ['done', 'Done'],
];

// Jobs is the work outside requests: mails of the organisation, and what the server does on a schedule.
export function Jobs() {
  const { query, route } = useLocation();
  const status = query['status'] ?? '';
  const q = useQuery({
    queryKey: ['jobs', status],
    queryFn: async () => (await api<{ jobs: Job[] }>(`/v1/jobs${status ? `?status=${status}` : ''}`)).jobs,
    refetchInterval: 10_000,
  });
  const own = (q.data ?? []).filter((j) => j.whose === 'tenant');
  const server = (q.data ?? []).filter((j) => j.whose === 'server');
  const retry = (kind: string, key?: string) =>
    api<{ due: number }>('/v1/jobs/retry', { method: 'POST', json: { kind, ...(key ? { key } : {}) } }).then((r) => {
      toast(_('{n} due now', { n: number(r.due) }));
      void q.refetch();
    }, fail);
  return (
    <div class="stack">
      <div class="row">
        <Segments
          label={_('Which')}
          options={states.map(([v, text]): [string, string] => [v, _(text)])}
          at={status}
          go={(v) => route(`/console/admin/jobs${v ? `?status=${v}` : ''}`, true)}
        />
      </div>
      <Problem error={q.error} retry={() => void q.refetch()} />
      <Card flush title={_('For your organisation')}>
        {q.isPending ? (
          <div class="body">
            <Skeleton />
          </div>
        ) : own.length ? (
          <Table list={own} label={_('For your organisation')} retry={retry} />
        ) : (
          <Empty
            title={
              status === 'failed' ? _('Nothing was given up') : status ? _('Nothing was done yet') : _('Nothing waits')
            }
            icon="check"
          >
            {_('Mails and the like are sent beside the request that asks for them, and tried again when they fail.')}
          </Empty>
        )}
      </Card>
      {server.length ? (
        <Card flush title={_('The server’s own schedule')}>
          <Table list={server} label={_('The server’s own schedule')} />
        </Card>
      ) : null}
    </div>
  );
}

function Table({ list, label, retry }: { list: Job[]; label: string; retry?: (kind: string, key: string) => unknown }) {
  return (
    <div class="table stacks" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {[_('Work'), _('Status'), _('Tries'), _('Due'), _('Done')].map((t) => (
              <th key={t} scope="col">
                {t}
              </th>
            ))}
            {retry ? (
              <th scope="col">
                <span class="sr">{_('More')}</span>
              </th>
            ) : null}
          </tr>
        </thead>
        <tbody>
          {list.map((j) => (
            <tr key={`${j.kind} ${j.key}`}>
              <td class="wrap">
                <div>
                  <span class="strong">{words(j.kind.replace(/-/g, '_'))}</span>
                  <span class="small muted" style={{ display: 'block' }}>
                    {_(j.doc) || j.key}
                  </span>
                </div>
              </td>
              <td>
                <Badge state={j.status}>{j.status === 'failed' ? _('Given up') : undefined}</Badge>
              </td>
              <td class="num" data-label={_('Tries')}>
                {number(j.tries)}
              </td>
              <td data-label={_('Due')} title={dateTime(j.due_at)}>
                {ago(j.due_at)}
              </td>
              <td data-label={_('Done')}>
                {j.done_at ? <span title={dateTime(j.done_at)}>{ago(j.done_at)}</span> : <span class="muted">–</span>}
              </td>
              {retry ? (
                <td class="num end">
                  {j.status === 'failed' || j.status === 'pending' ? (
                    <Button size="small" icon="refresh" onClick={() => void retry(j.kind, j.key)}>
                      {_('Try now')}
                    </Button>
                  ) : null}
                </td>
              ) : null}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
