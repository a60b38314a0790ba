import { lazy, useLocation, useRoute } from 'preact-iso';
import { useState } from 'preact/hooks';
import { api, records, supabase, want } from '../lib/client';
import { titleOf, useCatalog, usePermissions, words, type Permissions } from '../lib/catalog';
import { ago, dateTime, number } from '../lib/format';
import { _ } from '../lib/i18n';
import { queryClient, useQuery } from '../lib/query';
import type { Database, Row } from '../database';
import { Badge, Button, Card, Copy, Empty, Head, Meter, Note, Problem, Skeleton } from '../ui/basic';
import { Ask, Dialog } from '../ui/dialog';
import { Check, Input, Select } from '../ui/form';
import { Icon } from '../ui/icon';
import { fail, Menu, toast } from '../ui/overlay';
import { Json, useNames } from '../ui/value';
import { Diff } from '../ui/related';

const Keys = lazy(() => import('./keys').then((m) => m.Keys));
const Connections = lazy(() => import('./sso').then((m) => m.Connections));
const System = lazy(() => import('./system').then((m) => m.System));

const tabs: [string, string][] = [
  ['members', 'Members'],
  ['keys', 'Keys'],
  ['webhooks', 'Webhooks'],
  ['limits', 'Limits'],
  ['audit', 'Audit log'],
  ['sso', 'Single sign-on'],
  ['settings', 'Settings'],
  ['system', 'System'],
];

// AdminPage is what administrators keep: people, connections, limits, traces.
export function AdminPage() {
  const { params } = useRoute();
  const at = params['tab'] || 'members';
  const p = usePermissions();
  if (!p) return <Skeleton lines={8} />;
  if (p.role !== 'owner' && p.role !== 'admin') return <Empty title={_('Administrators keep these pages')} icon="shield" />;
  return (
    <>
      <Head title={_('Administration')} sub={_('Who may come in, what leaves, and what was done.')} />
      <nav class="tabs" aria-label={_('Administration')}>
        {tabs.map(([id, text]) => (
          <a key={id} href={`/console/admin/${id}`} aria-current={id === at ? 'page' : undefined}>
            {_(text)}
          </a>
        ))}
      </nav>
      {at === 'members' ? <Members p={p} /> : at === 'keys' ? <Keys p={p} /> : at === 'webhooks' ? <Webhooks /> : at === 'limits' ? <Limits /> : at === 'audit' ? <Audit p={p} /> : at === 'sso' ? <Sso /> : at === 'system' ? <System /> : <Settings />}
    </>
  );
}

const again = () => void queryClient.invalidateQueries({ queryKey: ['c'] });
type Role = Database['public']['Enums']['members_role'];
const roles: Role[] = ['owner', 'admin', 'manager', 'safety', 'operator', 'driver', 'viewer'];
const roleWords: Record<string, string> = { admin: 'everything in the organisation', manager: 'stock, orders, people', safety: 'incidents, actions, inspections', operator: 'own work on the floor', driver: 'own trips', viewer: 'reads, without personal fields' };

function useTable(name: string, order = 'created_at') {
  return useQuery({ queryKey: ['c', name, 'admin'], queryFn: () => want(records(name).select('*').order(order, { ascending: false }).limit(200)), meta: { live: true } });
}

function Members({ p }: { p: Permissions }) {
  const members = useTable('members');
  const invitations = useTable('invitations');
  const [inviting, setInviting] = useState(false);
  const [seeing, setSeeing] = useState<Row | null>(null);
  const change = async (m: Row, body: { role?: Role; status?: 'active' | 'suspended' }, said: string) => {
    try {
      await want(supabase.from('members').update(body).eq('id', m.id));
      toast(said);
      again();
    } catch (e) {
      fail(e);
    }
  };
  const pending = (invitations.data ?? []).filter((i) => i['status'] === 'pending');
  return (
    <div class="stack">
      <Problem error={members.error} />
      <Card
        flush
        title={_('Members')}
        actions={
          <Button kind="primary" icon="plus" onClick={() => setInviting(true)}>
            {_('Invite')}
          </Button>
        }
      >
        {members.isPending ? (
          <div class="body">
            <Skeleton lines={6} />
          </div>
        ) : (
          <div class="table" tabIndex={0} role="region" aria-label={_('Members')}>
            <table>
              <thead>
                <tr>
                  <th scope="col">{_('Address')}</th>
                  <th scope="col">{_('Role')}</th>
                  <th scope="col">{_('Status')}</th>
                  <th scope="col">{_('Last seen')}</th>
                  <th scope="col">
                    <span class="sr">{_('More')}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {(members.data ?? []).map((m) => (
                  <tr key={m.id}>
                    <td class="strong">{String(m['email'] ?? '–')}</td>
                    <td>
                      <select
                        class="input"
                        style={{ inlineSize: 'auto' }}
                        aria-label={_('Role of {who}', { who: String(m['email']) })}
                        value={String(m['role'])}
                        disabled={m['user_id'] === p.user_id || (m['role'] === 'owner' && p.role !== 'owner')}
                        onChange={(e) => void change(m, { role: e.currentTarget.value as Role }, _('{who} is {role}', { who: String(m['email']), role: words(e.currentTarget.value) }))}
                      >
                        {roles.filter((r) => r !== 'owner' || m['role'] === 'owner').map((r) => (
                          <option key={r} value={r}>
                            {words(r)}
                          </option>
                        ))}
                      </select>
                    </td>
                    <td>
                      <Badge state={m['status']} />
                    </td>
                    <td class="muted">{m['last_seen_at'] ? ago(m['last_seen_at']) : _('never')}</td>
                    <td class="num">
                      <Menu kind="quiet" icon="more" label={_('More for {who}', { who: String(m['email']) })}>
                        {(close) => (
                          <>
                            <button
                              type="button"
                              onClick={() => {
                                close();
                                setSeeing(m);
                              }}
                            >
                              <Icon name="shield" size={16} />
                              {_('What may they do?')}
                            </button>
                            <button
                              type="button"
                              onClick={() => {
                                close();
                                api(`/auth/v1/tenant/members/${m['user_id']}/sessions`, { method: 'DELETE' }).then(() => toast(_('Signed out everywhere')), fail);
                              }}
                            >
                              <Icon name="out" size={16} />
                              {_('Sign them out everywhere')}
                            </button>
                            {m['user_id'] !== p.user_id ? (
                              <button
                                type="button"
                                onClick={() => {
                                  close();
                                  void change(m, { status: m['status'] === 'suspended' ? 'active' : 'suspended' }, m['status'] === 'suspended' ? _('May come in again') : _('Suspended'));
                                }}
                              >
                                <Icon name="close" size={16} />
                                {m['status'] === 'suspended' ? _('Let in again') : _('Suspend')}
                              </button>
                            ) : null}
                          </>
                        )}
                      </Menu>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Card>
      {pending.length ? (
        <Card flush title={_('Invitations that wait')}>
          <ul class="lines">
            {pending.map((i) => (
              <li key={i.id}>
                <span class="grow strong clip">{String(i['email'])}</span>
                <Badge tone="info">{words(String(i['role']))}</Badge>
                <span class="muted small nobreak">{i['expires_at'] ? _('until {when}', { when: dateTime(i['expires_at']) }) : ''}</span>
                <Button
                  size="small"
                  kind="danger"
                  onClick={() =>
                    want(supabase.from('invitations').update({ status: 'revoked' }).eq('id', i.id)).then(() => {
                      toast(_('The invitation holds no longer'));
                      again();
                    }, fail)
                  }
                >
                  {_('Revoke')}
                </Button>
              </li>
            ))}
          </ul>
        </Card>
      ) : null}
      {inviting ? <Invite close={() => setInviting(false)} /> : null}
      {seeing ? <May m={seeing} close={() => setSeeing(null)} /> : null}
    </div>
  );
}

function Invite({ close }: { close: () => void }) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState('operator');
  const [link, setLink] = useState('');
  const [by, setBy] = useState('mail');
  if (link)
    return (
      <Dialog title={_('Hand this link over')} close={close} footer={<Button kind="primary" onClick={close}>{_('Done')}</Button>}>
        <p>{_('It works once, for {email}. It is shown this once.', { email })}</p>
        <Input label={_('Link')} value={link} put={() => undefined} readOnly onFocus={(e) => e.currentTarget.select()} />
        <Copy text={link} label={_('Copy the link')} />
      </Dialog>
    );
  return (
    <Ask
      title={_('Invite somebody')}
      yes={by === 'link' ? _('Make a link') : _('Send the invitation')}
      close={() => {
        if (!link) close();
      }}
      act={async () => {
        const r = await api<{ link?: string }>('/auth/v1/invitations', { method: 'POST', json: { email, role, ...(by === 'link' ? { deliver: 'link' } : {}) } });
        again();
        if (r.link) {
          setLink(r.link);
          return;
        }
        toast(_('{email} is invited', { email }));
      }}
    >
      <Input label={_('E-mail address')} type="email" value={email} put={setEmail} required autofocus />
      <Select label={_('Role')} value={role} put={setRole} options={roles.filter((r) => r !== 'owner').map((r) => [r, words(r)])} help={_(roleWords[role] ?? '')} />
      <Select label={_('How')} value={by} put={setBy} options={[['mail', _('By mail')], ['link', _('A link that I hand over')]]} />
    </Ask>
  );
}

// May says what a member may do, from the very rules that requests meet.
function May({ m, close }: { m: Row; close: () => void }) {
  const q = useQuery({ queryKey: ['permissions', m['user_id']], queryFn: () => api<Permissions>(`/v1/permissions?user_id=${m['user_id']}`) });
  const yes = (v: unknown) => (v ? <Icon name="check" size={16} /> : <span class="muted">–</span>);
  const said: Record<string, string> = { all: 'all', own: 'own', zones: 'of own zones', none: 'none' };
  return (
    <Dialog kind="wide" title={_('What {who} may do', { who: String(m['email']) })} close={close}>
      <Problem error={q.error} />
      {q.data ? (
        <div class="table" tabIndex={0} role="region" aria-label={_('Permissions')}>
          <table>
            <thead>
              <tr>
                {[_('Records'), _('See'), _('Make'), _('Change'), _('Delete')].map((t) => (
                  <th key={t} scope="col">
                    {t}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {Object.entries(q.data.collections)
                .filter(([, r]) => r.read || r.create)
                .map(([name, r]) => (
                  <tr key={name}>
                    <td class="strong">{titleOf(name)}</td>
                    <td>{r.read ? _(said[r.read.rows] ?? r.read.rows) : '–'}</td>
                    <td>{yes(r.create)}</td>
                    <td>{yes(r.update)}</td>
                    <td>{yes(r.delete)}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      ) : (
        <Skeleton lines={6} />
      )}
    </Dialog>
  );
}

function Webhooks() {
  const hooks = useTable('webhooks');
  const [at, setAt] = useState<Row | null>(null);
  const [making, setMaking] = useState(false);
  const [secret, setSecret] = useState('');
  const verb = async (id: string, what: string, said: string) => {
    try {
      const r = await api<{ secret?: string } | undefined>(`/v1/webhooks/${id}/${what}`, { method: 'POST', headers: { 'Idempotency-Key': crypto.randomUUID() } });
      if (r?.secret) setSecret(r.secret);
      toast(said);
      again();
    } catch (e) {
      fail(e);
    }
  };
  return (
    <div class="stack">
      <Problem error={hooks.error} />
      <Card
        flush
        title={_('Webhooks')}
        actions={
          <Button kind="primary" icon="plus" onClick={() => setMaking(true)}>
            {_('New webhook')}
          </Button>
        }
      >
        {hooks.data?.length ? (
          <ul class="lines">
            {hooks.data.map((h) => (
              <li key={h.id}>
                <span class="grow">
                  <span class="strong clip" style={{ display: 'block' }}>
                    {String(h['url'])}
                  </span>
                  <span class="small muted">{(h['events'] as string[]).length ? (h['events'] as string[]).join(', ') : _('every event')}</span>
                  {h['disabled_reason'] ? <span class="small down" style={{ display: 'block' }}>{String(h['disabled_reason'])}</span> : null}
                </span>
                <Badge state={h['status']} />
                <Button size="small" onClick={() => void verb(h.id, 'test', _('A test is on its way'))}>
                  {_('Test')}
                </Button>
                <Button size="small" onClick={() => setAt(h)}>
                  {_('Deliveries')}
                </Button>
                <Button size="small" onClick={() => void verb(h.id, 'rotate', _('The old secret signs for a day beside the new one'))}>
                  {_('New secret')}
                </Button>
              </li>
            ))}
          </ul>
        ) : hooks.isPending ? (
          <div class="body">
            <Skeleton />
          </div>
        ) : (
          <Empty title={_('Nothing is sent anywhere')} icon="hook">
            {_('A webhook tells another program what happens here, signed, and tries again for days.')}
          </Empty>
        )}
      </Card>
      {making ? <NewHook close={() => setMaking(false)} made={setSecret} /> : null}
      {secret ? (
        <Dialog title={_('Keep this secret')} close={() => setSecret('')} footer={<Button kind="primary" onClick={() => setSecret('')}>{_('I have kept it')}</Button>}>
          <p>{_('The receiver checks signatures with it. It is shown this once.')}</p>
          <Input label={_('Secret')} value={secret} put={() => undefined} readOnly onFocus={(e) => e.currentTarget.select()} />
          <Copy text={secret} label={_('Copy')} />
        </Dialog>
      ) : null}
      {at ? <Deliveries hook={at} close={() => setAt(null)} /> : null}
    </div>
  );
}

function NewHook({ close, made }: { close: () => void; made: (secret: string) => void }) {
  const [url, setUrl] = useState('https://');
  const [events, setEvents] = useState('');
  const [description, setDescription] = useState('');
  return (
    <Ask
      title={_('New webhook')}
      yes={_('Create')}
      close={close}
      act={async () => {
        const list = events.split(',').map((x) => x.trim()).filter(Boolean);
        const r = await api<{ secret: string }>('/v1/webhooks', { method: 'POST', json: { url, events: list, description: description || undefined }, headers: { 'Idempotency-Key': crypto.randomUUID() } });
        made(r.secret);
        again();
      }}
    >
      <Input label={_('Address')} type="url" value={url} put={setUrl} required autofocus />
      <Input label={_('Events')} value={events} put={setEvents} help={_('Such as order.shipped, incident.created; empty for every event')} />
      <Input label={_('What it is for')} value={description} put={setDescription} />
    </Ask>
  );
}

// Deliveries shows request and answer of each attempt, and sends again.
function Deliveries({ hook, close }: { hook: Row; close: () => void }) {
  const q = useQuery({ queryKey: ['c', 'webhook_deliveries', hook.id], queryFn: () => want(supabase.from('webhook_deliveries').select('*').eq('webhook_id', hook.id).order('queued_at', { ascending: false }).limit(50)), meta: { live: true }, refetchInterval: 3000 });
  const [at, setAt] = useState('');
  return (
    <Dialog kind="wide" title={_('Deliveries to {url}', { url: String(hook['url']) })} close={close}>
      <Problem error={q.error} />
      {q.data && !q.data.length ? <Empty title={_('Nothing was sent yet')} icon="hook" /> : null}
      <ul class="lines">
        {(q.data ?? []).map((d) => (
          <li key={d.id} style={{ flexWrap: 'wrap' }}>
            <Badge state={d['status']} />
            <button type="button" class="link strong" onClick={() => setAt(at === d.id ? '' : d.id)} aria-expanded={at === d.id}>
              {String(d['type'])}
            </button>
            <span class="small muted">
              {d['response_status'] ? `HTTP ${d['response_status']}` : String(d['error'] ?? '')} {d['response_ms'] != null ? `· ${d['response_ms']} ms` : ''} · {_('attempt {n}', { n: String(d['attempt']) })}
            </span>
            <span class="push small muted">{ago(d['queued_at'])}</span>
            <Button
              size="small"
              icon="refresh"
              onClick={() =>
                api(`/v1/webhooks/${hook.id}/deliveries/${d.id}/replay`, { method: 'POST', headers: { 'Idempotency-Key': crypto.randomUUID() } }).then(() => {
                  toast(_('It is sent again'));
                  void q.refetch();
                }, fail)
              }
            >
              {_('Send again')}
            </Button>
            {at === d.id ? (
              <div class="stack tight small" style={{ inlineSize: '100%' }}>
                <b>{_('Sent')}</b>
                <Json v={d['payload']} />
                <b>{_('Answered')}</b>
                <Json v={d['response'] ?? d['error']} />
              </div>
            ) : null}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

interface Window {
  limit: number;
  remaining: number;
  reset_at: string;
}

function Limits() {
  const q = useQuery({ queryKey: ['limits'], queryFn: () => api<Record<string, Window>>('/v1/rate-limit/status'), refetchInterval: 5000 });
  const names: Record<string, [string, string]> = {
    api: ['Requests', 'of the whole organisation, in a minute'],
    database: ['Reads of the database', 'in a minute'],
    database_write: ['Writes to the database', 'in a minute'],
  };
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
      <Note>{_('Who passes a limit is told how long to wait. A webhook can tell you: rate_limit.exceeded.')}</Note>
    </div>
  );
}

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
  seal_no: number | null;
}

// Audit is who did what and when; filters are in the address.
function Audit({ p }: { p: Permissions }) {
  const { query, route } = useLocation();
  const catalog = useCatalog();
  const names = useNames(p);
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
    <Card flush>
      <div class="filters">
        <select class="input" style={{ inlineSize: 'auto' }} aria-label={_('Who')} value={query['who'] ?? ''} onChange={(e) => go({ who: e.currentTarget.value })}>
          <option value="">{_('Everybody')}</option>
          {[...names].map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
        <select class="input" style={{ inlineSize: 'auto' }} aria-label={_('What')} value={query['what'] ?? ''} onChange={(e) => go({ what: e.currentTarget.value })}>
          <option value="">{_('Everything')}</option>
          {['session', ...(catalog?.keys() ?? [])].map((n) => (
            <option key={n} value={n}>
              {titleOf(n)}
            </option>
          ))}
        </select>
        <Check label={_('Refusals only')} on={query['outcome'] === 'denied'} put={(v) => go({ outcome: v ? 'denied' : '' })} />
      </div>
      <Problem error={q.error} />
      {q.isPending ? (
        <div class="body">
          <Skeleton lines={8} />
        </div>
      ) : list.length ? (
        <div class="table" tabIndex={0} role="region" aria-label={_('Audit log')}>
          <table>
            <thead>
              <tr>
                {[_('When'), _('Who'), _('What'), _('Record'), _('Outcome'), _('Sealed')].map((t) => (
                  <th key={t} scope="col">
                    {t}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {list.map((e) => (
                <>
                  <tr key={e.id}>
                    <td title={dateTime(e.at)}>{ago(e.at)}</td>
                    <td>{e.actor_user_id ? (names.get(e.actor_user_id) ?? e.actor_user_id.slice(0, 8)) : e.key_id ? _('A key') : _('The server')}</td>
                    <td>
                      <button type="button" class="link" aria-expanded={at === e.id} onClick={() => setAt(at === e.id ? '' : e.id)}>
                        {words(e.action)}
                      </button>
                    </td>
                    <td>{e.entity_type && e.entity_id && catalog?.has(e.entity_type) ? <a href={`/console/c/${e.entity_type}/${e.entity_id}`}>{titleOf(e.entity_type)}</a> : words(e.entity_type ?? '')}</td>
                    <td>
                      <Badge tone={e.outcome === 'ok' ? 'good' : 'bad'}>{words(e.outcome)}</Badge>
                    </td>
                    <td>{e.seal_no ? <span title={_('Part of the chain of hashes')}>{`#${e.seal_no}`}</span> : <span class="muted">{_('soon')}</span>}</td>
                  </tr>
                  {at === e.id ? (
                    <tr key={`${e.id} more`}>
                      <td colSpan={6} class="wrap">
                        <Diff c={catalog?.get(e.entity_type ?? '')} e={e} />
                        <div class="small muted row">
                          {e.address} {e.request_id ? <Copy text={e.request_id} label={_('Copy request number {id}', { id: e.request_id.slice(0, 8) })} /> : null}
                        </div>
                      </td>
                    </tr>
                  ) : null}
                </>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <Empty title={_('Nothing matches')} />
      )}
      <div class="pager">
        <span class="push" />
        <Button size="small" disabled={(q.data?.length ?? 0) <= 50} onClick={() => go({ before: list[list.length - 1]?.id ?? '' })}>
          {_('Older')}
        </Button>
      </div>
    </Card>
  );
}

function Sso() {
  const members = useTable('members');
  const owners = (members.data ?? []).filter((m) => m['role'] === 'owner' && m['status'] === 'active').map((m): [string, string] => [String(m['user_id']), String(m['email'])]);
  return <Connections owners={owners} />;
}

// What the server reads of an organisation's settings: section, what it is when it is not set, and what it means.
const known: Record<string, [section: string, absent: string, meaning: string]> = {
  locale: ['general', 'en', 'Language of mails: en or de'],
  over_receipt_tolerance: ['stock', '0', 'How much more than ordered may be received; 0.05 is 5 %'],
  adjust_limit_value: ['stock', 'no limit', 'Corrections worth more than this wait for a second person'],
  count_auto_approve: ['stock', 'no limit', 'Counts that differ by more than this value wait for a second person'],
  allow_partial_allocation: ['picking', 'true', 'Whether an order may be promised less than it asks for'],
  weight_incident: ['scoring', '0.45', 'Weight of incidents in the weighted risk score'],
  weight_near_miss: ['scoring', '0.2', 'Weight of near misses in the weighted risk score'],
  weight_shift_hours: ['scoring', '0.2', 'Weight of shift hours in the weighted risk score'],
  weight_load: ['scoring', '0.15', 'Weight of workload in the weighted risk score'],
  cut_medium: ['scoring', '25', 'Score from which a risk is medium'],
  cut_high: ['scoring', '50', 'Score from which a risk is high'],
  cut_critical: ['scoring', '75', 'Score from which a risk is critical'],
  scores_off: ['scoring', '[]', 'Kinds of entity that get no scores'],
  min_group: ['scoring', '5', 'People a team needs before a manager sees its mean'],
  training_due_days: ['safety', '30', 'Days until assigned training is due'],
  score_retention_days: ['scoring', '396', 'Days that scores are kept'],
  public_reports: ['safety', 'false', 'Whether anybody with a link can report without an account'],
  digest: ['safety', 'true', 'Whether people get the morning mail of what is overdue'],
  points_near_miss: ['engagement', '10', 'Points for the report of a near miss'],
  points_hazard: ['engagement', '8', 'Points for the report of a hazard'],
  daily_cap: ['engagement', '40', 'Most points that one person gets in a day'],
  monthly_target: ['engagement', '100', 'Points that make a full score in a month'],
  keep_files_days: ['import', '90', 'Days that the file of an import is kept'],
  mfa_required: ['security', 'administrators, after seven days', 'Who needs a second factor: none, administrators or everyone'],
  mfa_self: ['security', 'require', 'ignore: factors that people enrolled by themselves are not asked for'],
  session_idle_minutes: ['security', 'no limit', 'Minutes without use after which a session ends'],
  session_max_hours: ['security', 'no limit', 'Hours after which a session ends'],
  single_session: ['security', 'false', 'true: a new sign-in ends the others'],
};

function Settings() {
  const q = useTable('settings');
  const sections = [...new Set((q.data ?? []).map((s) => String(s['section'])))].sort();
  const [at, setAt] = useState<Row | null>(null);
  const [making, setMaking] = useState(false);
  const [wanted, setWanted] = useState<[string, string] | null>(null);
  return (
    <div class="stack">
      <Problem error={q.error} />
      <div class="row">
        <span class="muted">{_('What is not set here has its documented default.')}</span>
        <span class="push" />
        <Button icon="plus" onClick={() => setMaking(true)}>
          {_('Set another')}
        </Button>
      </div>
      {q.isPending ? <Skeleton lines={6} /> : null}
      <div class="grid">
        {sections.map((s) => (
          <Card key={s} flush title={words(s)}>
            <ul class="lines">
              {(q.data ?? [])
                .filter((x) => x['section'] === s)
                .map((x) => (
                  <li key={x.id}>
                    <span class="grow">
                      {words(String(x['key']))}
                      {known[String(x['key'])] ? <span class="small muted" style={{ display: 'block' }}>{_(known[String(x['key'])]?.[2] ?? '')}</span> : null}
                      <span class="small muted" style={{ display: 'block' }}>{_('set {when}', { when: ago(x['updated_at']) })}</span>
                    </span>
                    <b class="clip" style={{ maxInlineSize: '50%' }}>
                      <Json v={x['value']} />
                    </b>
                    <Button size="small" kind="quiet" icon="edit" label={_('Change {what}', { what: words(String(x['key'])) })} onClick={() => setAt(x)} />
                  </li>
                ))}
            </ul>
          </Card>
        ))}
      </div>
      <Card flush title={_('Not set: what holds instead')}>
        <ul class="lines">
          {Object.entries(known)
            .filter(([key]) => !(q.data ?? []).some((x) => String(x['key']).toLowerCase() === key))
            .map(([key, [section, absent, meaning]]) => (
              <li key={key}>
                <span class="grow">
                  {words(key)} <span class="small muted">{words(section)}</span>
                  <span class="small muted" style={{ display: 'block' }}>
                    {_(meaning)}
                  </span>
                </span>
                <span class="muted">{_(absent)}</span>
                <Button size="small" onClick={() => setWanted([section, key])}>
                  {_('Set')}
                </Button>
              </li>
            ))}
        </ul>
      </Card>
      {at || making || wanted ? (
        <Change
          from={at}
          wanted={wanted}
          close={() => {
            setWanted(null);
            setAt(null);
            setMaking(false);
          }}
        />
      ) : null}
    </div>
  );
}

function Change({ from, wanted, close }: { from: Row | null; wanted: [string, string] | null; close: () => void }) {
  const catalog = useCatalog();
  const sections = catalog?.get('settings')?.fields.find((f) => f.name === 'section')?.one_of ?? [];
  const [section, setSection] = useState(String(from?.['section'] ?? wanted?.[0] ?? sections[0] ?? 'general'));
  const [key, setKey] = useState(String(from?.['key'] ?? wanted?.[1] ?? ''));
  const [text, setText] = useState(from ? JSON.stringify(from['value']) : '');
  const act = async () => {
    let value: unknown = text;
    try {
      value = JSON.parse(text);
    } catch {
      // a text without quotes is a text
    }
    await want(from ? records('settings').update({ value }).eq('id', from.id) : records('settings').insert({ section, key, value }));
    toast(_('Saved'));
    again();
  };
  return (
    <Ask title={from || wanted ? words(key) : _('Set another')} yes={_('Save')} close={close} act={act}>
      {from || wanted ? null : (
        <>
          <Select label={_('Section')} value={section} put={setSection} options={sections.map((s) => [s, words(s)])} />
          <Input label={_('Name')} value={key} put={setKey} />
        </>
      )}
      <Input label={_('Value')} value={text} put={setText} help={known[key] ? _(known[key]?.[2] ?? '') : _('A number, true or false, or a text')} />
    </Ask>
  );
}
