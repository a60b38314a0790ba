import { api } from '../lib/client';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import type { Row } from '../database';
import { Skeleton } from './basic';
import { Ask } from './dialog';

// What a person set up, and the connections by which the person comes back.
interface Works {
  invitations: { id: string; email: string }[];
  service_accounts: { id: string; name: string; keys: number }[];
  webhooks: { id: string; url: string }[];
  connections: { id: string; name: string }[];
  returns_by: { id: string; name: string }[];
}

// Ending is a membership, or a right of one, that is about to end.
export interface Ending {
  member: Row;
  removes?: boolean; // the membership goes, and may come back
  title: string;
  yes: string;
  act: () => Promise<void>;
}

// EndMembership asks before a membership or its rights end, and lists what goes on without the person.
export function EndMembership({ member, removes, title, yes, act, close }: Ending & { close: () => void }) {
  const q = useQuery({
    queryKey: ['works', member['user_id']],
    queryFn: () => api<Works>(`/auth/v1/tenant/members/${member['user_id']}/works`),
    staleTime: 0,
  });
  const w = q.data;
  const lists: [string, string, string[]][] = w
    ? [
        [_('Invitations that wait'), '', w.invitations.map((i) => i.email)],
        [_('Keys'), '/console/admin/keys', w.service_accounts.map((a) => a.name)],
        [_('Webhooks'), '/console/admin/webhooks', w.webhooks.map((h) => h.url)],
        [_('Single sign-on'), '/console/admin/sso', w.connections.map((c) => c.name)],
      ]
    : [];
  const some = lists.filter(([, , names]) => names.length);
  return (
    <Ask danger title={title} yes={yes} close={close} act={act} error={q.error}>
      {!w && !q.error ? <Skeleton lines={3} /> : null}
      {w && !some.length ? <p>{_('This person set nothing up that would go on.')}</p> : null}
      {removes && w?.returns_by.length ? (
        <p>
          {_(
            'This person comes back by signing in with {what}, then without the limits of now. Suspend instead, or remove the account there.',
            { what: w.returns_by.map((c) => c.name).join(', ') },
          )}
        </p>
      ) : null}
      {some.length ? (
        <p>
          {_(
            'This person set up what is below. Invitations that the person may not send any more are revoked; the rest goes on until you change it.',
          )}
        </p>
      ) : null}
      {some.map(([name, href, names]) => (
        <p key={name}>
          <b>{href ? <a href={href}>{name}</a> : name}</b>: {names.join(', ')}
        </p>
      ))}
    </Ask>
  );
}
