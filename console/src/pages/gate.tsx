import type { Session } from '@supabase/supabase-js';
import { useState } from 'preact/hooks';
import { arrival } from '../lib/arrival';
import { api, askForMail, ended, supabase } from '../lib/client';
import { words } from '../lib/catalog';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { useSettings, type Person } from '../lib/settings';
import { useStore } from '../lib/store';
import { awaited } from '../lib/wanted';
import { Button, Copy, Note, Problem } from '../ui/basic';
import { Door, home, useAct } from '../ui/door';
import { Input } from '../ui/form';

interface AuthSettings {
  external: Record<string, boolean>;
  disable_signup: boolean;
  saml_enabled: boolean;
  passkeys_enabled: boolean;
  setup_needed: boolean;
}

// GateInvitation is the invitation whose link led here.
export interface GateInvitation {
  token: string;
  email: string;
  tenant: string;
  role: string;
}

type Way = 'password' | 'code' | 'sent' | 'sso' | 'forgot' | 'mailed' | 'signup';

const providerNames: Record<string, string> = {
  github: 'GitHub',
  gitlab: 'GitLab',
  azure: 'Microsoft',
  linkedin_oidc: 'LinkedIn',
  keycloak: 'Keycloak',
  slack_oidc: 'Slack',
};

// A passkey is made for a name: browsers make none for a bare address.
const named = !/^[\d.]+$|:/.test(location.hostname);

// Gate is the sign-in page. It may begin with the invitation that led here.
export function Gate({ invitation, first = 'password' }: { invitation?: GateInvitation; first?: Way }) {
  const settings = useSettings();
  const auth = useQuery({
    queryKey: ['auth-settings'],
    queryFn: () => api<AuthSettings>('/auth/v1/settings'),
    staleTime: 60_000,
  }).data;
  const [way, setWay] = useState<Way>(first);
  const [email, setEmail] = useState(invitation?.email ?? '');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [domain, setDomain] = useState('');
  const { busy, error, act, clear } = useAct();
  const isEnded = useStore(ended);
  const go = (w: Way) => {
    clear();
    if (w === 'password' && first !== 'password') arrival.set(null);
    setWay(w);
  };
  const providers = Object.entries(auth?.external ?? {}).filter(
    ([n, on]) => on && !['email', 'phone', 'anonymous_users', 'web3'].includes(n),
  );
  const signIn = (mail: string, pass: string) =>
    act(mail, () => supabase.auth.signInWithPassword({ email: mail, password: pass }));
  const send = () =>
    act('send', async () => {
      await askForMail('otp', { email, create_user: false });
      setWay('sent');
    });
  const submit = (e: Event) => {
    e.preventDefault();
    if (way === 'password') void signIn(email, password);
    if (way === 'code') void send();
    if (way === 'sent') void act('code', () => supabase.auth.verifyOtp({ email, token: code.trim(), type: 'email' }));
    if (way === 'sso')
      void act('sso', () =>
        awaited(() =>
          supabase.auth.signInWithSSO({ domain: domain.replace(/^.*@/, ''), options: { redirectTo: home() } }),
        ),
      );
    if (way === 'signup')
      void act('signup', () => register(email, password, invitation?.token, () => setWay('mailed')));
    if (way === 'forgot')
      void act('forgot', async () => {
        await askForMail('recover', { email });
        setWay('mailed');
      });
  };
  const mail = (
    <Input
      label={_('E-mail address')}
      type="email"
      autocomplete="username webauthn"
      inputMode="email"
      value={email}
      put={setEmail}
      autofocus={!invitation}
    />
  );
  return (
    <Door>
      <h1>
        {
          {
            password: _('Sign in'),
            code: _('Sign in with a code'),
            sent: _('Enter the code'),
            sso: _('Sign in with your organisation'),
            forgot: _('Choose a new password'),
            mailed: _('Look into your mail'),
            signup: _('Make an account'),
          }[way]
        }
      </h1>
      {isEnded ? (
        <Note kind="warn">
          {_(
            'Your session has ended: somebody ended it, or it was too old. Sign in again; what you typed in this tab is kept.',
          )}
        </Note>
      ) : null}
      {auth?.setup_needed ? <SetupNeeded /> : null}
      {invitation ? (
        <Note>
          <b>{invitation.tenant}</b>{' '}
          {_('invites {email} as {role}. Sign in with this address, or make an account with it.', {
            email: invitation.email,
            role: words(invitation.role),
          })}
        </Note>
      ) : null}
      <Problem error={error} />
      <form class="stack" onSubmit={submit}>
        {way === 'password' || way === 'signup' ? (
          <>
            {mail}
            <Input
              label={_('Password')}
              type="password"
              autocomplete={way === 'signup' ? 'new-password' : 'current-password'}
              value={password}
              put={setPassword}
            />
            <Button type="submit" kind="primary" busy={(busy === email && !!busy) || busy === 'signup'}>
              {way === 'signup' ? _('Make the account') : _('Sign in')}
            </Button>
          </>
        ) : null}
        {way === 'code' ? (
          <>
            {mail}
            <Button type="submit" kind="primary" busy={busy === 'send'}>
              {_('Send a code')}
            </Button>
          </>
        ) : null}
        {way === 'sent' ? (
          <>
            <p class="muted">{_('We sent a code to {email}, if it has an account here.', { email })}</p>
            <Input
              label={_('Code')}
              class="otp"
              inputMode="numeric"
              autocomplete="one-time-code"
              value={code}
              put={setCode}
              autofocus
            />
            <Button type="submit" kind="primary" busy={busy === 'code'}>
              {_('Sign in')}
            </Button>
          </>
        ) : null}
        {way === 'sso' ? (
          <>
            <Input
              label={_('Your address, or your organisation’s domain')}
              value={domain}
              put={setDomain}
              autofocus
              placeholder="example.com"
            />
            <Button type="submit" kind="primary" busy={busy === 'sso'}>
              {_('Go on')}
            </Button>
          </>
        ) : null}
        {way === 'forgot' ? (
          <>
            <p class="muted">{_('We mail you a link with which you choose a new one.')}</p>
            {mail}
            <Button type="submit" kind="primary" busy={busy === 'forgot'}>
              {_('Send the link')}
            </Button>
          </>
        ) : null}
        {way === 'mailed' ? (
          <Note kind="good">
            {_('If {email} can be used here, a mail is on its way. It may take a minute.', { email })}
          </Note>
        ) : null}
      </form>
      {way === 'password' ? (
        <>
          <div class="row">
            <button type="button" class="link" onClick={() => go('forgot')}>
              {_('Forgot the password?')}
            </button>
            <span class="push" />
            {auth && !auth.disable_signup ? (
              <button type="button" class="link" onClick={() => go('signup')}>
                {_('Make an account')}
              </button>
            ) : null}
          </div>
          <div class="or">{_('or')}</div>
          <div class="stack tight">
            {auth?.passkeys_enabled && named ? (
              <Button
                class="block"
                icon="key"
                busy={busy === 'passkey'}
                onClick={() => void act('passkey', () => supabase.auth.signInWithPasskey())}
              >
                {_('Use a passkey')}
              </Button>
            ) : null}
            <Button class="block" icon="mail" onClick={() => go('code')}>
              {_('Mail me a code')}
            </Button>
            <Button class="block" icon="shield" onClick={() => go('sso')}>
              {_('Single sign-on')}
            </Button>
            {providers.map(([name]) => (
              <Button
                key={name}
                class="block"
                icon="user"
                busy={busy === name}
                onClick={() =>
                  void act(name, () =>
                    awaited(() =>
                      supabase.auth.signInWithOAuth({ provider: name as 'github', options: { redirectTo: home() } }),
                    ),
                  )
                }
              >
                {_('Go on with {name}', { name: providerNames[name] ?? words(name.replace(/^custom:/, '')) })}
              </Button>
            ))}
          </div>
        </>
      ) : (
        <button type="button" class="link" onClick={() => go('password')}>
          {_('Back to the password')}
        </button>
      )}
      {settings?.demo && way === 'password' ? (
        <People
          people={settings.demo.people}
          busy={busy}
          pick={(p) => void signIn(p.email, settings.demo?.password ?? '')}
        />
      ) : null}
    </Door>
  );
}

// People are those of a demonstration: one click, and one is in.
function People({ people, busy, pick }: { people: Person[]; busy: string; pick: (p: Person) => void }) {
  const shown = people.filter((p) => p.role);
  return (
    <section class="stack tight" aria-label={_('Demonstration')}>
      <Note kind="warn" icon="bolt">
        <b>{_('This is a demonstration.')}</b> {_('Be one of these people:')}
      </Note>
      <div class="people">
        {shown.map((p) => (
          <button key={p.email} type="button" disabled={!!busy} onClick={() => pick(p)}>
            <span class="sr">{_('Sign in as')}</span>
            <b>{busy === p.email ? _('One moment') : p.name}</b>
            <span>
              {words(p.role)} · {p.tenant.split(' ')[0]}
            </span>
          </button>
        ))}
      </div>
    </section>
  );
}

// SetupNeeded says that nobody can sign in yet, and how the first administrator is made.
function SetupNeeded() {
  const command = 'holdfast admin setup-link';
  return (
    <Note kind="warn">
      <b>{_('No administrator exists yet.')}</b>{' '}
      {_(
        'Open the set-up link that the server printed when it started. A new one is printed on the server’s machine by:',
      )}{' '}
      <code>{command}</code> <Copy text={command} label={_('Copy')} />
    </Note>
  );
}

// register makes an account: with a session at once, or by a mailed link.
async function register(
  email: string,
  password: string,
  invitation: string | undefined,
  mailed: () => void,
): Promise<{ error: unknown } | void> {
  const made = await askForMail<Partial<Session>>('signup', {
    email,
    password,
    data: invitation ? { invite_token: invitation } : {},
  });
  if (!made.access_token || !made.refresh_token) return mailed();
  return supabase.auth.setSession({ access_token: made.access_token, refresh_token: made.refresh_token });
}
