import { useState } from 'preact/hooks';
import { type Tenant, useTenants } from '../frame';
import { words } from '../lib/catalog';
import { api, leave, session, supabase } from '../lib/client';
import { toFault } from '../lib/fault';
import { ago, date } from '../lib/format';
import { _ } from '../lib/i18n';
import { queryClient, useQuery } from '../lib/query';
import { useSettings } from '../lib/settings';
import { useStore } from '../lib/store';
import { Badge, Button, Card, Copy, Head, Note, Problem } from '../ui/basic';
import { Ask } from '../ui/dialog';
import { Input } from '../ui/form';
import { fail, toast } from '../ui/overlay';

interface Session {
  id: string;
  created_at: string;
  last_used_at?: string;
  user_agent?: string;
  current?: boolean;
}

// AccountPage is a person's own: password, second factor, passkeys, sessions.
export function AccountPage() {
  const s = useStore(session);
  const product = useSettings()?.product ?? 'Holdfast';
  const factors = useQuery({
    queryKey: ['factors', 'own'],
    queryFn: async () => (await supabase.auth.mfa.listFactors()).data?.all ?? [],
  });
  const passkeys = useQuery({
    queryKey: ['passkeys'],
    queryFn: () => api<{ id: string; friendly_name: string; created_at: string }[]>('/auth/v1/passkeys'),
  });
  const sessions = useQuery({
    queryKey: ['sessions'],
    queryFn: () => api<{ sessions: Session[] }>('/auth/v1/sessions'),
  });
  const [enrol, setEnrol] = useState<{ id: string; qr: string; secret: string } | null>(null);
  const [code, setCode] = useState('');
  const [codes, setCodes] = useState<string[]>([]);
  const [changing, setChanging] = useState(false);
  const [old, setOld] = useState('');
  const [password, setPassword] = useState('');
  const begin = async () => {
    const { data, error } = await supabase.auth.mfa.enroll({ factorType: 'totp', issuer: product });
    if (error) return fail(error);
    setEnrol({ id: data.id, qr: data.totp.qr_code, secret: data.totp.secret });
  };
  const addKey = async () => {
    const { error } = await supabase.auth.registerPasskey();
    if (error) return fail(toFault(error));
    toast(_('The passkey is kept'));
    void passkeys.refetch();
  };
  return (
    <>
      <Head title={_('Your account')} sub={s?.user.email} />
      <div class="grid">
        <Card title={_('Password')}>
          <Button icon="key" onClick={() => setChanging(true)}>
            {_('Choose a new password')}
          </Button>
        </Card>
        <Card
          flush
          title={_('Second factor')}
          actions={
            <Button size="small" onClick={() => void begin()}>
              {_('Add an app')}
            </Button>
          }
        >
          <ul class="lines">
            {(factors.data ?? [])
              .filter((f) => f.status === 'verified')
              .map((f) => (
                <li key={f.id}>
                  <span class="grow">{f.friendly_name || f.factor_type.toUpperCase()}</span>
                  <Badge tone="good">{_('on')}</Badge>
                  <Button
                    size="small"
                    kind="danger"
                    onClick={() =>
                      void supabase.auth.mfa
                        .unenroll({ factorId: f.id })
                        .then(({ error }) => (error ? fail(toFault(error)) : void factors.refetch()))
                    }
                  >
                    {_('Remove')}
                  </Button>
                </li>
              ))}
            {!(factors.data ?? []).some((f) => f.status === 'verified') ? (
              <li class="muted">{_('None yet. With one, a stolen password is not enough.')}</li>
            ) : null}
          </ul>
        </Card>
        <Card
          flush
          title={_('Passkeys')}
          actions={
            <Button size="small" onClick={() => void addKey()}>
              {_('Add a passkey')}
            </Button>
          }
        >
          <Problem error={passkeys.error} />
          <ul class="lines">
            {(passkeys.data ?? []).map((k) => (
              <li key={k.id}>
                <span class="grow">{k.friendly_name || _('Passkey')}</span>
                <span class="muted small">{date(k.created_at)}</span>
                <Button
                  size="small"
                  kind="danger"
                  onClick={() =>
                    void api(`/auth/v1/passkeys/${k.id}`, { method: 'DELETE' }).then(() => passkeys.refetch(), fail)
                  }
                >
                  {_('Remove')}
                </Button>
              </li>
            ))}
            {passkeys.data && !passkeys.data.length ? (
              <li class="muted">{_('None yet. A passkey signs in with a finger or a look.')}</li>
            ) : null}
          </ul>
        </Card>
        <Card
          flush
          title={_('Where you are signed in')}
          actions={
            <Button size="small" kind="danger" onClick={() => void leave('global')}>
              {_('Sign out everywhere')}
            </Button>
          }
        >
          <Problem error={sessions.error} />
          <ul class="lines">
            {(sessions.data?.sessions ?? []).slice(0, 12).map((x) => (
              <li key={x.id}>
                <span class="grow clip" title={x.user_agent}>
                  {browser(x.user_agent)}
                </span>
                {x.current ? <Badge tone="good">{_('this one')}</Badge> : null}
                <span class="muted small nobreak">{ago(x.last_used_at ?? x.created_at)}</span>
                {x.current ? null : (
                  <Button
                    size="small"
                    onClick={() =>
                      void api(`/auth/v1/sessions/${x.id}`, { method: 'DELETE' }).then(() => sessions.refetch(), fail)
                    }
                  >
                    {_('End')}
                  </Button>
                )}
              </li>
            ))}
          </ul>
        </Card>
        <Organisations />
      </div>
      {changing ? (
        <Ask
          title={_('Choose a new password')}
          yes={_('Save')}
          close={() => setChanging(false)}
          act={async () => {
            await api('/auth/v1/user', { method: 'PUT', json: { password, current_password: old } });
            toast(_('The new password holds'));
          }}
        >
          <Input
            label={_('Password that holds now')}
            type="password"
            autocomplete="current-password"
            value={old}
            put={setOld}
            autofocus
          />
          <Input
            label={_('New password')}
            type="password"
            autocomplete="new-password"
            value={password}
            put={setPassword}
          />
        </Ask>
      ) : null}
      {enrol ? (
        <Ask
          title={_('Add an authenticator app')}
          yes={_('Switch it on')}
          close={() => setEnrol(null)}
          act={async () => {
            const { error } = await supabase.auth.mfa.challengeAndVerify({ factorId: enrol.id, code: code.trim() });
            if (error) throw toFault(error);
            setCodes((await api<{ codes: string[] }>('/auth/v1/factors/recovery-codes', { method: 'POST' })).codes);
            void factors.refetch();
          }}
        >
          <p>{_('Scan this with the app, then enter the six digits that it shows.')}</p>
          <img
            src={enrol.qr}
            width={180}
            height={180}
            alt={_('Code for the app; its text is below')}
            style={{ background: '#fff', padding: '8px', borderRadius: '8px' }}
          />
          <div class="small">
            <code>{enrol.secret}</code> <Copy text={enrol.secret} label={_('Copy')} />
          </div>
          <Input
            label={_('Code')}
            class="otp"
            inputMode="numeric"
            autocomplete="one-time-code"
            value={code}
            put={setCode}
          />
        </Ask>
      ) : null}
      {codes.length ? (
        <Ask
          title={_('Keep these recovery codes')}
          yes={_('I have kept them')}
          close={() => setCodes([])}
          act={async () => undefined}
        >
          <Note kind="warn">{_('Each works once when the app is lost. They are shown this once.')}</Note>
          <pre class="mono">{codes.join('\n')}</pre>
          <Copy text={codes.join('\n')} label={_('Copy')} />
        </Ask>
      ) : null}
    </>
  );
}

// Organisations lists where the person is a member, and lets go of one.
function Organisations() {
  const tenants = useTenants();
  const [leaving, setLeaving] = useState<Tenant | null>(null);
  return (
    <Card flush title={_('Organisations')}>
      <ul class="lines">
        {tenants.map((t) => (
          <li key={t.id}>
            <span class="grow clip">{t.name}</span>
            {t.current ? <Badge tone="good">{_('this one')}</Badge> : null}
            <span class="muted small nobreak">{words(t.role)}</span>
            <Button
              size="small"
              kind="danger"
              aria-label={_('Leave {name}', { name: t.name })}
              onClick={() => setLeaving(t)}
            >
              {_('Leave')}
            </Button>
          </li>
        ))}
      </ul>
      {leaving ? (
        <Ask
          title={_('Leave {name}?', { name: leaving.name })}
          text={_('You see nothing of it any more. What you recorded stays there. Only an invitation brings you back.')}
          yes={_('Leave')}
          danger
          close={() => setLeaving(null)}
          act={async () => {
            await api(`/auth/v1/tenants/${leaving.id}`, { method: 'DELETE' });
            if (leaving.current) await supabase.auth.refreshSession();
            await queryClient.invalidateQueries({ queryKey: ['tenants'] });
          }}
        />
      ) : null}
    </Card>
  );
}

// browser says a user agent in a word or two.
function browser(agent = ''): string {
  const name = /Edg\//.test(agent)
    ? 'Edge'
    : /Firefox\//.test(agent)
      ? 'Firefox'
      : /Chrom(e|ium)\//.test(agent)
        ? 'Chrome'
        : /Safari\//.test(agent)
          ? 'Safari'
          : agent.split(/[/ ]/)[0] || _('Unknown');
  const system = /Android/.test(agent)
    ? 'Android'
    : /iPhone|iPad/.test(agent)
      ? 'iOS'
      : /Windows/.test(agent)
        ? 'Windows'
        : /Mac OS/.test(agent)
          ? 'macOS'
          : /Linux/.test(agent)
            ? 'Linux'
            : '';
  return system ? `${name}, ${system}` : name;
}
