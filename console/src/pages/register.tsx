import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { want, supabase } from '../lib/client';
import { nameOf, newOf, titleOf, useCatalog, usePermissions, words, writable, type Permissions } from '../lib/catalog';
import { date, dateTime, number } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { queryClient, useQuery } from '../lib/query';
import type { Row } from '../database';
import { Badge, Button, Card, Empty, Head, LinkButton, Note, Problem, Skeleton } from '../ui/basic';
import { Dialog } from '../ui/dialog';
import { Select } from '../ui/form';
import { toast } from '../ui/overlay';
import { registerSheet, SheetButton } from '../ui/print';
import { RecordForm } from '../ui/record-form';
import {
  byUrgency,
  cellText,
  inCell,
  isOverdue,
  likelihoods,
  mostRead,
  readCell,
  readRegister,
  readVersions,
  severities,
  toneOf,
  worstOf,
  type Cell,
  type When,
} from '../ui/register';
import { NewEntry } from '../ui/register-entry';
import { Publish } from '../ui/register-publish';
import { hrefOf, useCalledPeople } from '../ui/value';
import '../register.css';

// So many risks are shown before the rest is asked for.
const firstEntries = 50;

interface Asked {
  site?: string;
  unit?: string;
  cell?: string;
}

const pathOf = (a: Asked) => {
  const query = new URLSearchParams(Object.entries(a).filter(([, v]) => v)).toString();
  return `/console/register${query ? `?${query}` : ''}`;
};

const readAgain = () =>
  Promise.all(
    ['work_units', 'risk_entries', 'risk_register_versions'].map((name) =>
      queryClient.invalidateQueries({ queryKey: ['c', name] }),
    ),
  );

// RegisterPage is the register of risks: its work units, how large their risks are before and after the measures,
// what is to be looked at again, and what was published.
export function RegisterPage() {
  const p = usePermissions();
  const catalog = useCatalog();
  const { query, route } = useLocation();
  const [dialog, setDialog] = useState<'' | 'unit' | 'entry' | 'publish'>('');
  const site = query['site'] ?? '';
  const read = useQuery({
    queryKey: ['c', 'risk_entries', 'register', site],
    queryFn: () => readRegister(site),
    meta: { live: true },
  });
  const sites = useQuery({
    queryKey: ['c', 'sites', 'register'],
    queryFn: () => want(supabase.from('sites').select('id,code,name').is('archived_at', null).order('name').limit(200)),
  });
  const unitKind = catalog?.get('work_units');
  const entryKind = catalog?.get('risk_entries');
  if (!p || !catalog || !unitKind || !entryKind) return <Skeleton lines={8} />;
  const a: Asked = { site, unit: query['unit'], cell: query['cell'] };
  const go = (next: Asked) => route(pathOf({ ...a, ...next }), true);
  const units = read.data?.units ?? [];
  const shownUnits = units.filter((u) => !a.unit || u.id === a.unit);
  const ids = new Set(shownUnits.map((u) => u.id));
  const inSite = (read.data?.entries ?? []).filter((e) => units.some((u) => u.id === e['unit_id']));
  const entries = inSite.filter((e) => ids.has(String(e['unit_id'])));
  const late = inSite.filter(isOverdue).length;
  const mayWrite = !p.read_only && !!p.collections['risk_entries']?.create;
  const names = (sites.data ?? []).map((s): [string, string] => [s.id, nameOf(catalog.get('sites'), s)]);
  const shut = () => setDialog('');
  const done = () => void readAgain();
  return (
    <>
      <Head title={_('Risk register')} sub={read.data ? subOf(inSite.length, units.length, late) : undefined}>
        {mayWrite ? (
          <Button icon="plus" onClick={() => setDialog('unit')}>
            {newOf('work_units')}
          </Button>
        ) : null}
        {mayWrite && units.length ? (
          <Button icon="plus" onClick={() => setDialog('entry')}>
            {newOf('risk_entries')}
          </Button>
        ) : null}
        {p.verbs?.['publish_register'] && !p.read_only ? (
          <Button kind="primary" icon="file" onClick={() => setDialog('publish')}>
            {_('Publish')}
          </Button>
        ) : null}
      </Head>
      <Problem error={read.error ?? sites.error} retry={() => (void read.refetch(), void sites.refetch())} />
      {(read.data?.entries.length ?? 0) >= mostRead ? (
        <Note kind="warn">
          {_('The {n} largest risks are shown: choose a site to see the rest.', { n: number(mostRead) })}
        </Note>
      ) : null}
      {names.length > 1 ? (
        <div class="row register-filter">
          <Select
            label={_('Site')}
            value={site}
            put={(to) => go({ site: to, unit: '', cell: '' })}
            options={[['', _('Every site')], ...names]}
          />
        </div>
      ) : null}
      {read.isPending ? (
        <Skeleton lines={8} />
      ) : units.length ? (
        <div class="register">
          <Units units={units} entries={inSite} at={a.unit ?? ''} path={(unit) => pathOf({ ...a, unit, cell: '' })} />
          <div class="stack">
            <div class="register-matrices">
              {(['before', 'after'] as const).map((when) => (
                <Matrix key={when} when={when} entries={entries} at={a.cell} path={(cell) => pathOf({ ...a, cell })} />
              ))}
            </div>
            <Entries
              list={[...inCell(entries, readCell(a.cell))].sort(byUrgency)}
              cell={readCell(a.cell)}
              clear={pathOf({ ...a, cell: '' })}
              units={units}
              p={p}
            />
          </div>
        </div>
      ) : (
        <>
          <h2 class="sr">{titleOf('work_units')}</h2>
          <Empty
            title={_('No work unit is in the register')}
            icon="shield"
            action={
              mayWrite ? (
                <Button kind="primary" onClick={() => setDialog('unit')}>
                  {newOf('work_units')}
                </Button>
              ) : undefined
            }
          >
            {_('A work unit is work of one kind under the same conditions: name it, and enter what may hurt there.')}
          </Empty>
        </>
      )}
      <Versions sites={new Map(names)} site={site} />
      {dialog === 'unit' ? (
        <Dialog kind="wide" title={newOf('work_units')} close={shut}>
          <RecordForm
            c={unitKind}
            fields={writable(unitKind, p.collections['work_units'], true)}
            base={null}
            preset={site ? { site_id: site } : undefined}
            cancel={shut}
            done={(r) => {
              shut();
              toast(_('{what} is in the register', { what: String(r['code']) }));
              done();
            }}
          />
        </Dialog>
      ) : null}
      {dialog === 'entry' ? (
        <NewEntry c={entryKind} unit={a.unit ?? ''} close={shut} done={done} />
      ) : null}
      {dialog === 'publish' ? <Publish sites={names} site={site} close={shut} done={done} /> : null}
    </>
  );
}

function subOf(risks: number, units: number, late: number): string {
  const all = `${plural(risks, '{n} risk', '{n} risks')} · ${plural(units, '{n} work unit', '{n} work units')}`;
  return late ? `${all} · ${plural(late, '{n} review is overdue', '{n} reviews are overdue')}` : all;
}

interface UnitsGiven {
  units: Row[];
  entries: Row[];
  at: string;
  path: (unit: string) => string;
}

// Units are the work units with how many risks they have, and the priority of the worst.
function Units({ units, entries, at, path }: UnitsGiven) {
  const lines = units.map((u) => ({ u, own: entries.filter((e) => e['unit_id'] === u.id) }));
  return (
    <Card title={titleOf('work_units')} flush>
      <ul class="register-units">
        <li>
          <a href={path('')} aria-current={at ? undefined : 'true'}>
            <b>{_('All work units')}</b>
            <span class="small muted">{plural(entries.length, '{n} risk', '{n} risks')}</span>
          </a>
        </li>
        {lines.map(({ u, own }) => (
          <li key={u.id}>
            <a href={path(u.id)} aria-current={at === u.id ? 'true' : undefined}>
              <b>{String(u['name'])}</b>
              <span class="small muted">
                {[
                  String(u['code']),
                  plural(own.length, '{n} risk', '{n} risks'),
                  u['headcount'] == null ? '' : plural(Number(u['headcount']), '{n} person', '{n} people'),
                ]
                  .filter(Boolean)
                  .join(' · ')}
              </span>
              {worstOf(own) ? <Badge state={worstOf(own)} /> : null}
            </a>
            {at === u.id ? (
              <a class="small" href={hrefOf('work_units', u.id)}>
                {_('The work unit')}
              </a>
            ) : null}
          </li>
        ))}
      </ul>
    </Card>
  );
}

const titleAt = (when: When) => (when === 'before' ? _('Before the measures') : _('Expected after the measures'));

interface MatrixGiven {
  when: When;
  entries: Row[];
  at?: string;
  path: (cell: string) => string;
}

// Matrix counts risks by severity and likelihood; a count leads to them.
function Matrix({ when, entries, at, path }: MatrixGiven) {
  const title = titleAt(when);
  const unrated = entries.filter((e) => !e[`severity_${when}`] || !e[`likelihood_${when}`]).length;
  return (
    <Card title={title}>
      <table class="matrix">
        <caption class="sr">{title}</caption>
        <thead>
          <tr>
            <td class="small muted">{words('severity')}</td>
            {likelihoods.map((n) => (
              <th key={n} scope="col">
                <span class="sr">{words('likelihood')} </span>
                {n}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {[...severities].reverse().map((severity) => (
            <tr key={severity}>
              <th scope="row">{words(severity)}</th>
              {likelihoods.map((likelihood) => {
                const cell = { when, severity, likelihood };
                const n = inCell(entries, cell).length;
                const isAt = at === cellText(cell);
                return (
                  <td key={likelihood} class={toneOf(severity, likelihood)}>
                    {n ? (
                      <a
                        href={path(isAt ? '' : cellText(cell))}
                        aria-current={isAt ? 'true' : undefined}
                        aria-label={`${plural(n, '{n} risk', '{n} risks')}: ${words(severity)} × ${likelihood}`}
                      >
                        {number(n)}
                      </a>
                    ) : null}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="small muted">
        {_('Likelihood from left to right: 1 hardly ever, 5 almost always.')}{' '}
        {unrated ? plural(unrated, '{n} risk is not rated here.', '{n} risks are not rated here.') : ''}
      </p>
    </Card>
  );
}

interface EntriesGiven {
  list: Row[];
  cell?: Cell;
  clear: string;
  units: Row[];
  p: Permissions;
}

// Entries are the risks: those whose review is overdue first, then by priority.
function Entries({ list, cell, clear, units, p }: EntriesGiven) {
  const [isWhole, setWhole] = useState(false);
  const names = useCalledPeople(p);
  const unitName = new Map(units.map((u) => [u.id, String(u['name'])]));
  const shown = isWhole ? list : list.slice(0, firstEntries);
  return (
    <Card
      title={plural(list.length, '{n} risk', '{n} risks')}
      flush
      actions={
        cell ? (
          <LinkButton size="small" href={clear}>
            {_('Show everything')}
          </LinkButton>
        ) : undefined
      }
    >
      {cell ? (
        <p class="small muted register-said">
          {titleAt(cell.when)}: {words(cell.severity)} × {cell.likelihood}
        </p>
      ) : null}
      {list.length ? null : <p class="small muted register-said">{_('No risk is entered here.')}</p>}
      <ul class="register-entries">
        {shown.map((e) => (
          <Entry key={e.id} e={e} unit={unitName.get(String(e['unit_id'])) ?? ''} names={names} />
        ))}
      </ul>
      {list.length > shown.length ? (
        <div class="row register-said">
          <Button size="small" onClick={() => setWhole(true)}>
            {_('Show {n} more', { n: number(list.length - shown.length) })}
          </Button>
        </div>
      ) : null}
    </Card>
  );
}

// ratingSaid is a rating with what it is made of; '' where it is not rated.
const ratingSaid = (e: Row, when: When) =>
  e[`rating_${when}`] == null
    ? ''
    : `${words(String(e[`severity_${when}`]))} × ${String(e[`likelihood_${when}`])} = ${String(e[`rating_${when}`])}`;

function Entry({ e, unit, names }: { e: Row; unit: string; names: Map<string, string> }) {
  const owner = e['owner_user_id'] ? (names.get(String(e['owner_user_id'])) ?? _('A colleague')) : '';
  const review = e['review_on'] ? date(e['review_on']) : '';
  return (
    <li>
      <div class="row">
        <a class="strong grow" href={hrefOf('risk_entries', e.id)}>
          {words(String(e['hazard_family']))} · {unit}
        </a>
        {isOverdue(e) ? <Badge tone="bad">{_('Review overdue')}</Badge> : null}
        {e['priority'] ? <Badge state={e['priority']} /> : <Badge tone="warn">{_('not rated')}</Badge>}
      </div>
      <p>{String(e['situation'])}</p>
      {e['measure'] ? (
        <p class="small">
          {words('measure')}: {String(e['measure'])}
          {e['control_level'] ? ` (${words(String(e['control_level']))})` : ''}
        </p>
      ) : null}
      <p class="small muted">
        {[
          String(e['entry_no']),
          ratingSaid(e, 'before') && `${words('before')}: ${ratingSaid(e, 'before')}`,
          ratingSaid(e, 'after') && `${words('after')}: ${ratingSaid(e, 'after')}`,
          owner && `${words('responsible')}: ${owner}`,
          review && `${words('review_on')}: ${review}`,
        ]
          .filter(Boolean)
          .join(' · ')}
      </p>
    </li>
  );
}

// Versions are what was published, the last first, with the document of each.
function Versions({ sites, site }: { sites: Map<string, string>; site: string }) {
  const q = useQuery({ queryKey: ['c', 'risk_register_versions', 'register'], queryFn: readVersions });
  const list = (q.data ?? []).filter((v) => !site || v['site_id'] === site);
  const whose = (v: Row) =>
    v['site_id'] ? (sites.get(String(v['site_id'])) ?? words('site')) : _('The whole organisation');
  const nameOfSheet = (v: Row) => `${_('Risk register')} ${whose(v)} ${String(v['number'])}`;
  return (
    <Card title={_('Published versions')} flush>
      <Problem error={q.error} retry={() => void q.refetch()} />
      {q.isPending ? <Skeleton /> : null}
      {q.data && !list.length ? (
        <p class="small muted register-said">
          {_('Nothing was published yet. A version is due each year, after important changes and on new information.')}
        </p>
      ) : null}
      <ul class="register-entries">
        {list.map((v) => (
          <li key={v.id} class="row">
            <div class="grow">
              <a class="strong" href={hrefOf('risk_register_versions', v.id)}>
                {_('Version {n}', { n: String(v['number']) })} · {whose(v)}
              </a>
              <p class="small muted">
                {[
                  dateTime(v['made_at']),
                  words(String(v['reason'])),
                  plural(Number(v['entries']), '{n} risk', '{n} risks'),
                  Number(v['gaps']) ? plural(Number(v['gaps']), '{n} gap', '{n} gaps') : '',
                  _('kept until {day}', { day: date(v['keep_until']) }),
                ]
                  .filter(Boolean)
                  .join(' · ')}
              </p>
            </div>
            <SheetButton path={registerSheet(v.id)} name={nameOfSheet(v)} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
