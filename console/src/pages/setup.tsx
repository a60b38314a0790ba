import { api, supabase } from '../lib/client';
import type { Permissions } from '../lib/catalog';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { kept, useStore } from '../lib/store';
import { Button, Card } from '../ui/basic';
import { Icon } from '../ui/icon';
import '../setup.css';

// Whether the list was put away, by tenant, in this browser.
const away = kept<Record<string, boolean>>('setup-done', {});

interface Task {
  text: string;
  note: string;
  href: string;
  done: boolean;
}

async function count(request: PromiseLike<{ count: number | null; error: unknown }>): Promise<number> {
  const { count: n, error } = await request;
  if (error) throw error;
  return n ?? 0;
}

// Setup is what a new organisation does first; each step is done when the data say so.
export function Setup({ p }: { p: Permissions }) {
  const hidden = useStore(away)[p.tenant_id];
  const q = useQuery({
    queryKey: ['c', 'setup', p.tenant_id],
    queryFn: async () => {
      const head = { count: 'estimated', head: true } as const;
      const [zones, items, members, stock, hooks, sso, backup] = await Promise.all([
        count(supabase.from('zones').select('id', head).eq('kind', 'bin')),
        count(supabase.from('items').select('id', head)),
        count(supabase.from('members').select('id', head)),
        count(supabase.from('stock_levels').select('id', head)),
        count(supabase.from('webhooks').select('id', head)),
        api<{ connections: unknown[] }>('/auth/v1/sso/connections').then(
          (r) => r.connections.length,
          () => 0,
        ),
        api<{ last_good_at: string | null }>('/v1/backup-status').then(
          (r) => !!r.last_good_at,
          () => false,
        ),
      ]);
      return { zones, items, members, stock, hooks, sso, backup };
    },
    enabled: !hidden,
    staleTime: 60_000,
    meta: { live: true },
  });
  const d = q.data;
  if (hidden || !d) return null;
  const tasks: Task[] = [
    {
      text: _('Draw the places'),
      note: _('Bins, docks and lanes, with coordinates for the map'),
      href: '/console/imports/new?target=zones',
      done: d.zones > 0,
    },
    {
      text: _('Bring in the items'),
      note: _('From a spreadsheet; what was written can be taken back'),
      href: '/console/imports/new?target=items',
      done: d.items > 0,
    },
    {
      text: _('Bring in the stock'),
      note: _('What lies where today'),
      href: '/console/imports/new?target=stock_levels',
      done: d.stock > 0,
    },
    {
      text: _('Invite your people'),
      note: _('Each sees what the role allows'),
      href: '/console/admin/members',
      done: d.members > 1,
    },
    {
      text: _('Connect your sign-in'),
      note: _('OpenID Connect or SAML, tested first'),
      href: '/console/admin/sso',
      done: d.sso > 0,
    },
    {
      text: _('Tell other programs'),
      note: _('Signed webhooks, tried again for days'),
      href: '/console/admin/webhooks',
      done: d.hooks > 0,
    },
    { text: _('Keep a backup'), note: _('How old the last one is'), href: '/console/admin/system', done: d.backup },
  ];
  const done = tasks.filter((t) => t.done).length;
  // Who works with items and people already is not new here.
  if (done === tasks.length || (d.items > 0 && d.zones > 0 && d.members > 1)) return null;
  return (
    <Card
      title={_('Set up your organisation')}
      actions={
        <>
          <span class="muted small">{_('{n} of {m} done', { n: done, m: tasks.length })}</span>
          <Button size="small" kind="quiet" onClick={() => away.set({ ...away.get(), [p.tenant_id]: true })}>
            {_('Put away')}
          </Button>
        </>
      }
    >
      <ol class="setup">
        {tasks.map((t) => (
          <li key={t.href + t.text}>
            <a href={t.href} class={t.done ? 'done' : ''}>
              <span class="mark">{t.done ? <Icon name="check" size={16} /> : null}</span>
              <span>
                <b>{t.text}</b>
                <span class="muted small">{t.note}</span>
                {t.done ? <span class="sr">{_('done')}</span> : null}
              </span>
            </a>
          </li>
        ))}
      </ol>
    </Card>
  );
}
