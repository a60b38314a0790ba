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

interface Status extends Record<string, Window | Record<string, Window> | null> {
  tenant: Record<string, Window> | null;
}

interface Refusal {
  at: string;
  category: string;
  scope: string;
  limit: number;
  retry_after: number;
}

const names: Record<string, string> = {
  api: 'Requests',
  database: 'Reads of the database',
  database_write: 'Writes to the database',
};
const categories: Record<string, string> = {
  api: 'Requests',
  auth: 'Sign-ins',
  webhook: 'Webhooks',
  read: 'Reads of the database',
  write: 'Writes to the database',
};

// Limits are how much of each the organisation and the one who looks have used in the last
// minute, and when somebody was refused.
export function Limits() {
  const q = useQuery({
    queryKey: ['limits'],
    queryFn: () => api<Status>('/v1/rate-limit/status'),
    refetchInterval: 5000,
  });
  return (
    <div class="stack">
      <Problem error={q.error} />
      <div class="grid">
        {Object.keys(names).map((name) =>
          q.data ? <Used key={name} name={name} own={q.data[name] as Window} all={q.data.tenant?.[name]} /> : null,
        )}
      </div>
      <Refusals />
      <Note>
        {_(
          'Each person and each key has limits of its own, so that one script stops nobody else. Whoever passes one reads how long to wait; a webhook can tell you, too: rate_limit.exceeded.',
        )}
      </Note>
    </div>
  );
}

function Used({ name, own, all }: { name: string; own: Window; all?: Window }) {
  const title = _(names[name] ?? words(name));
  const rows: [string, Window | undefined][] = [
    [_('The whole organisation, in a minute'), all],
    [_('You, in a minute'), own],
  ];
  return (
    <Card title={title}>
      <div class="stack">
        {rows.map(([who, w]) =>
          w ? (
            <div key={who} class="stack tight">
              <div class="row">
                <b style={{ fontSize: '1.6rem' }}>{number(w.limit - w.remaining)}</b>
                <span class="muted">{_('of {n}', { n: number(w.limit) })}</span>
              </div>
              <Meter value={((w.limit - w.remaining) / w.limit) * 100} warn={70} bad={90} label={`${title}: ${who}`} />
              <span class="small muted">{who}</span>
            </div>
          ) : null,
        )}
      </div>
    </Card>
  );
}

function Refusals() {
  const q = useQuery({
    queryKey: ['limits', 'refusals'],
    queryFn: async () => (await api<{ refusals: Refusal[] }>('/v1/rate-limit/refusals')).refusals,
    refetchInterval: 30_000,
    meta: { live: true },
  });
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
                <th scope="col">{_('Limit of')}</th>
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
                <tr key={r.at + r.category + r.scope}>
                  <td title={ago(r.at)}>{dateTime(r.at)}</td>
                  <td data-label={_('Limit')}>{_(categories[r.category] ?? words(r.category))}</td>
                  <td data-label={_('Limit of')}>
                    {r.scope === 'caller' ? _('one person or key') : _('the whole organisation')}
                  </td>
                  <td class="num" data-label={_('In a minute')}>
                    {number(r.limit)}
                  </td>
                  <td class="num" data-label={_('Told to wait')}>
                    {_('{n} s', { n: number(r.retry_after) })}
                  </td>
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
