import { useLocation } from 'preact-iso';
import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { api, supabase, want } from '../lib/client';
import { singular, titleOf, useCatalog, words, type Permissions } from '../lib/catalog';
import { ago, dateTime } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { useQuery } from '../lib/query';
import type { Row } from '../database';
import { Badge, Button, Card, Copy, Empty, Note, Problem, Skeleton } from '../ui/basic';
import { Check } from '../ui/form';
import { Diff } from '../ui/related';
import { Named, useCalledPeople } from '../ui/value';

interface Entry extends Row {
  at: string;
  action: string;
  entity_type: string | null;
  entity_id: string | null;
  actor_user_id: string | null;
  key_id: string | null;
  outcome: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  address: string | null;
  request_id: string | null;
}

interface Verdict {
  whole: boolean;
  rows: number;
  waiting: number;
  head: string;
  sealed_at: string | null;
  breaks: { no: number; id: string; why: string }[];
  checked_at: string;
}

// How the log is kept, where nothing more is known of it.
const howSealed =
  'Each row carries a code of the server, and a chain of seals holds which rows there are. The check reads them all.';

// Chain asks the server to read every row again, and says whether the log is as it was written.
function Chain() {
  const [asked, setAsked] = useState(false);
  const q = useQuery({
    queryKey: ['audit-chain'],
    queryFn: () => api<Verdict>('/v1/audit-chain'),
    enabled: asked,
    staleTime: 60_000,
  });
  const v = q.data;
  return (
    <Card
      title={_('Is the log as it was written?')}
      actions={
        <Button
          size="small"
          icon="shield"
          busy={q.isFetching}
          onClick={() => (asked ? void q.refetch() : setAsked(true))}
        >
          {_('Check every row')}
        </Button>
      }
    >
      <Problem error={q.error} />
      {v ? (
        <div class="stack tight">
          <Note kind={v.whole ? 'good' : 'bad'}>
            <b>
              {v.whole
                ? _('Whole: no row was changed, removed or put in.')
                : _('The log was changed after it was written.')}
            </b>
            <div class="small">
              {plural(v.rows, '{n} row is sealed', '{n} rows are sealed')}
              {v.waiting ? `, ${plural(v.waiting, '{n} waits for its seal', '{n} wait for their seal')}` : ''} ·{' '}
              {_('checked {when}', { when: ago(v.checked_at) })}
            </div>
          </Note>
          {v.breaks.map((b) => (
            <div key={`${b.no} ${b.id}`} class="row small">
              <Badge tone="bad">{`#${b.no}`}</Badge>
              <span>{b.why}</span>
              <code>{b.id}</code>
            </div>
          ))}
          {v.head ? (
            <div class="row tight small muted">
              {_('Newest seal')} <code class="clip">{v.head.slice(0, 16)}</code>{' '}
              <Copy text={v.head} label={_('Copy it to keep it elsewhere')} />
            </div>
          ) : null}
        </div>
      ) : (
        <p class="muted small">
          {_(howSealed)}
        </p>
      )}
    </Card>
  );
}

// Audit is who did what and when; filters are in the address.
export function Audit({ p }: { p: Permissions }) {
  const { query, route } = useLocation();
  const catalog = useCatalog();
  const names = useCalledPeople(p);
  const go = (next: Record<string, string>) => {
    const q = new URLSearchParams({ ...query, before: '', ...next });
    for (const [k, v] of [...q]) if (!v) q.delete(k);
    route(`/console/admin/audit?${q}`, true);
  };
  const q = useQuery({
    queryKey: ['c', 'audit', 'list', JSON.stringify(query)],
    queryFn: () => {
      let r = supabase.from('audit').select('*').order('id', { ascending: false }).limit(51);
      if (query['who']) r = r.eq('actor_user_id', query['who']);
      if (query['what']) r = r.eq('entity_type', query['what']);
      if (query['outcome']) r = r.eq('outcome', query['outcome']);
      if (query['before']) r = r.lt('id', query['before']);
      return want<Entry[]>(r);
    },
  });
  const list = (q.data ?? []).slice(0, 50);
  const [at, setAt] = useState('');
  return (
    <div class="stack">
      <Chain />
      <Card flush>
        <div class="filters">
          <select
            class="input"
            style={{ inlineSize: 'auto' }}
            aria-label={_('Who')}
            value={query['who'] ?? ''}
            onChange={(e) => go({ who: e.currentTarget.value })}
          >
            <option value="">{_('Everybody')}</option>
            {[...names].map(([id, name]) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
          <select
            class="input"
            style={{ inlineSize: 'auto' }}
            aria-label={_('What')}
            value={query['what'] ?? ''}
            onChange={(e) => go({ what: e.currentTarget.value })}
          >
            <option value="">{_('Everything')}</option>
            {['session', ...(catalog?.keys() ?? [])].map((n) => (
              <option key={n} value={n}>
                {titleOf(n)}
              </option>
            ))}
          </select>
          <Check
            label={_('Refusals only')}
            on={query['outcome'] === 'denied'}
            put={(v) => go({ outcome: v ? 'denied' : '' })}
          />
        </div>
        <Problem error={q.error} />
        {q.isPending ? (
          <div class="body">
            <Skeleton lines={8} />
          </div>
        ) : list.length ? (
          <div class="table stacks" tabIndex={0} role="region" aria-label={_('Audit log')}>
            <table>
              <thead>
                <tr>
                  {[_('When'), _('Who'), _('What'), _('Record'), _('Outcome')].map((t) => (
                    <th key={t} scope="col">
                      {t}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {list.map((e) => (
                  <Fragment key={e.id}>
                    <tr key={e.id}>
                      <td title={dateTime(e.at)}>{ago(e.at)}</td>
                      <td data-label={_('Who')}>
                        {e.actor_user_id
                          ? (names.get(e.actor_user_id) ?? _('Somebody'))
                          : e.key_id
                            ? _('A key')
                            : _('The server')}
                      </td>
                      <td data-label={_('What')}>
                        <button
                          type="button"
                          class="link"
                          aria-expanded={at === e.id}
                          onClick={() => setAt(at === e.id ? '' : e.id)}
                        >
                          {words(e.action)}
                        </button>
                      </td>
                      <td data-label={_('Record')}>
                        {e.entity_type && e.entity_id && catalog?.has(e.entity_type) ? (
                          <span class="row tight">
                            <span class="muted">{singular(e.entity_type)}</span>
                            <Named collection={e.entity_type} ids={[e.entity_id]} />
                          </span>
                        ) : (
                          words(e.entity_type ?? '')
                        )}
                      </td>
                      <td>
                        <Badge tone={e.outcome === 'ok' ? 'good' : 'bad'}>{words(e.outcome)}</Badge>
                      </td>
                    </tr>
                    {at === e.id ? (
                      <tr key={`${e.id} more`}>
                        <td colSpan={5} class="wrap">
                          <Diff c={catalog?.get(e.entity_type ?? '')} e={e} />
                          <div class="small muted row">
                            {e.address}{' '}
                            {e.request_id ? (
                              <Copy
                                text={e.request_id}
                                label={_('Copy request number {id}', { id: e.request_id.slice(0, 8) })}
                              />
                            ) : null}
                          </div>
                        </td>
                      </tr>
                    ) : null}
                  </Fragment>
                ))}
              </tbody>
            </table>
          </div>
        ) : (
          <Empty title={_('Nothing matches')} />
        )}
        <div class="pager">
          <span class="push" />
          <Button
            size="small"
            disabled={(q.data?.length ?? 0) <= 50}
            onClick={() => go({ before: list[list.length - 1]?.id ?? '' })}
          >
            {_('Older')}
          </Button>
        </div>
      </Card>
    </div>
  );
}
