import { lazy, useRoute } from 'preact-iso';
import { useState } from 'preact/hooks';
import { api, supabase, want } from '../lib/client';
import { titleOf, useCatalog, usePermissions, words, type Permissions } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { valueOf } from '../lib/fields';
import { ago, dateTime } from '../lib/format';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { again, useTable } from '../lib/table';
import type { Database, Row } from '../database';
import { Badge, Button, Card, Copy, Empty, Head, Problem, Skeleton, useInSight } from '../ui/basic';
import { Ask, Dialog } from '../ui/dialog';
import { EndMembership, type Ending } from '../ui/ending';
import { Input, Select } from '../ui/form';
import { Icon } from '../ui/icon';
import { fail, Menu, toast } from '../ui/overlay';
import { Control } from '../ui/record-form';
import '../records.css';

const Webhooks = lazy(() => import('./hooks').then((m) => m.Webhooks));
const Limits = lazy(() => import('./limits').then((m) => m.Limits));
const Audit = lazy(() => import('./audit').then((m) => m.Audit));
const Settings = lazy(() => import('./settings').then((m) => m.Settings));
const Jobs = lazy(() => import('./jobs').then((m) => m.Jobs));
const Keys = lazy(() => import('./keys').then((m) => m.Keys));
const Connections = lazy(() => import('./sso').then((m) => m.Connections));
const Screens = lazy(() => import('./screens').then((m) => m.Screens));
const System = lazy(() => import('./system').then((m) => m.System));

const tabs: [string, string][] = [
  ['members', 'Members'],
  ['keys', 'Keys'],
  ['webhooks', 'Webhooks'],
  ['limits', 'Limits'],
  ['audit', 'Audit log'],
  ['sso', 'Single sign-on'],
  ['settings', 'Settings'],
  ['screens', 'Screens'],
  ['jobs', 'Background work'],
  ['system', 'System'],
];

// AdminPage is what administrators keep: people, connections, limits, traces.
export function AdminPage() {
  const { params } = useRoute();
  const at = params['tab'] || 'members';
  const p = usePermissions();
  const row = useInSight<HTMLElement>(p ? at : '');
  if (!p) return <Skeleton lines={8} />;
  if (p.role !== 'owner' && p.role !== 'admin')
    return <Empty title={_('Administrators keep these pages')} icon="shield" />;
  return (
    <>
      <Head title={_('Administration')} sub={_('Who may come in, what leaves, and what was done.')} />
      <nav class="tabs" aria-label={_('Administration')} ref={row}>
        {tabs.map(([id, text]) => (
          <a key={id} href={`/console/admin/${id}`} aria-current={id === at ? 'page' : undefined}>
            {_(text)}
          </a>
        ))}
      </nav>
      {at === 'members' ? (
        <Members p={p} />
      ) : at === 'keys' ? (
        <Keys p={p} />
      ) : at === 'webhooks' ? (
        <Webhooks />
      ) : at === 'limits' ? (
        <Limits />
      ) : at === 'audit' ? (
        <Audit p={p} />
      ) : at === 'sso' ? (
        <Sso />
      ) : at === 'screens' ? (
        <Screens p={p} />
      ) : at === 'jobs' ? (
        <Jobs />
      ) : at === 'system' ? (
        <System />
      ) : (
        <Settings />
      )}
    </>
  );
}

type Role = Database['public']['Enums']['members_role'];
const roles: Role[] = ['owner', 'admin', 'manager', 'safety', 'operator', 'driver', 'viewer'];
const roleWords: Record<string, string> = {
  admin: 'everything in the organisation',
  manager: 'stock, orders, people',
  safety: 'incidents, actions, inspections',
  operator: 'own work on the floor',
  driver: 'own trips',
  viewer: 'reads, without personal fields',
};

const administrates = (role: unknown) => role === 'owner' || role === 'admin';

function Members({ p }: { p: Permissions }) {
  const members = useTable('members');
  const invitations = useTable('invitations');
  const [inviting, setInviting] = useState(false);
  const [handed, setHanded] = useState<Handed | null>(null);
  const [ending, setEnding] = useState<Ending | null>(null);
  const [seeing, setSeeing] = useState<Row | null>(null);
  const put = async (m: Row, body: { role?: Role; status?: 'active' | 'suspended' }, said: string) => {
    await want(supabase.from('members').update(body).eq('id', m.id));
    toast(said);
    again();
  };
  const change = (m: Row, body: { role?: Role; status?: 'active' | 'suspended' }, said: string) =>
    put(m, body, said).catch(fail);
  const remove = async (m: Row) => {
    await want(supabase.from('members').delete().eq('id', m.id));
    toast(_('{who} is removed', { who: String(m['email']) }));
    again();
  };
  const setRole = async (m: Row, role: Role) => {
    const said = _('{who} is {role}', { who: String(m['email']), role: words(role) });
    if (!administrates(m['role']) || administrates(role)) return change(m, { role }, said);
    setEnding({
      member: m,
      title: _('Change the role of {who}?', { who: String(m['email']) }),
      yes: _('Change'),
      act: () => put(m, { role }, said),
    });
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
          <div class="table stacks" tabIndex={0} role="region" aria-label={_('Members')}>
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
                    <td data-label={_('Role')}>
                      <RoleOf m={m} p={p} put={(role) => setRole(m, role)} />
                    </td>
                    <td>
                      <Badge state={m['status']} />
                    </td>
                    <td class="muted" data-label={_('Last seen')}>
                      {m['last_seen_at'] ? ago(m['last_seen_at']) : _('never')}
                    </td>
                    <td class="num corner">
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
                                api(`/auth/v1/tenant/members/${m['user_id']}/sessions`, { method: 'DELETE' }).then(
                                  () => toast(_('Signed out everywhere')),
                                  fail,
                                );
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
                                  if (m['status'] === 'suspended')
                                    void change(m, { status: 'active' }, _('May come in again'));
                                  else
                                    setEnding({
                                      member: m,
                                      title: _('Suspend {who}?', { who: String(m['email']) }),
                                      yes: _('Suspend'),
                                      act: () => put(m, { status: 'suspended' }, _('Suspended')),
                                    });
                                }}
                              >
                                <Icon name="close" size={16} />
                                {m['status'] === 'suspended' ? _('Let in again') : _('Suspend')}
                              </button>
                            ) : null}
                            {m['user_id'] !== p.user_id ? (
                              <button
                                type="button"
                                onClick={() => {
                                  close();
                                  setEnding({
                                    member: m,
                                    removes: true,
                                    title: _('Remove {who}?', { who: String(m['email']) }),
                                    yes: _('Remove'),
                                    act: () => remove(m),
                                  });
                                }}
                              >
                                <Icon name="close" size={16} />
                                {_('Remove from the organisation')}
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
                <span class="muted small nobreak">
                  {i['expires_at'] ? _('until {when}', { when: dateTime(i['expires_at']) }) : ''}
                </span>
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
      {inviting ? <Invite close={() => setInviting(false)} made={setHanded} /> : null}
      {handed ? <HandOver {...handed} close={() => setHanded(null)} /> : null}
      {ending ? <EndMembership {...ending} close={() => setEnding(null)} /> : null}
      {seeing ? <May m={seeing} close={() => setSeeing(null)} /> : null}
    </div>
  );
}

// RoleOf is a member's role. The keys that look through the list change nothing: another role holds when it is said.
function RoleOf({ m, p, put }: { m: Row; p: Permissions; put: (role: Role) => Promise<void> }) {
  const [chosen, setChosen] = useState<Role | null>(null);
  const [busy, setBusy] = useState(false);
  const now = m['role'] as Role;
  const save = async (role: Role) => {
    setBusy(true);
    await put(role);
    setBusy(false);
    setChosen(null);
  };
  return (
    <span class="row tight nowrap">
      <select
        class="input"
        style={{ inlineSize: 'auto' }}
        aria-label={_('Role of {who}', { who: String(m['email']) })}
        value={chosen ?? now}
        disabled={m['user_id'] === p.user_id || (now === 'owner' && p.role !== 'owner')}
        onChange={(e) => setChosen(e.currentTarget.value as Role)}
      >
        {roles
          .filter((r) => r !== 'owner' || now === 'owner')
          .map((r) => (
            <option key={r} value={r}>
              {words(r)}
            </option>
          ))}
      </select>
      {chosen && chosen !== now ? (
        <Button
          size="small"
          kind="primary"
          busy={busy}
          aria-label={_('Change the role of {who}', { who: String(m['email']) })}
          onClick={() => void save(chosen)}
        >
          {_('Change')}
        </Button>
      ) : null}
    </span>
  );
}

interface Handed {
  email: string;
  link: string;
}

// HandOver shows the link of an invitation, once.
function HandOver({ email, link, close }: Handed & { close: () => void }) {
  return (
    <Dialog
      title={_('Hand this link over')}
      close={close}
      footer={
        <Button kind="primary" onClick={close}>
          {_('Done')}
        </Button>
      }
    >
      <p>{_('It works once, for {email}. It is shown this once.', { email })}</p>
      <Input label={_('Link')} value={link} put={() => undefined} readOnly onFocus={(e) => e.currentTarget.select()} />
      <Copy text={link} label={_('Copy the link')} />
    </Dialog>
  );
}

// reachOf are the fields that say in which part of the organisation a role works.
function reachOf(role: string): string[] {
  if (role === 'viewer') return ['owner_id'];
  return role === 'operator' || role === 'driver' ? ['worker_id', 'zone_ids'] : ['worker_id'];
}

function useReach(role: string) {
  const fields = useCatalog()?.get('invitations')?.fields ?? [];
  return fields.filter((f) => reachOf(role).includes(f.name));
}

function Invite({ close, made }: { close: () => void; made: (h: Handed) => void }) {
  const draft = useDraft('invite');
  const [email, setEmail] = draft.field('email', '');
  const [role, setRole] = draft.field('role', 'operator');
  const [by, setBy] = draft.field('by', 'mail');
  const [reach, setReach] = draft.field<Record<string, string>>('reach', {});
  const fields = useReach(role);
  const send = async () => {
    const said = fields.filter((f) => reach[f.name]).map((f) => [f.name, valueOf(f, reach[f.name] ?? '', '')]);
    const json = { email, role, ...Object.fromEntries(said), ...(by === 'link' ? { deliver: 'link' } : {}) };
    const r = await api<{ link?: string }>('/auth/v1/invitations', { method: 'POST', json });
    again();
    if (r.link) made({ email, link: r.link });
    else toast(_('{email} is invited', { email }));
  };
  return (
    <Ask
      title={_('Invite somebody')}
      yes={by === 'link' ? _('Make a link') : _('Send the invitation')}
      close={close}
      draft={draft}
      act={send}
    >
      <Input label={_('E-mail address')} type="email" value={email} put={setEmail} required autofocus />
      <Select
        label={_('Role')}
        value={role}
        put={setRole}
        options={roles.filter((r) => r !== 'owner').map((r) => [r, words(r)])}
        help={_(roleWords[role] ?? '')}
      />
      {fields.map((f) => (
        <Control key={f.name} f={f} text={reach[f.name] ?? ''} put={(v) => setReach({ ...reach, [f.name]: v })} />
      ))}
      <Select
        label={_('How')}
        value={by}
        put={setBy}
        options={[
          ['mail', _('By mail')],
          ['link', _('A link that I hand over')],
        ]}
      />
    </Ask>
  );
}

// May says what a member may do, from the very rules that requests meet.
function May({ m, close }: { m: Row; close: () => void }) {
  const q = useQuery({
    queryKey: ['permissions', m['user_id']],
    queryFn: () => api<Permissions>(`/v1/permissions?user_id=${m['user_id']}`),
  });
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

function Sso() {
  const members = useTable('members');
  const owners = (members.data ?? [])
    .filter((m) => m['role'] === 'owner' && m['status'] === 'active')
    .map((m): [string, string] => [String(m['user_id']), String(m['email'])]);
  return <Connections owners={owners} />;
}
