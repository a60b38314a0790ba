import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api } from '../lib/client';
import { words } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { ago } from '../lib/format';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { Badge, Button, Card, Copy, Empty, Note, Problem, Skeleton } from '../ui/basic';
import { Ask, Dialog } from '../ui/dialog';
import { Area, Check, Input, Select } from '../ui/form';
import { Icon } from '../ui/icon';
import { fail, toast } from '../ui/overlay';
import { Json } from '../ui/value';
import '../sso.css';

interface Domain {
  domain: string;
  verified_at?: string;
  dns_name?: string;
  dns_value?: string;
}

interface Test {
  outcome: 'ok' | 'failed';
  reason?: string;
  subject?: string;
  email?: string;
  role?: string;
  groups?: string[];
  attributes?: Record<string, unknown>;
  profile?: Record<string, unknown>;
}

interface Connection {
  id: string;
  kind: 'oidc' | 'saml';
  name: string;
  issuer: string;
  disabled: boolean;
  enforced: boolean;
  break_glass_user_id?: string;
  default_role?: string;
  role_map: Record<string, string>;
  attribute_mapping: { keys?: Record<string, { name?: string; names?: string[] }> };
  scim: boolean;
  domains: Domain[];
  last_test?: Test;
  last_test_at?: string;
  service_provider: { entity_id?: string; acs_url?: string; callback_url?: string; scim_url: string };
}

const base = '/auth/v1/sso/connections';
const roles = ['admin', 'manager', 'safety', 'operator', 'driver', 'viewer'];

// Connections are the organisation's own sign-in: connect a provider, tell it
// where we are, prove the domains, try it (the server shows attributes of people
// of proved domains alone), and only then let it count.
export function Connections({ owners }: { owners: [string, string][] }) {
  const q = useQuery({ queryKey: ['sso'], queryFn: () => api<{ connections: Connection[] }>(base) });
  const [making, setMaking] = useState(false);
  const list = q.data?.connections ?? [];
  return (
    <div class="stack">
      <div class="row">
        <span class="muted">{_('People of your organisation sign in where they do for everything else.')}</span>
        <span class="push" />
        <Button kind="primary" icon="plus" onClick={() => setMaking(true)}>
          {_('Connect a provider')}
        </Button>
      </div>
      <Problem error={q.error} retry={() => void q.refetch()} />
      {q.isPending ? <Skeleton lines={5} /> : null}
      {list.map((c) => (
        <One key={c.id} c={c} owners={owners} again={() => void q.refetch()} />
      ))}
      {q.data && !list.length ? (
        <Card flush title={_('Single sign-on')}>
          <Empty title={_('People sign in here with a password, code or passkey')} icon="key">
            {_('Connect the provider of your organisation, OpenID Connect or SAML, and test it before it counts.')}
          </Empty>
        </Card>
      ) : null}
      {making ? <Connect close={() => setMaking(false)} done={() => void q.refetch()} /> : null}
    </div>
  );
}

function Step({ n, done, title, children }: { n: number; done: boolean; title: string; children: ComponentChildren }) {
  return (
    <li class="sso-step">
      <span class={`sso-mark ${done ? 'done' : ''}`}>{done ? <Icon name="check" size={14} /> : n}</span>
      <div class="stack tight grow">
        <h3>{title}</h3>
        {children}
      </div>
    </li>
  );
}

function One({ c, owners, again }: { c: Connection; owners: [string, string][]; again: () => void }) {
  const [waiting, setWaiting] = useState<string | null>(null); // for a result other than the one of this time, '' if there is none yet
  const [error, setError] = useState<unknown>(null);
  const [removing, setRemoving] = useState(false);
  const [enforcing, setEnforcing] = useState(false);
  const [keeper, setKeeper] = useState(c.break_glass_user_id ?? owners[0]?.[0] ?? '');
  const [scim, setScim] = useState('');
  useEffect(() => {
    // The test ends in another window: look for its result until it is there.
    if (waiting === null) return;
    if ((c.last_test_at ?? '') !== waiting) return setWaiting(null);
    const t = setInterval(again, 2000);
    return () => clearInterval(t);
  }, [waiting, c.last_test_at]);
  const change = async (body: object, said: string) => {
    setError(null);
    try {
      await api(`${base}/${c.id}`, { method: 'PUT', json: body });
      toast(said);
      again();
    } catch (e) {
      setError(e);
    }
  };
  const test = async () => {
    setError(null);
    // Opened at once, as an answer to the click; the address follows.
    const w = open('about:blank', '_blank');
    try {
      const { url } = await api<{ url: string }>(`${base}/${c.id}/test`, { method: 'POST', json: {} });
      setWaiting(c.last_test_at ?? '');
      if (w) {
        w.opener = null;
        w.location.href = url;
      } else location.href = url;
    } catch (e) {
      w?.close();
      setError(e);
    }
  };
  const s = c.service_provider;
  const addresses: [string, string | undefined][] =
    c.kind === 'saml'
      ? [
          [_('Entity id'), s.entity_id],
          [_('Reply address (ACS)'), s.acs_url],
          [_('Metadata'), `${location.origin}/auth/v1/sso/saml/metadata`],
        ]
      : [[_('Redirect address'), s.callback_url]];
  const proved = c.domains.filter((d) => d.verified_at).length;
  return (
    <Card
      title={
        <span class="row">
          <h2>{c.name || c.issuer || c.id.slice(0, 8)}</h2>{' '}
          <span class="muted small">{c.kind === 'saml' ? 'SAML 2.0' : 'OpenID Connect'}</span>{' '}
          <Badge tone={c.disabled ? 'warn' : 'good'}>{c.disabled ? _('switched off') : _('on')}</Badge>
          {c.enforced ? <Badge tone="info">{_('the only way in')}</Badge> : null}
        </span>
      }
      actions={
        <>
          <Button
            size="small"
            onClick={() => void change({ disabled: !c.disabled }, c.disabled ? _('It is on') : _('It is off'))}
          >
            {c.disabled ? _('Switch on') : _('Switch off')}
          </Button>
          <Button size="small" kind="danger" onClick={() => setRemoving(true)}>
            {_('Remove')}
          </Button>
        </>
      }
    >
      <Problem error={error} />
      <ol class="stack">
        <Step n={1} done={!!c.last_test} title={_('Tell the provider where we are')}>
          <dl class="sso-addresses">
            {addresses.map(([name, v]) =>
              v ? (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>
                    <code>{v}</code> <Copy text={v} label={_('Copy')} />
                  </dd>
                </div>
              ) : null,
            )}
          </dl>
        </Step>
        <Step n={2} done={proved > 0} title={_('Prove whose addresses these are')}>
          {c.domains.length ? (
            <ul class="stack tight">
              {c.domains.map((d) => (
                <Prove key={d.domain} d={d} id={c.id} again={again} />
              ))}
            </ul>
          ) : (
            <p class="muted small">{_('No domain is named: people reach this sign-in by its own link alone.')}</p>
          )}
        </Step>
        <Step n={3} done={c.last_test?.outcome === 'ok'} title={_('Sign in for a test')}>
          <div class="row">
            <Button
              size="small"
              kind={c.last_test?.outcome === 'ok' ? undefined : 'primary'}
              busy={waiting !== null}
              onClick={() => void test()}
            >
              {_('Test sign-in')}
            </Button>
            {waiting !== null ? (
              <>
                <span class="muted small" role="status">
                  {_('Sign in in the other window; what it brings appears here.')}
                </span>
                <button type="button" class="link small" onClick={() => setWaiting(null)}>
                  {_('Do not wait')}
                </button>
              </>
            ) : c.last_test_at ? (
              <span class="muted small">{_('last tried {when}', { when: ago(c.last_test_at) })}</span>
            ) : null}
          </div>
          {c.last_test ? <Received t={c.last_test} c={c} change={change} /> : null}
        </Step>
        <Step n={4} done={c.enforced} title={_('Make it the only way in, if you want')}>
          <div class="row">
            <Button
              size="small"
              disabled={!c.enforced && (c.last_test?.outcome !== 'ok' || !proved)}
              onClick={() =>
                c.enforced ? void change({ enforced: false }, _('Other ways are open again')) : setEnforcing(true)
              }
            >
              {c.enforced ? _('Open other ways again') : _('Only this way')}
            </Button>
            {!c.enforced && (c.last_test?.outcome !== 'ok' || !proved) ? (
              <span class="muted small">{_('After a test that succeeded and a domain that is proved')}</span>
            ) : null}
          </div>
        </Step>
        <Step n={5} done={c.scim} title={_('Let the provider add and remove people (SCIM), if you want')}>
          <div class="row">
            <code>{s.scim_url}</code> <Copy text={s.scim_url} label={_('Copy')} />
            <span class="push" />
            <Button
              size="small"
              onClick={() =>
                api<{ token: string }>(`${base}/${c.id}/scim-token`, { method: 'POST', json: {} }).then(
                  (r) => (setScim(r.token), again()),
                  fail,
                )
              }
            >
              {c.scim ? _('New token') : _('Make a token')}
            </Button>
            {c.scim ? (
              <Button
                size="small"
                kind="danger"
                onClick={() => api(`${base}/${c.id}/scim-token`, { method: 'DELETE' }).then(again, fail)}
              >
                {_('Revoke')}
              </Button>
            ) : null}
          </div>
        </Step>
      </ol>
      {removing ? (
        <Ask
          danger
          title={_('Remove {what}?', { what: c.name || c.issuer })}
          text={_('Its members are suspended, and nobody signs in this way any more.')}
          yes={_('Remove')}
          close={() => setRemoving(false)}
          act={async () => {
            await api(`${base}/${c.id}`, { method: 'DELETE' });
            again();
          }}
        />
      ) : null}
      {enforcing ? (
        <Ask
          title={_('Make this the only way in?')}
          text={_(
            'Passwords, codes and passkeys of people of the proved domains are no longer taken. One owner keeps the password, for the day when the provider is broken.',
          )}
          yes={_('Only this way')}
          close={() => setEnforcing(false)}
          act={async () => {
            await api(`${base}/${c.id}`, { method: 'PUT', json: { enforced: true, break_glass_user_id: keeper } });
            again();
          }}
        >
          <Select label={_('Owner who keeps the password')} value={keeper} put={setKeeper} options={owners} />
        </Ask>
      ) : null}
      {scim ? (
        <Dialog
          title={_('Keep this token')}
          close={() => setScim('')}
          footer={
            <Button kind="primary" onClick={() => setScim('')}>
              {_('I have kept it')}
            </Button>
          }
        >
          <p>{_('The provider shows it with each request. It is shown this once.')}</p>
          <Input
            label={_('Token')}
            value={scim}
            put={() => undefined}
            readOnly
            onFocus={(e) => e.currentTarget.select()}
          />
          <Copy text={scim} label={_('Copy')} />
        </Dialog>
      ) : null}
    </Card>
  );
}

// What an attribute of the provider may be used as; the first three steer the sign-in.
const uses = ['email', 'groups', 'sub', 'name', 'given_name', 'family_name'];

// usedAs is what became of an attribute: what is set, else what the test made of it.
function usedAs(name: string, v: unknown, t: Test, c: Connection): string {
  const set = Object.entries(c.attribute_mapping.keys ?? {}).find(
    ([, from]) => from.name === name || from.names?.includes(name),
  );
  if (set) return set[0];
  const values = (Array.isArray(v) ? v : [v]).map(String);
  if (t.email && values[0]?.toLowerCase() === t.email) return 'email';
  if (t.groups?.length && t.groups.join('\n') === values.join('\n')) return 'groups';
  return Object.entries(t.profile ?? {}).find(([, x]) => String(x) === values[0])?.[0] ?? '';
}

// Received is what a test brought: the provider's attributes beside what we make of them, to be changed there.
function Received({ t, c, change }: { t: Test; c: Connection; change: (body: object, said: string) => Promise<void> }) {
  const use = (name: string, to: string) => {
    const keys = Object.fromEntries(
      Object.entries(c.attribute_mapping.keys ?? {}).filter(([k, from]) => k !== to && from.name !== name),
    );
    if (to) keys[to] = { name };
    void change({ attribute_mapping: { keys } }, _('Noted; try again to see what it makes'));
  };
  const groups = [...new Set([...(t.groups ?? []), ...Object.keys(c.role_map)])];
  const lead = (group: string, role: string) => {
    const { [group]: old, ...rest } = c.role_map;
    void change({ role_map: role ? { ...rest, [group]: role } : rest }, _('Noted; try again to see what it makes'));
  };
  return (
    <div class="stack tight">
      {t.outcome === 'ok' ? (
        <Note kind="good">
          {_('It works: {email} would come in as {role}.', { email: t.email ?? '–', role: words(t.role ?? '') })}
        </Note>
      ) : (
        <Note kind="bad">{t.reason ?? _('The provider did not let the person in.')}</Note>
      )}
      {t.attributes && Object.keys(t.attributes).length ? (
        <div class="table" tabIndex={0} role="region" aria-label={_('Attributes received')}>
          <table>
            <thead>
              <tr>
                <th scope="col">{_('Attribute received')}</th>
                <th scope="col">{_('Value')}</th>
                <th scope="col">{_('Used as')}</th>
              </tr>
            </thead>
            <tbody>
              {Object.entries(t.attributes).map(([name, v]) => {
                const at = usedAs(name, v, t, c);
                return (
                  <tr key={name}>
                    <td>
                      <code>{name}</code>
                    </td>
                    <td class="wrap">
                      <Json v={v} />
                    </td>
                    <td>
                      <select
                        class="input"
                        aria-label={_('{name} is used as', { name })}
                        value={at}
                        onChange={(e) => use(name, e.currentTarget.value)}
                      >
                        {['', ...uses, ...(at && !uses.includes(at) ? [at] : [])].map((u) => (
                          <option key={u} value={u}>
                            {u || '–'}
                          </option>
                        ))}
                      </select>
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      ) : null}
      {groups.length ? (
        <div class="table" tabIndex={0} role="region" aria-label={_('Groups and roles')}>
          <table>
            <thead>
              <tr>
                <th scope="col">{_('Group of the provider')}</th>
                <th scope="col">{_('Role here')}</th>
              </tr>
            </thead>
            <tbody>
              {groups.map((g) => (
                <tr key={g}>
                  <td class="wrap">{g}</td>
                  <td>
                    <select
                      class="input"
                      aria-label={_('Role of {group}', { group: g })}
                      value={c.role_map[g] ?? ''}
                      onChange={(e) => lead(g, e.currentTarget.value)}
                    >
                      <option value="">
                        {_('as new people: {role}', { role: words(c.default_role ?? '') || '–' })}
                      </option>
                      {roles.map((r) => (
                        <option key={r} value={r}>
                          {words(r)}
                        </option>
                      ))}
                    </select>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
    </div>
  );
}

function Prove({ d, id, again }: { d: Domain; id: string; again: () => void }) {
  const [code, setCode] = useState('');
  const [mailed, setMailed] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const at = `${base}/${id}/domains/${encodeURIComponent(d.domain)}`;
  const act = async (f: () => Promise<unknown>) => {
    setError(null);
    try {
      await f();
      again();
    } catch (e) {
      setError(e);
    }
  };
  if (d.verified_at)
    return (
      <li class="row">
        <b>{d.domain}</b> <Badge tone="good">{_('proved')}</Badge>
      </li>
    );
  return (
    <li class="stack tight">
      <div class="row">
        <b>{d.domain}</b> <Badge tone="warn">{_('not proved yet')}</Badge>
      </div>
      <p class="small">
        {_('Put a TXT record at')} <code>{d.dns_name}</code> {_('that says')} <code>{d.dns_value}</code>{' '}
        {d.dns_value ? <Copy text={d.dns_value} label={_('Copy')} /> : null}
      </p>
      <div class="row">
        <Button
          size="small"
          onClick={() =>
            void act(() => api(`${at}/verify`, { method: 'POST', json: mailed ? { code: code.trim() } : {} }))
          }
        >
          {mailed ? _('Take the code') : _('The record is there')}
        </Button>
        {mailed ? (
          <input
            class="input"
            style={{ inlineSize: '140px' }}
            aria-label={_('Code')}
            value={code}
            onInput={(e) => setCode(e.currentTarget.value)}
          />
        ) : null}
        <button
          type="button"
          class="link small"
          onClick={() => void act(async () => (await api(`${at}/mail`, { method: 'POST', json: {} }), setMailed(true)))}
        >
          {_('Mail a code to postmaster@{domain}', { domain: d.domain })}
        </button>
      </div>
      <Problem error={error} />
    </li>
  );
}

function Connect({ close, done }: { close: () => void; done: () => void }) {
  const saml = useQuery({
    queryKey: ['auth-settings'],
    queryFn: () => api<{ saml_enabled: boolean }>('/auth/v1/settings'),
    staleTime: 60_000,
  }).data?.saml_enabled;
  const draft = useDraft('provider');
  const [kind, setKind] = draft.field('kind', 'oidc');
  const [paste, setPaste] = draft.field('paste', false);
  const [v, setV] = draft.field<Record<string, string>>('texts', {});
  const [secret, setSecret] = useState('');
  const put = (n: string) => (x: string) => setV({ ...v, [n]: x });
  return (
    <Ask
      title={_('Connect a provider')}
      yes={_('Connect')}
      close={close}
      draft={draft}
      act={async () => {
        const common = {
          kind,
          name: v['name'] || undefined,
          default_role: v['role'] || 'viewer',
          domains: (v['domains'] ?? '')
            .split(',')
            .map((d) => d.trim())
            .filter(Boolean),
        };
        const from = paste ? { metadata_xml: v['xml'] } : { metadata_url: v['metadata'] };
        await api(base, {
          method: 'POST',
          json:
            kind === 'oidc'
              ? { ...common, issuer: v['issuer'], client_id: v['client_id'], client_secret: secret || undefined }
              : { ...common, ...from },
        });
        done();
      }}
    >
      <Select
        label={_('Kind')}
        value={kind}
        put={setKind}
        options={[['oidc', 'OpenID Connect'], ...(saml ? [['saml', 'SAML 2.0'] as [string, string]] : [])]}
        help={saml === false ? _('SAML is switched off on this server (setting saml)') : undefined}
      />
      <Input label={_('Name')} value={v['name'] ?? ''} put={put('name')} help={_('As your people know it')} />
      {kind === 'oidc' ? (
        <>
          <Input
            label={_('Issuer')}
            type="url"
            value={v['issuer'] ?? ''}
            put={put('issuer')}
            required
            placeholder="https://example.com/realms/staff"
          />
          <Input label={_('Client id')} value={v['client_id'] ?? ''} put={put('client_id')} required />
          <Input label={_('Client secret')} type="password" autocomplete="off" value={secret} put={setSecret} />
        </>
      ) : (
        <>
          <Note>
            {_('Our own metadata for the provider:')}{' '}
            <Copy
              text={`${location.origin}/auth/v1/sso/saml/metadata`}
              label={`${location.origin}/auth/v1/sso/saml/metadata`}
            />
          </Note>
          <Check label={_('Paste the provider’s metadata instead of its address')} on={paste} put={setPaste} />
          {paste ? (
            <Area label={_('Metadata (XML)')} value={v['xml'] ?? ''} put={put('xml')} required rows={6} />
          ) : (
            <Input
              label={_('Address of the metadata')}
              type="url"
              value={v['metadata'] ?? ''}
              put={put('metadata')}
              required
            />
          )}
        </>
      )}
      <Input
        label={_('Domains')}
        value={v['domains'] ?? ''}
        put={put('domains')}
        help={_('Whose addresses sign in this way; each is verified before it counts')}
        placeholder="example.com"
      />
      <Select
        label={_('Role of new people')}
        value={v['role'] ?? 'viewer'}
        put={put('role')}
        options={roles.map((r) => [r, words(r)])}
      />
    </Ask>
  );
}
