import { useState } from 'preact/hooks';
import { api } from '../lib/client';
import { words } from '../lib/catalog';
import { _ } from '../lib/i18n';
import { queryClient } from '../lib/query';
import { switchTenant, type Invitation } from '../frame';
import { Badge, Button } from '../ui/basic';
import { fail, toast } from '../ui/overlay';

// Invited lets somebody who is signed in answer invitations of other organisations.
export function Invited({ list }: { list: Invitation[] }) {
  const [busy, setBusy] = useState('');
  const answer = async (i: Invitation, how: 'accept' | 'decline') => {
    setBusy(i.id + how);
    try {
      await api(`/auth/v1/invitations/${i.id}/${how}`, { method: 'POST', json: {} });
      await Promise.all([
        queryClient.invalidateQueries({ queryKey: ['my-invitations'] }),
        queryClient.invalidateQueries({ queryKey: ['tenants'] }),
      ]);
      const name = i.tenant_name;
      if (how === 'accept')
        toast(_('You are a member of {name}', { name }), [
          _('Go there'),
          () => void switchTenant(i.tenant_id).catch(fail),
        ]);
      else toast(_('The invitation of {name} is declined', { name }));
    } catch (e) {
      fail(e);
    } finally {
      setBusy('');
    }
  };
  return (
    <>
      {list.map((i) => (
        <div key={i.id} class="notice">
          <span>
            <b>{i.tenant_name}</b> {_('invites you as')} <Badge tone="info">{words(i.role)}</Badge>
          </span>
          <span class="push row tight">
            <Button
              size="small"
              kind="primary"
              busy={busy === `${i.id}accept`}
              onClick={() => void answer(i, 'accept')}
            >
              {_('Accept')}
            </Button>
            <Button size="small" busy={busy === `${i.id}decline`} onClick={() => void answer(i, 'decline')}>
              {_('Decline')}
            </Button>
          </span>
        </div>
      ))}
    </>
  );
}
