import { lazy, useLocation, useRoute } from 'preact-iso';
import { useEffect, useState } from 'preact/hooks';
import { records, serverNow, supabase, want } from '../lib/client';
import {
  isMadeBeside,
  nameOf,
  newOf,
  titleOf,
  useCatalog,
  usePermissions,
  visible,
  words,
  writable,
  type Catalog,
  type Collection,
  type Field,
  type Permissions,
} from '../lib/catalog';
import { ago, dateTime } from '../lib/format';
import { _ } from '../lib/i18n';
import { queryClient, useQuery } from '../lib/query';
import { refKey, selection } from '../lib/records';
import { unlessScanned } from '../lib/scanner';
import type { Row } from '../database';
import { Badge, Button, LinkButton, Card, Empty, Head, Problem, Skeleton } from '../ui/basic';
import { Icon } from '../ui/icon';
import { Ask, Dialog } from '../ui/dialog';
import { fail, Menu, toast } from '../ui/overlay';
import { RecordForm, write } from '../ui/record-form';
import { useTimes, useZoneOf, Where } from '../ui/where';
import { columnOf, Files } from '../ui/evidence';
import { Children, Diff, type Entry } from '../ui/related';
import { ItemPlan, ItemStock } from '../ui/item';
import { OrderLines, OrderProgress, OrderVerbs } from '../ui/order';
import { PrintButton, PrintItem } from '../ui/print';
import { ShareButton } from '../ui/share';
import { partsOf, purposes } from '../ui/purposes';
import { Timeline } from '../ui/timeline';
import { isBare, RecordVerbs, verbFor } from '../ui/verbs';
import { hrefOf, useCalledPeople, Value } from '../ui/value';

const Concerns = lazy(() => import('../ui/concerns').then((m) => m.Concerns));
const Purpose = lazy(() => import('../ui/purpose').then((m) => m.Purpose));
const IncidentView = lazy(() => import('./incident').then((m) => m.IncidentView));

export function RecordPage() {
  const { params } = useRoute();
  const catalog = useCatalog();
  const p = usePermissions();
  const c = catalog?.get(params['collection'] ?? '');
  if (!catalog || !p) return <Skeleton lines={8} />;
  if (!c || !p.collections[c.name]?.read)
    return (
      <Empty
        title={_('There are no such records')}
        action={
          <a class="btn" href="/console/all">
            {_('All records')}
          </a>
        }
      />
    );
  if (params['id'] === 'new') return <NewRecord key={c.name} c={c} p={p} />;
  return <RecordView key={`${c.name} ${params['id']}`} c={c} id={params['id'] as string} catalog={catalog} p={p} />;
}

export function crumbsOf(c: Collection): [string, string][] {
  return [[titleOf(c), `/console/c/${c.name}`]];
}

// What is made on a page of its own.
const ownPages: Record<string, string> = {
  import_jobs: '/console/imports/new',
  settings: '/console/admin/settings',
  invitations: '/console/admin/members',
  members: '/console/admin/members',
  webhooks: '/console/admin/webhooks',
};

function NewRecord({ c, p }: { c: Collection; p: Permissions }) {
  const { route, query } = useLocation();
  const may = (f: Field) => !f.ref || f.required || !!p.collections[f.ref]?.read;
  const fields = writable(c, p.collections[c.name], true).filter(may);
  const people = fields.filter((f) => f.required && f.names === 'members' && f.type === 'uuid');
  const own = ownPages[c.name];
  useEffect(() => {
    if (own) route(own, true);
  }, [own]);
  if (own) return null;
  if (!p.collections[c.name]?.create || isMadeBeside(c))
    return <Empty title={_('Your role does not make these records')} icon="shield" />;
  const first = fields.filter((f) => (f.required && !f.default) || f.name in query);
  const rest = fields.filter((f) => !first.includes(f));
  return (
    <>
      <Head title={newOf(c.name)} sub={_(c.doc)} crumbs={crumbsOf(c)} />
      <Card>
        <RecordForm
          c={c}
          fields={[...first, ...rest]}
          base={null}
          preset={{ ...Object.fromEntries(people.map((f) => [f.name, p.user_id])), ...query }}
          cancel={() => history.back()}
          done={(r) => {
            toast(_('{what} was made', { what: nameOf(c, r) }));
            void queryClient.invalidateQueries({ queryKey: ['c', c.name] });
            route(hrefOf(c.name, r.id), true);
          }}
        />
      </Card>
    </>
  );
}

// useRecord reads one record with the names of what it refers to.
export function useRecord(c: Collection, id: string, catalog: Catalog, p: Permissions) {
  return useQuery({
    queryKey: ['c', c.name, 'one', id],
    queryFn: () =>
      want<Row | null>(
        records(c.name)
          .select(
            selection(
              c,
              visible(c, p.collections[c.name]).map((f) => f.name),
              catalog,
              p,
            ),
          )
          .eq('id', id)
          .maybeSingle(),
      ),
    meta: { live: true },
  });
}

function RecordView({ c, id, catalog, p }: { c: Collection; id: string; catalog: Catalog; p: Permissions }) {
  const q = useRecord(c, id, catalog, p);
  const { route } = useLocation();
  const [editing, setEditing] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const r = q.data;
  const zone = useZoneOf(r ?? {});
  const rights = p.collections[c.name];
  const again = () => {
    void queryClient.invalidateQueries({ queryKey: ['c'] });
  };
  const editable = writable(c, rights, false);
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (
        e.key === 'e' &&
        !e.ctrlKey &&
        !e.metaKey &&
        !(e.target as HTMLElement).closest('input, textarea, select, dialog') &&
        editable.length
      )
        unlessScanned(() => setEditing(true));
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
  if (q.isPending) return <Skeleton lines={9} />;
  if (q.error) return <Problem error={q.error} retry={() => void q.refetch()} />;
  if (!r)
    return (
      <Empty
        title={_('This record is not there')}
        action={
          <a class="btn" href={`/console/c/${c.name}`}>
            {titleOf(c)}
          </a>
        }
      >
        {_('It may have been deleted, or your role does not see it.')}
      </Empty>
    );
  return (
    <Where.Provider value={zone}>
      <Head
        crumbs={crumbsOf(c)}
        title={
          <span class="row">
            {nameOf(c, r)} {c.states ? <Badge state={r[c.states.field]} /> : null}
            {c.name === 'incidents' ? <Badge state={r['severity']} /> : null}
          </span>
        }
        sub={subOf(c, r, catalog, zone)}
      >
        <RecordVerbs c={c} r={r} p={p} done={again} />
        {c.name === 'checklist_runs' && r['template_id'] ? (
          <LinkButton kind={isUnderWay(r) ? 'primary' : undefined} icon="shield" href={`/console/inspections/${r.id}`}>
            {isUnderWay(r) ? _('Answer the questions') : _('How it went')}
          </LinkButton>
        ) : null}
        {c.name === 'orders' && p.verbs ? (
          <OrderVerbs o={r} p={p} done={again} />
        ) : c.name === 'incidents' ? null : (
          <Moves c={c} r={r} p={p} done={again} />
        )}
        <PrintButton c={c} r={r} />
        <ShareButton c={c} r={r} p={p} />
        {editable.length ? (
          <Button icon="edit" onClick={() => setEditing(true)}>
            {_('Edit')}
          </Button>
        ) : null}
        <Menu icon="more" label={_('More')}>
          {(close) => (
            <>
              <button
                type="button"
                onClick={() => {
                  close();
                  void navigator.clipboard.writeText(r.id).then(() => toast(_('Copied')));
                }}
              >
                <Icon name="copy" size={16} />
                {_('Copy the id')}
              </button>
              <PrintItem c={c} r={r} close={close} />
              {c.archives && rights?.update ? (
                <button
                  type="button"
                  onClick={() => {
                    close();
                    write(c, r, { archived_at: r['archived_at'] ? null : serverNow().toISOString() }).then(again, fail);
                  }}
                >
                  <Icon name="box" size={16} />
                  {r['archived_at'] ? _('Take out of the archive') : _('Archive')}
                </button>
              ) : null}
              {rights?.delete ? (
                <button
                  type="button"
                  onClick={() => {
                    close();
                    setDeleting(true);
                  }}
                >
                  <Icon name="trash" size={16} />
                  {_('Delete')}
                </button>
              ) : null}
            </>
          )}
        </Menu>
      </Head>
      <div class="stack">
        {c.name === 'orders' ? (
          <>
            <OrderProgress o={r} />
            <OrderLines o={r} catalog={catalog} p={p} />
          </>
        ) : null}
        {c.name === 'items' ? (
          <>
            <ItemStock i={r} p={p} />
            <ItemPlan i={r} p={p} />
          </>
        ) : null}
        {purposes[c.name] ? <Purpose c={c} r={r} catalog={catalog} p={p} /> : null}
        {c.name === 'equipment' ? <Concerns r={r} catalog={catalog} p={p} /> : null}
        {c.name === 'incidents' ? (
          <IncidentView c={c} r={r} p={p} catalog={catalog} done={again} />
        ) : columnOf(c) && p.collections['comments']?.read ? (
          <div class="split">
            <div class="stack">
              <Facts c={c} r={r} p={p} without={shownFirst(c)} />
              <Timeline c={c} r={r} p={p} />
            </div>
            <Files c={c} r={r} p={p} />
          </div>
        ) : (
          <div class="split">
            <Facts c={c} r={r} p={p} without={shownFirst(c)} />
            <History c={c} id={id} p={p} r={r} />
          </div>
        )}
        {c.name === 'incidents' ? null : <Related c={c} r={r} catalog={catalog} p={p} />}
      </div>
      {editing ? (
        <Dialog kind="wide" title={_('Edit {what}', { what: nameOf(c, r) })} close={() => setEditing(false)}>
          <RecordForm
            c={c}
            fields={editable}
            base={r}
            starts={starts(c, r, catalog)}
            cancel={() => setEditing(false)}
            done={() => {
              setEditing(false);
              toast(_('Saved'));
              again();
            }}
          />
        </Dialog>
      ) : null}
      {deleting ? (
        <Ask
          danger
          title={_('Delete {what}?', { what: nameOf(c, r) })}
          text={_('This cannot be taken back. What refers to it keeps it from being deleted.')}
          yes={_('Delete')}
          close={() => setDeleting(false)}
          act={async () => {
            await want(records(c.name).delete().eq('id', r.id));
            toast(_('{what} was deleted', { what: nameOf(c, r) }));
            again();
            route(`/console/c/${c.name}`, true);
          }}
        />
      ) : null}
    </Where.Provider>
  );
}

const isUnderWay = (r: Row) => ['scheduled', 'in_progress'].includes(String(r['status']));

// subOf is the line under a record's name: of an incident what kind it was, when and where, else when it changed.
function subOf(c: Collection, r: Row, catalog: Catalog, timeZone: string): string | undefined {
  if (c.name === 'incidents') {
    const zone = r[refKey('zone_id')] as Row | undefined;
    const where = zone ? nameOf(catalog.get('zones'), zone) : '';
    return [words(String(r['kind'])), dateTime(r['occurred_at'], timeZone), where].filter(Boolean).join(' · ');
  }
  return c.name === 'items' || !r['updated_at'] ? undefined : _('Changed {when}', { when: ago(r['updated_at']) });
}

// starts are the names of referred records, for the form to begin with.
function starts(c: Collection, r: Row, catalog: Catalog): Record<string, string> {
  return Object.fromEntries(
    c.fields.flatMap((f) =>
      f.ref && r[refKey(f.name)] ? [[f.name, nameOf(catalog.get(f.ref), r[refKey(f.name)] as Row)]] : [],
    ),
  );
}

// Moves are the states that this person may lead the record to, as buttons.
export function Moves({ c, r, p, done }: { c: Collection; r: Row; p: Permissions; done: () => void }) {
  const [to, setTo] = useState('');
  const field = c.states?.field;
  if (!field) return null;
  const now = String(r[field]);
  const all = (p.collections[c.name]?.moves ?? [])
    .filter((m) => m.from.includes(now) && isBare(c, r, m.to, p))
    .map((m) => m.to);
  const hard = new Set([
    'cancelled',
    'archived',
    'discontinued',
    'recalled',
    'retired',
    'left',
    'suspended',
    'blocked',
    'void',
  ]);
  const soft = all.filter((s) => !hard.has(s));
  const act = async (s: string) => {
    await write(c, r, { [field]: s });
    toast(_('{what}: {state}', { what: nameOf(c, r), state: words(s) }));
    done();
  };
  return (
    <>
      {soft.slice(0, 3).map((s, i) => (
        <Button key={s} kind={i === 0 && s !== 'on_hold' ? 'primary' : undefined} onClick={() => act(s).catch(fail)}>
          {verbFor(s)}
        </Button>
      ))}
      {all
        .filter((s) => hard.has(s))
        .map((s) => (
          <Button key={s} kind="danger" onClick={() => setTo(s)}>
            {verbFor(s)}
          </Button>
        ))}
      {to ? (
        <Ask
          danger
          title={_('{verb}: {what}?', { verb: verbFor(to), what: nameOf(c, r) })}
          yes={verbFor(to)}
          close={() => setTo('')}
          act={() => act(to)}
        />
      ) : null}
    </>
  );
}

const quantities = [
  'order_no',
  'status',
  'stage',
  'promised_at',
  'line_count',
  'qty_ordered',
  'qty_allocated',
  'qty_picked',
  'qty_packed',
  'qty_shipped',
  'qty_received',
];
// shownFirst are the fields that the page says above the details, or in a document.
const shownFirst = (c: Collection) => [
  ...(c.name === 'risk_register_versions' ? ['content'] : []),
  ...(c.name === 'orders' ? quantities : []),
  ...(purposes[c.name]?.key.split(',') ?? []),
];

const aside = new Set([
  'tenant_id',
  'id',
  'stock_key',
  'version',
  'created_at',
  'updated_at',
  'created_by',
  'archived_at',
]);

// Facts are the record's fields, what is empty folded away.
export function Facts({ c, r, p, without = [] }: { c: Collection; r: Row; p: Permissions; without?: string[] }) {
  const [all, setAll] = useState(false);
  const fields = visible(c, p.collections[c.name]).filter((f) => !aside.has(f.name) && !without.includes(f.name));
  const full = (f: Field) =>
    r[f.name] != null && r[f.name] !== '' && !(Array.isArray(r[f.name]) && !(r[f.name] as unknown[]).length);
  const empty = fields.filter((f) => !full(f));
  const shown = all ? fields : fields.filter(full);
  const whole = (f: Field) => f.type === 'json' || (f.type === 'text' && String(r[f.name] ?? '').length > 60);
  return (
    <Card
      title={_('Details')}
      actions={
        empty.length ? (
          <button type="button" class="link small" onClick={() => setAll(!all)}>
            {all ? _('Hide what is empty') : _('Show {n} empty fields', { n: empty.length })}
          </button>
        ) : null
      }
    >
      <dl class="facts">
        {[...shown.filter((f) => !whole(f)), ...shown.filter(whole)].map((f) => (
          <div key={f.name} class={whole(f) ? 'whole' : ''}>
            <dt title={f.doc ? _(f.doc) : undefined}>{_(f.label)}</dt>
            <dd>
              <Value c={c} f={f} row={r} full />
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

// What is looked for first among what refers to a record.
const first = [
  'stock_levels',
  'order_lines',
  'pick_lines',
  'shipment_lines',
  'receipt_lines',
  'count_lines',
  'checklist_answers',
  'actions',
  'stock_movements',
  'lots',
  'packages',
  'incidents',
];

// What the page of a record shows by itself.
const shownAbove: Record<string, string[]> = {
  orders: ['order_lines'],
  items: ['stock_levels'],
  incidents: ['actions', 'osha_cases', 'legal_clocks'],
};

// Related are the records that point here, a few of each kind.
export function Related({ c, r, catalog, p }: { c: Collection; r: Row; catalog: Catalog; p: Permissions }) {
  const without = shownAbove[c.name] ?? [];
  const above = partsOf(c.name, p);
  const rank = (k: { collection: string }) => (first.indexOf(k.collection) + first.length + 1) % (first.length + 1);
  const kinds = [...(c.children ?? [])]
    .sort((a, b) => rank(a) - rank(b))
    .filter(
      (k) =>
        !without.includes(k.collection) &&
        !above.some((x) => x.of === k.collection && x.by === k.column) &&
        p.collections[k.collection]?.read &&
        !['incident_photos', 'checklist_photos', 'comments', 'files'].includes(k.collection),
    );
  const [at, setAt] = useState(0);
  const kind = kinds[at];
  if (!kind) return null;
  return (
    <Card
      flush
      title={
        <div class="tabs" role="tablist" style={{ borderBlockEnd: 0, margin: '-8px 0' }}>
          {kinds.map((k, i) => (
            <button
              key={k.collection + k.column}
              type="button"
              role="tab"
              aria-selected={i === at}
              onClick={() => setAt(i)}
            >
              {titleOf(k.collection)}
              {kinds.filter((x) => x.collection === k.collection).length > 1
                ? ` (${words(k.column.replace(/_id$/, ''))})`
                : ''}
            </button>
          ))}
        </div>
      }
    >
      <Children
        key={kind.collection + kind.column}
        c={catalog.get(kind.collection) as Collection}
        column={kind.column}
        id={r.id}
        catalog={catalog}
        p={p}
      />
    </Card>
  );
}

// History says who changed what and when, from the audit log.
function History({ c, id, p, r }: { c: Collection; id: string; p: Permissions; r: Row }) {
  const told = useTimes();
  const may = !!p.collections['audit']?.read;
  const names = useCalledPeople(p);
  const q = useQuery({
    queryKey: ['c', 'audit', 'of', id],
    queryFn: () =>
      want<Entry[]>(
        supabase
          .from('audit')
          .select('id,at,action,actor_user_id,key_id,before,after')
          .eq('entity_id', id)
          .order('id', { ascending: false })
          .limit(30),
      ),
    enabled: may,
    meta: { live: true },
  });
  const list = q.data ?? [];
  // What is worked out anew has no history: the details have the whole width then.
  if (!list.length && !r['updated_at'] && !r['created_at'] && !(may && q.isPending)) return null;
  return (
    <Card flush title={_('History')}>
      <ul class="lines">
        {list.map((e) => (
          <li key={e.id} style={{ alignItems: 'flex-start' }}>
            <span class="grow">
              <span class="row tight">
                <b>
                  {e.actor_user_id
                    ? (names.get(e.actor_user_id) ?? _('Somebody'))
                    : e.key_id
                      ? _('A key')
                      : _('The server')}
                </b>
                <span class="muted small push" title={told(e.at)}>
                  {ago(e.at)}
                </span>
              </span>
              <Diff c={c} e={e} />
            </span>
          </li>
        ))}
        {r['updated_at'] && !list.length ? (
          <li>
            <span class="grow">{_('Changed')}</span>
            <span class="muted small">{told(r['updated_at'])}</span>
          </li>
        ) : null}
        {r['created_at'] ? (
          <li>
            <span class="grow">
              {_('Made')}{' '}
              {r['created_by'] && names.get(String(r['created_by']))
                ? _('by {who}', { who: names.get(String(r['created_by'])) as string })
                : ''}
            </span>
            <span class="muted small">{told(r['created_at'])}</span>
          </li>
        ) : null}
      </ul>
    </Card>
  );
}
