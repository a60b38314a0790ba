import type { Session } from '@supabase/supabase-js';
import { useState } from 'preact/hooks';
import { switchTenant } from '../frame';
import { arrival, type Arrival } from '../lib/arrival';
import { words } from '../lib/catalog';
import { api, beginSession, choosingPassword, leave, redeemLink, supabase } from '../lib/client';
import { toFault } from '../lib/fault';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { Badge, Button, Note, Problem, Skeleton } from '../ui/basic';
import { Door, useAct } from '../ui/door';
import { Input } from '../ui/form';
import { Gate } from './gate';

const done = () => arrival.set(null);

// Arrived shows what a link leads to, whoever is signed in in this browser.
export function Arrived({ came, session }: { came: Arrival; session: Session | null }) {
  const email = session?.user.email ?? '';
  switch (came.kind) {
    case 'link':
    case 'tokens':
      return <Opened came={came} email={email} />;
    case 'invitation':
      return <InvitedByLink token={came.token} email={email} />;
    case 'setup':
      return <SetUp token={came.token} />;
    case 'half':
      return (
        <Door>
          <h1>{_('Confirm your address')}</h1>
          <Note kind="good">
            {_('One of the two addresses is confirmed. Now open the link in the mail to the other one.')}
          </Note>
          <Onward email={email} />
        </Door>
      );
    default:
      return <Failed code={came.code} said={came.said} email={email} />;
  }
}

const titles: Record<string, string> = {
  recovery: 'Choose a new password',
  invite: 'You are invited',
  signup: 'Confirm your address',
  email_change: 'Confirm your address',
};
const explained: Record<string, string> = {
  recovery: 'Go on to sign in and choose a new password.',
  invite: 'Go on to open your account and choose a password.',
  signup: 'Go on to confirm your address and sign in.',
  email_change: 'Go on to confirm the change of your address.',
};

// Opened redeems a link when the person says so.
function Opened({ came, email }: { came: Extract<Arrival, { kind: 'link' | 'tokens' }>; email: string }) {
  const { busy, act } = useAct();
  const [failed, setFailed] = useState<{ code: string; said: string } | null>(null);
  const open = () =>
    act('open', async () => {
      try {
        const half =
          came.kind === 'link' ? await redeemLink(came.hash, came.type) : await beginSession(came, came.type);
        arrival.set(half ? { kind: 'half' } : null);
      } catch (e) {
        const f = toFault(e);
        setFailed({ code: f.code, said: f.message });
      }
    });
  if (failed) return <Failed {...failed} email={email} />;
  return (
    <Door>
      <h1>{_(titles[came.type] ?? 'Sign in')}</h1>
      <p class="muted">{_(explained[came.type] ?? 'Go on to sign in.')}</p>
      {email ? (
        <Note kind="warn">
          {_('You are signed in here as {email}. Whoever the link was sent to is signed in instead when you go on.', {
            email,
          })}
        </Note>
      ) : null}
      <Button kind="primary" busy={busy === 'open'} onClick={() => void open()}>
        {_('Go on')}
      </Button>
      {email ? <Button onClick={done}>{_('Stay signed in as {email}', { email })}</Button> : null}
    </Door>
  );
}

// Failed says why a link let nobody in, and what to do.
function Failed({ code, said, email }: { code: string; said: string; email: string }) {
  const [why, what] = reasons[code] ?? ['', ''];
  return (
    <Door>
      <h1>{_('This link lets nobody in')}</h1>
      <Note kind="bad">{why ? _(why) : said || _('The sign-in did not come about.')}</Note>
      {what ? <p>{_(what)}</p> : null}
      <Onward email={email} forgot={code === 'otp_expired'} />
    </Door>
  );
}

// By the server's code: why, and what to do.
const reasons: Record<string, [string, string]> = {
  otp_expired: [
    'The link was used before, is too old, or a newer one took its place.',
    'Ask for a new one: who forgot the password below, who was invited from whoever invited, and who runs the server by holdfast admin setup-link.',
  ],
  begun_elsewhere: ['This sign-in began in another browser or on another device.', 'Open it there, or sign in here.'],
  flow_state_not_found: ['This sign-in began in another browser, or a while ago.', 'Begin once more here.'],
  flow_state_expired: ['This sign-in took too long.', 'Begin once more.'],
  bad_code_verifier: ['This sign-in began in another browser or on another device.', 'Open it there, or sign in here.'],
  user_banned: ['This account is locked.', 'Ask an administrator of your organisation.'],
  sso_required: [
    'Your organisation asks you to sign in through its own provider.',
    'Choose single sign-on on the next page.',
  ],
};

// Onward leads to the page that stands behind the link's.
function Onward({ email, forgot }: { email: string; forgot?: boolean }) {
  const [asking, setAsking] = useState(false);
  if (asking) return <Gate first="forgot" />;
  return (
    <>
      {email ? <p class="muted">{_('You are signed in here as {email}.', { email })}</p> : null}
      <div class="row">
        <Button kind="primary" onClick={done}>
          {email ? _('Go to the start') : _('Sign in')}
        </Button>
        {forgot && !email ? <Button onClick={() => setAsking(true)}>{_('Forgot the password?')}</Button> : null}
      </div>
    </>
  );
}

interface OpenedInvitation {
  id: string;
  tenant_id: string;
  tenant_name: string;
  email: string;
  role: string;
  state: string;
}

// What became of an invitation that lets nobody in any more.
const ended: Record<string, string> = {
  accepted: 'This invitation was accepted before. Sign in with the address it was for.',
  declined: 'This invitation was declined. Ask {tenant} for a new one if you want to join after all.',
  revoked:
    'This invitation holds no longer: it was taken back, or a newer one took its place. Ask {tenant} for a new one.',
  expired: 'This invitation is too old. Ask {tenant} for a new one.',
};

// InvitedByLink leads the person whom an invitation is for into its organisation.
function InvitedByLink({ token, email }: { token: string; email: string }) {
  const q = useQuery({
    queryKey: ['opened-invitation', token],
    queryFn: () =>
      api<OpenedInvitation>('/auth/v1/invitations/opened', { method: 'POST', json: { invite_token: token } }),
    retry: false,
  });
  const { busy, error, act } = useAct();
  const i = q.data;
  if (q.error)
    return (
      <Door>
        <h1>{_('This link lets nobody in')}</h1>
        {toFault(q.error).code === 'invite_not_found' ? (
          <Note kind="bad">
            {_('There is no such invitation here. Perhaps the link was cut short: open it as it was sent.')}
          </Note>
        ) : (
          <Problem error={q.error} retry={() => void q.refetch()} />
        )}
        <Onward email={email} />
      </Door>
    );
  if (!i)
    return (
      <Door>
        <Skeleton />
      </Door>
    );
  if (i.state !== 'pending')
    return (
      <Door>
        <h1>{_('This link lets nobody in')}</h1>
        <Note kind="bad">
          {_(ended[i.state] ?? 'This invitation is too old. Ask {tenant} for a new one.', { tenant: i.tenant_name })}
        </Note>
        <Onward email={email} />
      </Door>
    );
  const invitation = { token, email: i.email, tenant: i.tenant_name, role: i.role };
  if (!email) return <Gate invitation={invitation} />;
  const accept = () =>
    act('accept', async () => {
      await api(`/auth/v1/invitations/${i.id}/accept`, { method: 'POST', json: {} });
      await switchTenant(i.tenant_id);
      done();
    });
  return (
    <Door>
      <h1>{_('You are invited')}</h1>
      <Problem error={error} />
      <p>
        <b>{i.tenant_name}</b> {_('invites you as')} <Badge tone="info">{words(i.role)}</Badge>
      </p>
      {email === i.email ? (
        <div class="row">
          <Button kind="primary" busy={busy === 'accept'} onClick={() => void accept()}>
            {_('Accept')}
          </Button>
          <Button onClick={done}>{_('Later')}</Button>
        </div>
      ) : (
        <>
          <Note kind="warn">
            {_('The invitation is for {address}, and you are signed in here as {email}.', { address: i.email, email })}
          </Note>
          <div class="row">
            <Button kind="primary" busy={busy === 'out'} onClick={() => void act('out', () => leave('local'))}>
              {_('Sign out and go on')}
            </Button>
            <Button onClick={done}>{_('Stay signed in as {email}', { email })}</Button>
          </div>
        </>
      )}
    </Door>
  );
}

// SetUp makes the first administrator of a server, by the link that it printed.
function SetUp({ token }: { token: string }) {
  const [organisation, setOrganisation] = useState('');
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const { busy, error, act } = useAct();
  const late = error && toFault(error).code === 'setup_link_invalid';
  const submit = (e: Event) => {
    e.preventDefault();
    void act('setup', async () => {
      await api('/auth/v1/setup', { method: 'POST', json: { token, organisation, email, password } });
      const r = await supabase.auth.signInWithPassword({ email, password });
      if (!r.error) done();
      return r;
    });
  };
  return (
    <Door>
      <h1>{_('Set this server up')}</h1>
      {late ? (
        <Note kind="bad">
          {_('The set-up link was used before or is too old. A new one is printed by:')}{' '}
          <code>holdfast admin setup-link</code>
        </Note>
      ) : (
        <Problem error={error} />
      )}
      <p class="muted">{_('Make the first administrator, who owns the organisation and invites the others.')}</p>
      <form class="stack" onSubmit={submit}>
        <Input label={_('Name of the organisation')} value={organisation} put={setOrganisation} required autofocus />
        <Input
          label={_('Your e-mail address')}
          type="email"
          autocomplete="username"
          inputMode="email"
          value={email}
          put={setEmail}
          required
        />
        <Input
          label={_('Password')}
          type="password"
          autocomplete="new-password"
          value={password}
          put={setPassword}
          required
        />
        <Button type="submit" kind="primary" busy={busy === 'setup'}>
          {_('Set up and go in')}
        </Button>
      </form>
      {late ? (
        <button type="button" class="link" onClick={done}>
          {_('Sign in')}
        </button>
      ) : null}
    </Door>
  );
}

// NewPassword follows the link of a recovery, of an invitation and of the set-up.
export function NewPassword({ email }: { email: string }) {
  const [password, setPassword] = useState('');
  const { busy, error, act } = useAct();
  const submit = (e: Event) => {
    e.preventDefault();
    void act('save', async () => {
      const r = await supabase.auth.updateUser({ password });
      if (!r.error) choosingPassword.set(false);
      return r;
    });
  };
  return (
    <Door>
      <h1>{_('Choose a new password')}</h1>
      <Problem error={error} />
      <form class="stack" onSubmit={submit}>
        <Input
          label={_('E-mail address')}
          type="email"
          autocomplete="username"
          value={email}
          put={() => undefined}
          readOnly
        />
        <Input
          label={_('New password')}
          type="password"
          autocomplete="new-password"
          value={password}
          put={setPassword}
          required
          autofocus
        />
        <Button type="submit" kind="primary" busy={busy === 'save'}>
          {_('Save')}
        </Button>
      </form>
      <button type="button" class="link" onClick={() => void leave('local')}>
        {_('Sign out')}
      </button>
    </Door>
  );
}
