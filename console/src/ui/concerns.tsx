import { records, want } from '../lib/client';
import { columnsOf, selection } from '../lib/records';
import { type Catalog, type Collection, type Permissions } from '../lib/catalog';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import type { Row } from '../database';
import { Card, Problem, Skeleton } from './basic';
import { Rows } from './related';
import { OfSeen } from './seen';

const most = 8;
const looked = 60; // reports and failed answers whose actions are looked for

// entityOf is the filter of the reports that name a machine.
const entityOf = (id: string) => JSON.stringify([{ entity_type: 'equipment', entity_id: id }]);

const idsOf = (rows: Row[]) => `(${rows.map((x) => x.id).join()})`;

interface Open {
  incidents: Row[];
  actions: Row[];
}

// readOpen reads the open reports that name a machine, and the open actions that came of reports or of failed answers of
// its inspections.
async function readOpen(id: string, catalog: Catalog, p: Permissions): Promise<Open> {
  const may = (of: string) => !!p.collections[of]?.read;
  const columns = (of: string, names: string) => selection(catalog.get(of) as Collection, names.split(','), catalog, p);
  const reports = may('incidents')
    ? want<Row[]>(
        records('incidents')
          .select(columns('incidents', 'incident_no,title,severity,status,occurred_at'))
          .filter('entities', 'cs', entityOf(id))
          .not('status', 'in', '(closed,void)')
          .order('occurred_at', { ascending: false })
          .limit(looked),
      )
    : Promise.resolve([]);
  const answers = may('checklist_answers')
    ? want<Row[]>(
        records('checklist_answers')
          .select('id,run:run_id!inner(id)')
          .eq('run.equipment_id', id)
          .eq('result', 'fail')
          .order('id', { ascending: false })
          .limit(looked),
      )
    : Promise.resolve([]);
  const [incidents, failed] = await Promise.all([reports, answers]);
  const came = [
    ...(incidents.length ? [`incident_id.in.${idsOf(incidents)}`] : []),
    ...(failed.length ? [`source_id.in.${idsOf(failed)}`] : []),
  ];
  if (!came.length || !may('actions')) return { incidents, actions: [] };
  const actions = await want<Row[]>(
    records('actions')
      .select(columns('actions', 'action_no,title,status,due_on'))
      .or(came.join())
      .in('status', ['open', 'in_progress', 'done'])
      .order('due_on')
      .limit(most + 1),
  );
  return { incidents, actions };
}

// Concerns is what is open about a machine, as far as the reader may see it.
export function Concerns({ r, catalog, p }: { r: Row; catalog: Catalog; p: Permissions }) {
  const q = useQuery({
    queryKey: ['c', 'incidents', 'open of', r.id],
    queryFn: () => readOpen(r.id, catalog, p),
    enabled: !!p.collections['incidents']?.read,
    meta: { live: true },
  });
  if (q.error) return <Problem error={q.error} retry={() => void q.refetch()} />;
  if (q.isPending) return <Skeleton lines={3} />;
  const { incidents, actions } = q.data;
  const all = `/console/c/incidents?${new URLSearchParams([['f', `entities.cs.${entityOf(r.id)}`]])}`;
  return (
    <div class="halves">
      <Short of="incidents" title={_('Open incidents')} rows={incidents} href={all} catalog={catalog} p={p} />
      <Short of="actions" title={_('Open actions')} rows={actions} catalog={catalog} p={p} />
    </div>
  );
}

// Short is a short table with what names a record and how it is with it.
function Short({
  of,
  title,
  rows,
  href,
  catalog,
  p,
}: {
  of: string;
  title: string;
  rows: Row[];
  href?: string;
  catalog: Catalog;
  p: Permissions;
}) {
  const c = catalog.get(of) as Collection;
  const wanted =
    of === 'incidents' ? ['incident_no', 'title', 'severity', 'status'] : ['action_no', 'title', 'status', 'due_on'];
  const seen = columnsOf(c, p.collections[of]);
  return (
    <Card
      flush
      title={title}
      actions={
        <>
          <OfSeen p={p} of={of} />
          {href ? (
            <a class="small" href={href}>
              {_('Show all')}
            </a>
          ) : null}
        </>
      }
    >
      {rows.length ? (
        <Rows c={c} rows={rows.slice(0, most)} shown={wanted.filter((n) => seen.includes(n))} />
      ) : (
        <p class="body muted">{_('None')}</p>
      )}
      {rows.length > most ? (
        <p class="body muted small">{_('The first {n} stand here; all of them are in the list.', { n: most })}</p>
      ) : null}
    </Card>
  );
}
