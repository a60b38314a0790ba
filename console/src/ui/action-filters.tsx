import { supabase, want } from '../lib/client';
import { words, type Collection, type Permissions } from '../lib/catalog';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { Button, Segments } from './basic';
import { Select } from './form';
import { usePeople } from './value';
import type { Narrowed } from './actions';

// ActionFilters say which actions the board is about, and whether they are columns or a table.
export function ActionFilters({
  a,
  by,
  go,
  p,
  c,
  isNarrow,
}: {
  a: Narrowed;
  by: string;
  go: (next: Narrowed & { by?: string }) => void;
  p: Permissions;
  c: Collection;
  isNarrow: boolean;
}) {
  const narrowing = <Narrowing a={a} go={go} p={p} c={c} />;
  return (
    <div class="row actions-filters">
      <Segments
        label={_('Whose')}
        options={[
          ['', _('Everybody')],
          ['mine', _('Mine')],
        ]}
        at={a.who ?? ''}
        go={(v) => go({ who: v })}
      />
      <Button icon="clock" aria-pressed={!!a.late} onClick={() => go({ late: a.late ? '' : '1' })}>
        {_('Overdue')}
      </Button>
      {isNarrow ? (
        <details class="fold" open={!!(a.site || a.level || a.person)}>
          <summary>{_('Filter')}</summary>
          <div class="stack">{narrowing}</div>
        </details>
      ) : (
        narrowing
      )}
      <span class="push" />
      <Segments
        label={_('Show')}
        options={[
          ['', _('Board')],
          ['table', _('Table')],
        ]}
        at={by}
        go={(v) => go({ by: v })}
      />
    </div>
  );
}

function Narrowing({ a, go, p, c }: { a: Narrowed; go: (next: Narrowed) => void; p: Permissions; c: Collection }) {
  const people = usePeople(p);
  const sites = useQuery({
    queryKey: ['c', 'sites', 'names'],
    queryFn: () => want(supabase.from('sites').select('id,code,name').is('archived_at', null).order('code')),
    enabled: !!p.collections['sites']?.read && !!p.collections['incidents']?.read,
    staleTime: 5 * 60_000,
  });
  const levels = (c.fields.find((f) => f.name === 'control_level')?.one_of ?? []).filter(Boolean);
  return (
    <>
      {(sites.data?.length ?? 0) > 1 ? (
        <Select
          label={_('Site of the incident')}
          value={a.site ?? ''}
          put={(v) => go({ site: v })}
          options={[
            ['', _('All sites')],
            ...(sites.data ?? []).map((s): [string, string] => [s.id, `${s.code} ${s.name}`]),
          ]}
        />
      ) : null}
      <Select
        label={_('Level of control')}
        value={a.level ?? ''}
        put={(v) => go({ level: v })}
        options={[
          ['', _('All levels of control')],
          ...levels.map((x): [string, string] => [x, words(x)]),
          ['none', _('No level of control')],
        ]}
      />
      {people.length ? (
        <Select
          label={_('In charge')}
          value={a.person ?? ''}
          put={(v) => go({ person: v })}
          options={[
            ['', _('Everybody')],
            ['none', _('nobody yet')],
            ...people.map(([id, name]): [string, string] => [id, name]),
          ]}
        />
      ) : null}
    </>
  );
}
