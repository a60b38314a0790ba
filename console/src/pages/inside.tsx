import { useState } from 'preact/hooks';
import { api, leave, supabase } from '../lib/client';
import { words } from '../lib/catalog';
import { toFault } from '../lib/fault';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { switchTenant, useInvitations, useTenants, type Invitation } from '../frame';
import { Badge, Button, Problem } from '../ui/basic';
import { Door, useAct } from '../ui/door';
import { Input } from '../ui/form';
import { Icon } from '../ui/icon';

// Second asks for the second factor.
export function Second() {
  const factors = useQuery({
    queryKey: ['factors'],
    queryFn: async () => {
      const { data, error } = await supabase.auth.mfa.listFactors();
      if (error) throw toFault(error);
      return data.all.filter((f) => f.status === 'verified');
    },
  });
  const [code, setCode] = useState('');
  const [lost, setLost] = useState(false);
  const { busy, error, act } = useAct();
  const totp = factors.data?.find((f) => f.factor_type === 'totp');
  const submit = (e: Event) => {
    e.preventDefault();
    void act('code', async () => {
      if (lost) {
        return supabase.auth.setSession(
          await api<{ access_token: string; refresh_token: string }>('/auth/v1/factors/recovery-codes/verify', {
            method: 'POST',
            json: { code: code.trim() },
          }),
        );
      }
      if (!totp) return;
      return supabase.auth.mfa.challengeAndVerify({ factorId: totp.id, code: code.trim() });
    });
  };
  return (
    <Door>
      <h1>{_('One more step')}</h1>
      <p class="muted">
        {lost
          ? _('Enter one of the recovery codes that you kept.')
          : _('Enter the six digits that your authenticator app shows.')}
      </p>
      <Problem error={error ?? factors.error} />
      <form class="stack" onSubmit={submit}>
        <Input
          label={lost ? _('Recovery code') : _('Code')}
          class="otp"
          autocomplete="one-time-code"
          inputMode={lost ? 'text' : 'numeric'}
          value={code}
          put={setCode}
          autofocus
        />
        <Button type="submit" kind="primary" busy={busy === 'code'}>
          {_('Go on')}
        </Button>
      </form>
      <div class="row">
        <button type="button" class="link" onClick={() => setLost(!lost)}>
          {lost ? _('Use the app') : _('I lost my app')}
        </button>
        <span class="push" />
        <button type="button" class="link" onClick={() => void leave('local')}>
          {_('Sign out')}
        </button>
      </div>
    </Door>
  );
}

// Nowhere is for somebody who is a member of no organisation yet.
export function Nowhere() {
  const tenants = useTenants();
  const invitations = useInvitations();
  const { busy, error, act } = useAct();
  const answer = (i: Invitation, how: 'accept' | 'decline') =>
    act(i.id + how, async () => {
      await api(`/auth/v1/invitations/${i.id}/${how}`, { method: 'POST', json: {} });
      if (how === 'accept') await switchTenant(i.tenant_id);
      else await invitations.refetch();
    });
  const list = invitations.data ?? [];
  return (
    <Door>
      <h1>
        {list.length
          ? _('You are invited')
          : tenants.length
            ? _('Where do you want to work?')
            : _('You belong to no organisation yet')}
      </h1>
      <Problem error={error ?? invitations.error} />
      {list.map((i) => (
        <div key={i.id} class="stack tight">
          <p>
            <b>{i.tenant_name}</b> {_('invites you as')} <Badge tone="info">{words(i.role)}</Badge>
          </p>
          <div class="row">
            <Button kind="primary" busy={busy === `${i.id}accept`} onClick={() => void answer(i, 'accept')}>
              {_('Accept')}
            </Button>
            <Button busy={busy === `${i.id}decline`} onClick={() => void answer(i, 'decline')}>
              {_('Decline')}
            </Button>
          </div>
        </div>
      ))}
      {tenants.map((t) => (
        <Button key={t.id} busy={busy === t.id} onClick={() => void act(t.id, () => switchTenant(t.id))}>
          <span class="grow">{t.name}</span>
          <span class="muted">{words(t.role)}</span>
        </Button>
      ))}
      {!list.length && !tenants.length ? (
        <p class="muted">{_('Ask an administrator for an invitation. It appears here by itself.')}</p>
      ) : null}
      <div class="row">
        {!tenants.length ? (
          <Button icon="refresh" onClick={() => void act('again', async () => void (await invitations.refetch()))}>
            {_('Look again')}
          </Button>
        ) : null}
        <span class="push" />
        <button type="button" class="link" onClick={() => void leave('local')}>
          <Icon name="out" size={16} /> {_('Sign out')}
        </button>
      </div>
    </Door>
  );
}
