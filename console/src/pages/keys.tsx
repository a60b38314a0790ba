import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { claimsOf } from '../lib/claims';
import { api, session } from '../lib/client';
import { titleOf, words, type Permissions } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { ago, date, dateTime } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { useStore } from '../lib/store';
import { dayIn, endOf, homeZone } from '../lib/zone';
import { Badge, Button, Card, Copy, Empty, LinkButton, Note, Problem, Segments, Skeleton } from '../ui/basic';
import { Ask, Dialog } from '../ui/dialog';
import { Check, Input, Select } from '../ui/form';
import { toast } from '../ui/overlay';
import { useCalledPeople } from '../ui/value';
import '../keys.css';

interface Key {
  id: string;
  state: 'active' | 'retiring' | 'expired' | 'revoked';
  created_at: string;
  created_by?: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  last_used_from?: string;
  secret?: string;
}

interface Account {
  id: string;
  name: string;
  role: string;
  scopes: string[];
  addresses: string[];
  expires_at: string | null;
  created_at: string;
  updated_at: string;
  keys: Key[];
}

const base = '/auth/v1/tenant/service-accounts';
const roles = ['admin', 'manager', 'safety', 'operator', 'driver', 'viewer'];
const tones: Record<string, string> = { active: 'good', retiring: 'warn', expired: 'bad', revoked: '' };

// What stands in a key's secret and where it is used; it is shown once.
interface Made {
  account: Account;
  secret: string;
}

// Keys are the machines that work for the organisation: what each may do, from where and until when.
export function Keys({ p }: { p: Permissions }) {
  const q = useQuery({
    queryKey: ['service-accounts'],
    queryFn: () => api<{ service_accounts: Account[]; available_scopes: string[] }>(base),
    refetchInterval: 30_000,
  });
  const names = useCalledPeople(p);
  const s = useStore(session);
  const raised = !!s && claimsOf(s).aal === 'aal2';
  const [editing, setEditing] = useState<Account | 'new' | null>(null);
  const [renewing, setRenewing] = useState<Account | null>(null);
  const [ending, setEnding] = useState<[Account, Key] | null>(null);
  const [removing, setRemoving] = useState<Account | null>(null);
  const [made, setMade] = useState<Made | null>(null);
  const again = () => void q.refetch();
  const list = q.data?.service_accounts ?? [];
  return (
    <div class="stack">
      <div class="row">
        <span class="muted">
          {_('A machine that works for your organisation, such as an ERP or a scale, has a key of its own.')}
        </span>
        <span class="push" />
        <Button kind="primary" icon="plus" disabled={!raised} onClick={() => setEditing('new')}>
          {_('New service account')}
        </Button>
      </div>
      {s && !raised ? (
        <Note kind="warn">
          {_('Keys are made, changed and ended by who showed a second factor.')}{' '}
          <LinkButton size="small" href="/console/account">
            {_('Set up a second factor')}
          </LinkButton>
        </Note>
      ) : null}
      <Problem error={q.error} retry={again} />
      {q.isPending ? <Skeleton lines={5} /> : null}
      {q.data && !list.length ? (
        <Card flush title={_('Service accounts')}>
          <Empty title={_('No machine works here yet')} icon="key">
            {_('Say what it may do and take its key with a snippet that works at once.')}
          </Empty>
        </Card>
      ) : null}
      {list.map((a) => (
        <One
          key={a.id}
          a={a}
          names={names}
          can={raised}
          change={() => setEditing(a)}
          renew={() => setRenewing(a)}
          end={(k) => setEnding([a, k])}
          remove={() => setRemoving(a)}
        />
      ))}
      {editing ? (
        <Edit
          from={editing === 'new' ? null : editing}
          scopes={q.data?.available_scopes ?? []}
          close={() => setEditing(null)}
          again={again}
          done={setMade}
        />
      ) : null}
      {renewing ? <Renew a={renewing} close={() => setRenewing(null)} again={again} done={setMade} /> : null}
      {ending ? (
        <Ask
          danger
          title={_('End this key now?')}
          text={_('Programs that show it are refused from now on. This cannot be taken back.')}
          yes={_('End the key')}
          close={() => setEnding(null)}
          act={async () => {
            await api(`${base}/${ending[0].id}/keys/${ending[1].id}`, { method: 'DELETE' });
            toast(_('The key holds no longer'));
            again();
          }}
        />
      ) : null}
      {removing ? (
        <Ask
          danger
          title={_('Remove {what}?', { what: removing.name })}
          text={_('All its keys end now. What it did stays in the audit log.')}
          yes={_('Remove')}
          close={() => setRemoving(null)}
          act={async () => {
            await api(`${base}/${removing.id}`, { method: 'DELETE' });
            toast(_('{what} is removed', { what: removing.name }));
            again();
          }}
        />
      ) : null}
      {made ? <Handed made={made} close={() => setMade(null)} /> : null}
    </div>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function One({
  a,
  names,
  can,
  change,
  renew,
  end,
  remove,
}: {
  a: Account;
  names: Map<string, string>;
  can: boolean;
  change: () => void;
  renew: () => void;
  end: (k: Key) => void;
  remove: () => void;
}) {
  const [all, setAll] = useState(false);
  const holds = a.keys.filter((k) => k.state === 'active' || k.state === 'retiring');
  const gone = a.keys.filter((k) => !holds.includes(k));
  const shown = all ? a.keys : [...holds, ...gone].slice(0, Math.max(holds.length, 2));
  return (
    <Card
      flush
      label={a.name}
      title={
        <>
          <h2>{a.name}</h2>
          <Badge tone="info">{words(a.role)}</Badge>
          {a.expires_at && Date.parse(a.expires_at) < Date.now() ? (
            <Badge tone="bad">{_('ended')}</Badge>
          ) : !holds.length ? (
            <Badge tone="warn">{_('no key')}</Badge>
          ) : null}
        </>
      }
      actions={
        <>
          <Button size="small" icon="key" disabled={!can} onClick={renew}>
            {_('New key')}
          </Button>
          <Button size="small" icon="edit" disabled={!can} onClick={change}>
            {_('Change')}
          </Button>
          <Button size="small" kind="danger" disabled={!can} onClick={remove}>
            {_('Remove')}
          </Button>
        </>
      }
    >
      <div class="body">
        <dl class="facts">
          <Fact name={_('What it is for')}>
            {a.scopes.length ? <Scopes list={a.scopes} /> : <span class="muted">{_('nothing yet')}</span>}
          </Fact>
          <Fact name={_('From')}>{a.addresses.length ? <code>{a.addresses.join(', ')}</code> : _('anywhere')}</Fact>
          <Fact name={_('Until')}>{a.expires_at ? dateTime(a.expires_at) : _('no end')}</Fact>
          <Fact name={_('Client id')}>
            <code>{a.id}</code> <Copy text={a.id} label={_('Copy')} />
          </Fact>
        </dl>
      </div>
      {shown.length ? (
        <div class="table stacks" tabIndex={0} role="region" aria-label={_('Keys of {name}', { name: a.name })}>
          <table>
            <thead>
              <tr>
                {[_('Key'), _('Made'), _('Ends'), _('Last used')].map((t) => (
                  <th key={t} scope="col">
                    {t}
                  </th>
                ))}
                <th scope="col">
                  <span class="sr">{_('More')}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((k) => {
                const until = k.revoked_at ?? k.expires_at;
                return (
                  <tr key={k.id}>
                    <td>
                      <Badge tone={tones[k.state]}>{words(k.state)}</Badge>
                    </td>
                    <td data-label={_('Made')}>
                      <span title={dateTime(k.created_at)}>{ago(k.created_at)}</span>{' '}
                      <span class="muted">{(k.created_by && names.get(k.created_by)) ?? ''}</span>
                    </td>
                    <td data-label={_('Ends')}>
                      {until ? (
                        <span title={dateTime(until)}>{ago(until)}</span>
                      ) : (
                        <span class="muted">{_('no end')}</span>
                      )}
                    </td>
                    <td data-label={_('Last used')}>
                      {k.last_used_at ? (
                        <>
                          <span title={dateTime(k.last_used_at)}>{ago(k.last_used_at)}</span>{' '}
                          <span class="muted">
                            {k.last_used_from ? _('from {address}', { address: k.last_used_from }) : ''}
                          </span>
                        </>
                      ) : (
                        <span class="muted">{_('never')}</span>
                      )}
                    </td>
                    <td class="num end">
                      {k.state === 'active' || k.state === 'retiring' ? (
                        <Button size="small" kind="danger" disabled={!can} onClick={() => end(k)}>
                          {_('End now')}
                        </Button>
                      ) : null}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      ) : null}
      {a.keys.length > shown.length ? (
        <footer>
          <button type="button" class="link" onClick={() => setAll(true)}>
            {plural(a.keys.length - shown.length, 'Show {n} earlier key', 'Show {n} earlier keys')}
          </button>
        </footer>
      ) : null}
    </Card>
  );
}

// scopeWords says a scope as people do: orders:read -> Orders: read.
function scopeWords(scope: string): string {
  const [of = '', what = ''] = scope.split(':');
  if (of === 'rpc' || of === 'functions') return words(what.replace(/-/g, '_'));
  return `${titleOf(of)}: ${what === 'write' ? _('read and write') : _('read')}`;
}

function Scopes({ list }: { list: string[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? list : list.slice(0, 8);
  return (
    <span class="row tight">
      {shown.map((x) => (
        <Badge key={x} tone="plain">
          {scopeWords(x)}
        </Badge>
      ))}
      {list.length > shown.length ? (
        <button type="button" class="link" onClick={() => setAll(true)}>
          {_('and {n} more', { n: list.length - shown.length })}
        </button>
      ) : null}
    </span>
  );
}

// until is the end of a day of the organisation, as the server wants a moment.
const until = (day: string) => (day ? endOf(day, homeZone()) : '');
const dayOf = (at: string | null) => (at ? dayIn(homeZone(), at) : '');
const lines = (text: string) => text.split(/[\s,;]+/).filter(Boolean);

function Edit({
  from,
  scopes,
  close,
  again,
  done,
}: {
  from: Account | null;
  scopes: string[];
  close: () => void;
  again: () => void;
  done: (m: Made) => void;
}) {
  const draft = useDraft(`service account ${from?.id ?? ''} ${from?.updated_at ?? ''}`);
  const [name, setName] = draft.field('name', from?.name ?? '');
  const [role, setRole] = draft.field('role', from?.role ?? 'operator');
  const [wanted, setWanted] = draft.field('scopes', from?.scopes ?? []);
  const [addresses, setAddresses] = draft.field('addresses', (from?.addresses ?? []).join(', '));
  const [ends, setEnds] = draft.field('ends', dayOf(from?.expires_at ?? null));
  const [made, setMade] = useState<Account | null>(null);
  const act = async () => {
    const json = {
      name,
      role,
      scopes: wanted,
      addresses: lines(addresses),
      ...(ends !== dayOf(from?.expires_at ?? null) ? { expires_at: until(ends) } : {}),
    };
    // A key that could not be made is asked for again; the account is there by then.
    const there = from ?? made;
    const account = await api<Account>(there ? `${base}/${there.id}` : base, {
      method: there ? 'PATCH' : 'POST',
      json,
    });
    if (from) {
      toast(_('Saved'));
    } else {
      setMade(account);
      const key = await api<Key>(`${base}/${account.id}/keys`, { method: 'POST', json: {} });
      done({ account, secret: key.secret ?? '' });
    }
    again();
  };
  return (
    <Ask
      kind="wide"
      title={from ? _('Change {what}', { what: from.name }) : _('New service account')}
      yes={from ? _('Save') : _('Make it and its key')}
      close={close}
      draft={draft}
      act={act}
    >
      <div class="form">
        <Input
          label={_('Name')}
          value={name}
          put={setName}
          required
          autofocus
          help={_('What works there, such as ERP or dock scale')}
          maxLength={100}
        />
        <Select
          label={_('Role')}
          value={role}
          put={setRole}
          options={roles.map((r) => [r, words(r)])}
          help={_('Bounds what its scopes open, as for a person')}
        />
        <Input label={_('Until')} type="date" value={ends} put={setEnds} help={_('Empty for no end')} />
        <Input
          whole
          label={_('Addresses')}
          value={addresses}
          put={setAddresses}
          help={_('It is taken from these alone, such as 192.0.2.0/24; empty for anywhere')}
        />
      </div>
      <Choose scopes={scopes} chosen={new Set(wanted)} put={(chosen) => setWanted([...chosen])} />
    </Ask>
  );
}

// Choose is what a key is for: records that it reads or writes, work that it does, figures that it asks for.
function Choose({ scopes, chosen, put }: { scopes: string[]; chosen: Set<string>; put: (s: Set<string>) => void }) {
  const [find, setFind] = useState('');
  const [only, setOnly] = useState<'all' | 'chosen'>('all');
  const fits = (x: string) =>
    (only === 'all' || chosen.has(x)) && (!find || `${x} ${scopeWords(x)}`.toLowerCase().includes(find.toLowerCase()));
  const set = (x: string, on: boolean) => {
    const next = new Set(chosen);
    if (on) next.add(x);
    else next.delete(x);
    put(next);
  };
  const records = [
    ...new Set(scopes.filter((x) => !/^(rpc|functions):/.test(x)).map((x) => x.split(':')[0] as string)),
  ];
  const seen = records
    .filter((r) => fits(`${r}:read`) || fits(`${r}:write`))
    .sort((a, b) => titleOf(a).localeCompare(titleOf(b)));
  const rest: [string, string[]][] = [
    [_('Work'), scopes.filter((x) => x.startsWith('rpc:') && fits(x))],
    [_('Figures and imports'), scopes.filter((x) => x.startsWith('functions:') && fits(x))],
  ];
  return (
    <fieldset class="scopes">
      <legend>{_('What it is for')}</legend>
      <div class="row">
        <input
          class="input find"
          type="search"
          aria-label={_('Find a scope')}
          placeholder={_('Find a scope')}
          value={find}
          onInput={(e) => setFind(e.currentTarget.value)}
          onKeyDown={(e) => e.key === 'Enter' && e.preventDefault()}
        />
        <Segments
          label={_('Which')}
          options={[
            ['all', _('All')],
            ['chosen', _('Chosen: {n}', { n: chosen.size })],
          ]}
          at={only}
          go={setOnly}
        />
      </div>
      <div class="scope-list" tabIndex={0} role="region" aria-label={_('Scopes')}>
        {seen.length ? (
          <table>
            <thead>
              <tr>
                <th scope="col">{_('Records')}</th>
                <th scope="col">{_('Read')}</th>
                <th scope="col">{_('Read and write')}</th>
              </tr>
            </thead>
            <tbody>
              {seen.map((r) => (
                <tr key={r}>
                  <th scope="row">{titleOf(r)}</th>
                  {['read', 'write'].map((what) => {
                    const x = `${r}:${what}`;
                    return (
                      <td key={what}>
                        {scopes.includes(x) ? (
                          <input
                            type="checkbox"
                            aria-label={scopeWords(x)}
                            checked={chosen.has(x)}
                            onChange={(e) => set(x, e.currentTarget.checked)}
                          />
                        ) : null}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        ) : null}
        {rest.map(([title, list]) =>
          list.length ? (
            <div key={title}>
              <h3>{title}</h3>
              <div class="scope-grid">
                {list.map((x) => (
                  <Check key={x} label={scopeWords(x)} on={chosen.has(x)} put={(on) => set(x, on)} />
                ))}
              </div>
            </div>
          ) : null,
        )}
        {!seen.length && rest.every(([, list]) => !list.length) ? (
          <p class="muted">
            {only === 'chosen' && !chosen.size
              ? _('Nothing is chosen: the key opens nothing.')
              : _('No scope is called that.')}
          </p>
        ) : null}
      </div>
    </fieldset>
  );
}

const overlaps: [string, string][] = [
  ['0', 'ends at once'],
  ['3600', 'holds for an hour'],
  ['86400', 'holds for a day'],
  ['604800', 'holds for a week'],
  ['2592000', 'holds for 30 days'],
];

function Renew({
  a,
  close,
  again,
  done,
}: {
  a: Account;
  close: () => void;
  again: () => void;
  done: (m: Made) => void;
}) {
  const draft = useDraft(`key ${a.id}`);
  const [overlap, setOverlap] = draft.field('overlap', '86400');
  const [ends, setEnds] = draft.field('ends', '');
  const old = a.keys.some((k) => k.state === 'active');
  return (
    <Ask
      title={_('New key of {name}', { name: a.name })}
      yes={_('Make the key')}
      close={close}
      draft={draft}
      act={async () => {
        const key = await api<Key>(`${base}/${a.id}/keys`, {
          method: 'POST',
          json: { overlap_seconds: Number(overlap), ...(ends ? { expires_at: until(ends) } : {}) },
        });
        done({ account: a, secret: key.secret ?? '' });
        again();
      }}
    >
      {old ? (
        <Select
          label={_('The key until now')}
          value={overlap}
          put={setOverlap}
          options={overlaps.map(([v, text]) => [v, _(text)])}
          help={_('Time to change it where it is used')}
        />
      ) : null}
      <Input
        label={_('The new key holds until')}
        type="date"
        value={ends}
        put={setEnds}
        help={ends ? date(ends) : _('Empty for no end')}
      />
    </Ask>
  );
}

const ways = { curl: 'curl', js: 'supabase-js', token: 'OAuth' };

// snippet is a first request that the key may make, to be pasted.
function snippet(way: keyof typeof ways, { account, secret }: Made): string {
  const at = location.origin;
  const records = account.scopes.find((x) => !/^(rpc|functions|import_jobs):/.test(x))?.split(':')[0];
  const called = account.scopes.find((x) => /^functions:(get|admin|safety)-/.test(x))?.split(':')[1];
  const path = records ? `/rest/v1/${records}?limit=5` : called ? `/functions/v1/${called}` : '/v1/permissions';
  if (way === 'token')
    return `curl '${at}/auth/v1/token' \\\n  -u '${account.id}:${secret}' \\\n  -d grant_type=client_credentials`;
  if (way === 'curl') return `curl '${at}${path}' \\\n  -H 'Authorization: Bearer ${secret}'`;
  const ask = records
    ? `.from('${records}').select().limit(5)`
    : called
      ? `.functions.invoke('${called}', { method: 'GET' })`
      : '';
  return `import { createClient } from '@supabase/supabase-js';

const holdfast = createClient('${at}', '${secret}', {
  auth: { persistSession: false },
});
${ask ? `const { data, error } = await holdfast${ask};\nif (error) throw error;\nconsole.log(data);` : '// It has no scope yet: say what it is for.'}
`;
}

// Handed shows a secret, once, and what to paste where.
function Handed({ made, close }: { made: Made; close: () => void }) {
  const [way, setWay] = useState<keyof typeof ways>('curl');
  const text = snippet(way, made);
  return (
    <Dialog
      kind="wide"
      title={_('Key of {name}', { name: made.account.name })}
      close={close}
      footer={
        <Button kind="primary" onClick={close}>
          {_('I have kept it')}
        </Button>
      }
    >
      <div class="stack">
        <Note kind="warn">
          {_(
            'It is shown this once. Who has it may do what the account may: keep it where secrets are kept, never in a page or an app.',
          )}
        </Note>
        <div class="row nowrap bottom">
          <span class="grow">
            <Input
              label={_('Key')}
              class="mono"
              value={made.secret}
              put={() => undefined}
              readOnly
              onFocus={(e) => e.currentTarget.select()}
            />
          </span>
          <Copy text={made.secret} label={_('Copy the key')} />
        </div>
        <div class="row">
          <Segments
            label={_('Used with')}
            options={Object.entries(ways) as [keyof typeof ways, string][]}
            at={way}
            go={setWay}
          />
          <span class="push" />
          <Copy text={text} label={_('Copy the snippet')} />
        </div>
        <pre class="mono snippet" tabIndex={0} aria-label={_('Snippet')}>
          {text}
        </pre>
        {way === 'token' ? (
          <p class="small muted">
            {_('Gives a token for a quarter of an hour, for programs that speak OAuth 2 (client credentials).')}
          </p>
        ) : null}
      </div>
    </Dialog>
  );
}
