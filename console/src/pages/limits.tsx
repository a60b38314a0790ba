import { api } from '../lib/client';
import { words } from '../lib/catalog';
import { ago, dateTime, number } from '../lib/format';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { Card, Empty, Meter, Note, Problem, Skeleton } from '../ui/basic';

interface Window {
  limit: number;
  remaining: number;
  reset_at: string;
}

interface Refusal {
  at: string;
  category: string;
  limit: number;
  retry_after: number;
}

const names: Record<string, [string, string]> = {
  api: ['Requests', 'of the whole organisation, in a minute'],
  database: ['Reads of the database', 'in a minute'],
  database_write: ['Writes to the database', 'in a minute'],
};
const categories: Record<string, string> = { api: 'Requests', auth: 'Sign-ins', webhook: 'Webhooks', read: 'Reads of the database', write: 'Writes to the database' };

// Limits are how much of each the organisation has used, and when it was refused.
export function Limits() {
  const q = useQuery({ queryKey: ['limits'], queryFn: () => api<Record<string, Window>>('/v1/rate-limit/status'), refetchInterval: 5000 });
  return (
    <div class="stack">
      <Problem error={q.error} />
      <div class="grid">
        {Object.entries(q.data ?? {}).map(([name, w]) => {
          const used = w.limit - w.remaining;
          return (
            <Card key={name} title={_(names[name]?.[0] ?? words(name))}>
              <div class="stack tight">
                <div class="row">
                  <b style={{ fontSize: '1.6rem' }}>{number(used)}</b>
                  <span class="muted">{_('of {n}', { n: number(w.limit) })}</span>
                </div>
                <Meter value={(used / w.limit) * 100} warn={70} bad={90} label={_(names[name]?.[0] ?? name)} />
                <span class="small muted">{_(names[name]?.[1] ?? '')}</span>
              </div>
            </Card>
          );
        })}
      </div>
      <Refusals />
      <Note>{_('Who passes a limit is told how long to wait. A webhook can tell you: rate_limit.exceeded.')}</Note>
    </div>
  );
}

function Refusals() {
  const q = useQuery({ queryKey: ['limits', 'refusals'], queryFn: async () => (await api<{ refusals: Refusal[] }>('/v1/rate-limit/refusals')).refusals, refetchInterval: 30_000, meta: { live: true } });
  return (
    <Card flush title={_('Refusals of the last seven days')}>
      {q.error ? (
        <div class="body">
          <Problem error={q.error} retry={() => void q.refetch()} />
        </div>
      ) : q.isPending ? (
        <div class="body">
          <Skeleton />
        </div>
      ) : q.data?.length ? (
        <div class="table stacks" tabIndex={0} role="region" aria-label={_('Refusals of the last seven days')}>
          <table>
            <thead>
              <tr>
                <th scope="col">{_('When')}</th>
                <th scope="col">{_('Limit')}</th>
                <th scope="col" class="num">
                  {_('In a minute')}
                </th>
                <th scope="col" class="num">
                  {_('Told to wait')}
                </th>
              </tr>
            </thead>
            <tbody>
              {q.data.map((r) => (
                <tr key={r.at + r.category}>
                  <td title={ago(r.at)}>{dateTime(r.at)}</td>
                  <td data-label={_('Limit')}>{_(categories[r.category] ?? words(r.category))}</td>
                  <td class="num" data-label={_('In a minute')}>{number(r.limit)}</td>
                  <td class="num" data-label={_('Told to wait')}>{_('{n} s', { n: number(r.retry_after) })}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <Empty title={_('Nothing was refused')} icon="gauge">
          {_('A minute in which requests went over a limit is noted here, once for each limit.')}
        </Empty>
      )}
    </Card>
  );
}
