import { useLocation, useRoute } from 'preact-iso';
import { useEffect, useState } from 'preact/hooks';
import { api, download, invoke, records, supabase, want } from '../lib/client';
import { titleOf, useCatalog, usePermissions, words, type Catalog, type Permissions } from '../lib/catalog';
import { toFault, type InTheWay } from '../lib/fault';
import { ago, number } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { queryClient, useQuery } from '../lib/query';
import type { Answer, Row } from '../database';
import { Badge, Button, Card, Empty, Head, LinkButton, Note, Problem, Skeleton, Tabs } from '../ui/basic';
import { Ask } from '../ui/dialog';
import { Check, Select } from '../ui/form';
import { Icon } from '../ui/icon';
import { fail, toast } from '../ui/overlay';
import { hrefOf } from '../ui/value';
import { joined, mappingOf, Meanings, MissingField, Reading, type CheckAgain } from './importwords';
import '../records.css';
import '../work.css';

interface Job extends Row {
  job_no: string;
  target: string;
  file_name: string | null;
  status: string;
  message: string | null;
  mapping: Record<string, string> | null;
  options: Record<string, unknown>;
  total_rows: number;
  valid_rows: number;
  invalid_rows: number;
  imported_count: number;
  rolled_back_count: number;
  created_at: string;
}

type Processed = Answer<'process-import-job'>;
type Column = Processed['columns'][number];

interface LineError {
  line: number;
  column?: string;
  code: string;
  message: string;
}

interface FileRow {
  row: number;
  line: number;
  status: string;
  cells: string[];
  errors: LineError[];
  action?: string;
  entity_type?: string;
  entity_id?: string;
}

const busyStates = new Set(['processing', 'applying', 'rolling_back']);

// ImportsPage is the history of files and the way to a new one.
export function ImportsPage() {
  const p = usePermissions();
  const jobs = useQuery({
    queryKey: ['c', 'import_jobs', 'list'],
    queryFn: () => want<Job[]>(supabase.from('import_jobs').select('*').order('id', { ascending: false }).limit(50)),
    meta: { live: true },
  });
  return (
    <>
      <Head title={_('Imports')} sub={_('Files that became records, what each did, and the way back.')}>
        {p?.collections['import_jobs']?.create ? (
          <LinkButton kind="primary" icon="upload" href="/console/imports/new">
            {_('Import a file')}
          </LinkButton>
        ) : null}
      </Head>
      <Problem error={jobs.error} retry={() => void jobs.refetch()} />
      <Card flush>
        {jobs.isPending ? (
          <div class="body">
            <Skeleton lines={6} />
          </div>
        ) : jobs.data?.length ? (
          <div class="table stacks" tabIndex={0} role="region" aria-label={_('Imports')}>
            <table>
              <thead>
                <tr>
                  <th scope="col">{_('Job')}</th>
                  <th scope="col">{_('File')}</th>
                  <th scope="col">{_('Into')}</th>
                  <th scope="col">{_('Status')}</th>
                  <th scope="col" class="num">
                    {_('Rows')}
                  </th>
                  <th scope="col" class="num">
                    {_('With errors')}
                  </th>
                  <th scope="col" class="num">
                    {_('Imported')}
                  </th>
                  <th scope="col" class="num">
                    {_('Taken back')}
                  </th>
                  <th scope="col">{_('When')}</th>
                </tr>
              </thead>
              <tbody>
                {jobs.data.map((j) => (
                  <tr key={j.id}>
                    <td>
                      <a class="strong" href={`/console/imports/${j.id}`}>
                        {j.job_no}
                      </a>
                    </td>
                    <td data-label={_('File')}>{j.file_name}</td>
                    <td data-label={_('Into')}>{titleOf(j.target)}</td>
                    <td>
                      <JobState j={j} />
                    </td>
                    <td class="num" data-label={_('Rows')}>
                      {number(j.total_rows)}
                    </td>
                    <td class="num" data-label={_('With errors')}>
                      {number(j.invalid_rows)}
                    </td>
                    <td class="num" data-label={_('Imported')}>
                      {number(j.imported_count)}
                    </td>
                    <td class="num" data-label={_('Taken back')}>
                      {j.rolled_back_count ? number(j.rolled_back_count) : <span class="muted">–</span>}
                    </td>
                    <td data-label={_('When')}>{ago(j.created_at)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        ) : (
          <Empty
            title={_('No file was imported yet')}
            icon="upload"
            action={
              <LinkButton kind="primary" href="/console/imports/new">
                {_('Import a file')}
              </LinkButton>
            }
          />
        )}
      </Card>
    </>
  );
}

function Steps({ at }: { at: number }) {
  return (
    <ol class="steps" aria-label={_('Steps')}>
      {[_('File'), _('Columns and errors'), _('Apply'), _('Done')].map((text, i) => (
        <li key={text} aria-current={i === at ? 'step' : undefined}>
          <b>{i < at ? <Icon name="check" size={14} /> : i + 1}</b>
          {text}
        </li>
      ))}
    </ol>
  );
}

// targetsOf are the collections that the caller may import into.
function targetsOf(catalog: Catalog | undefined, p: Permissions | undefined) {
  const may = (name: string) => p?.collections[name]?.create || p?.collections[name]?.update || name === 'stock_levels';
  return [...(catalog?.values() ?? [])].filter((c) => c.import && may(c.name));
}

// NewImport takes the file and says what it is.
export function NewImport() {
  const catalog = useCatalog();
  const p = usePermissions();
  const { query, route } = useLocation();
  const targets = targetsOf(catalog, p);
  const [target, setTarget] = useState(query['target'] ?? 'items');
  const [over, setOver] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState('');
  const send = async (file: File | undefined) => {
    if (!file) return;
    setBusy(file.name);
    setError(null);
    const form = new FormData();
    form.set('target', target);
    form.set('file', file);
    try {
      const job = await api<Job>('/v1/import-jobs', { method: 'POST', body: form });
      route(`/console/imports/${job.id}`, true);
    } catch (e) {
      setError(e);
      setBusy('');
    }
  };
  if (!catalog || !p) return <Skeleton lines={6} />;
  return (
    <>
      <Head
        title={_('Import a file')}
        crumbs={[[_('Imports'), '/console/imports']]}
        sub={_('CSV, TSV, Excel or JSON. Nothing is written until you say so, and what was written can be taken back.')}
      />
      <Steps at={0} />
      <Problem error={error} />
      <Card>
        <div class="stack">
          <Select
            label={_('What is in the file?')}
            value={target}
            put={setTarget}
            options={targets.map((c) => [c.name, titleOf(c)])}
            help={_(catalog.get(target)?.doc ?? '')}
          />
          <label
            class={`drop ${over ? 'over' : ''}`}
            onDragOver={(e) => {
              e.preventDefault();
              setOver(true);
            }}
            onDragLeave={() => setOver(false)}
            onDrop={(e) => {
              e.preventDefault();
              setOver(false);
              void send(e.dataTransfer?.files[0]);
            }}
          >
            <Icon name="upload" size={30} />
            <b>{busy ? _('Sending {name}', { name: busy }) : _('Drop a file here, or choose one')}</b>
            <span class="muted small">
              {_('Known columns: {list}', {
                list: (catalog.get(target)?.import?.fields ?? [])
                  .map((f) => _(catalog.get(target)?.fields.find((x) => x.name === f)?.label ?? f))
                  .slice(0, 12)
                  .join(', '),
              })}
            </span>
            <input
              type="file"
              accept=".csv,.tsv,.txt,.xlsx,.json"
              disabled={!!busy}
              onChange={(e) => void send(e.currentTarget.files?.[0])}
            />
          </label>
        </div>
      </Card>
    </>
  );
}

// ImportPage leads one file from its check to what became of it.
export function ImportPage() {
  const { params } = useRoute();
  const id = params['id'] as string;
  const catalog = useCatalog();
  const p = usePermissions();
  const job = useQuery({
    queryKey: ['c', 'import_jobs', 'one', id],
    queryFn: () => want<Job | null>(supabase.from('import_jobs').select('*').eq('id', id).maybeSingle()),
    meta: { live: true },
    refetchInterval: (q) => (busyStates.has(q.state.data?.status ?? '') ? 1000 : false),
  });
  const [read, setRead] = useState<Processed | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState('');
  const [undoing, setUndoing] = useState(false);
  const [left, setLeft] = useState<InTheWay[]>([]);
  const again = () => {
    void queryClient.invalidateQueries({ queryKey: ['c'] });
    return job.refetch();
  };
  const act = async (name: string, f: () => Promise<void>) => {
    setBusy(name);
    setError(null);
    try {
      await f();
    } catch (e) {
      setError(e);
    } finally {
      setBusy('');
      await again();
    }
  };
  const check = (more?: { target?: string; mapping?: Record<string, unknown>; options?: Record<string, unknown> }) =>
    act('check', async () => {
      if (more) await want(records('import_jobs').update(more).eq('id', id));
      setRead(await invoke('process-import-job', '', { job_id: id }));
    });
  const status = job.data?.status;
  useEffect(() => {
    if (status === 'uploaded' && !busy && !read && !error) void check();
  }, [status]);
  // What was not known to be done is known now.
  useEffect(() => {
    if (status === 'completed' || status === 'rolled_back') setError(null);
  }, [status]);
  if (job.isPending || !catalog || !p) return <Skeleton lines={8} />;
  if (job.error) return <Problem error={job.error} retry={() => void job.refetch()} />;
  const j = job.data;
  if (!j)
    return (
      <Empty
        title={_('This import is not there')}
        action={
          <a class="btn" href="/console/imports">
            {_('Imports')}
          </a>
        }
      />
    );
  const at = ['ready', 'failed', 'uploaded', 'processing', 'created'].includes(j.status)
    ? 1
    : j.status === 'applying'
      ? 2
      : 3;
  return (
    <>
      <Head
        title={
          <span class="row">
            {j.file_name ?? j.job_no} <JobState j={j} />
          </span>
        }
        crumbs={[[_('Imports'), '/console/imports']]}
        sub={_('{no}, into {target}', { no: j.job_no, target: titleOf(j.target) })}
      >
        {j.status === 'ready' ? (
          <Button
            kind="primary"
            icon="check"
            busy={busy === 'apply'}
            disabled={!j.valid_rows}
            onClick={() =>
              void act('apply', async () => {
                const r = await invoke('apply-import-job', '', { job_id: id });
                toast(r.message);
              })
            }
          >
            {plural(j.valid_rows, 'Apply {n} row', 'Apply {n} rows')}
          </Button>
        ) : null}
        {['ready', 'failed', 'uploaded'].includes(j.status) ? (
          <Button onClick={() => void act('cancel', () => api(`/v1/import-jobs/${id}/cancel`, { method: 'POST' }))}>
            {_('Give up')}
          </Button>
        ) : null}
        {j.status === 'completed' && p.functions['rollback-import-job'] ? (
          <Button kind="danger" icon="undo" onClick={() => setUndoing(true)}>
            {_('Roll back')}
          </Button>
        ) : null}
      </Head>
      <Steps at={at} />
      {j.status === 'failed' ? null : <Problem error={error} />}
      {j.status === 'failed' && j.message ? (
        <Question j={j} busy={busy === 'check'} check={check} catalog={catalog} />
      ) : j.message && !busyStates.has(j.status) ? (
        <Note kind={j.status === 'completed' ? 'good' : j.invalid_rows ? 'warn' : 'good'}>{j.message}</Note>
      ) : null}
      {busyStates.has(j.status) || busy === 'check' || busy === 'apply' ? <Progress id={id} /> : null}
      {['uploaded', 'ready', 'failed'].includes(j.status) && !j.imported_count ? (
        <div style={{ maxInlineSize: '420px' }}>
          <Select
            label={_('What is in the file?')}
            value={j.target}
            disabled={!!busy}
            put={(target) => void check({ target })}
            options={targetsOf(catalog, p).map((c) => [c.name, titleOf(c)])}
          />
        </div>
      ) : null}
      {['ready', 'failed'].includes(j.status) ? (
        <Reading
          message={j.message ?? ''}
          options={j.options}
          busy={busy === 'check'}
          answer={(o) => void check({ options: { ...j.options, ...o } })}
        />
      ) : null}
      {j.status === 'ready' && read ? (
        <Meanings
          columns={read.columns}
          of={catalog.get(j.target)}
          options={j.options}
          busy={busy === 'check'}
          answer={(o) => void check({ options: { ...j.options, ...o } })}
        />
      ) : null}
      {j.status === 'ready' || (j.status === 'failed' && read) ? (
        <Columns key={j.target} j={j} read={read} busy={busy === 'check'} check={check} catalog={catalog} />
      ) : null}
      {['ready', 'completed', 'applying', 'rolled_back'].includes(j.status) ? (
        <Rows key={j.status === 'ready' ? 'before' : 'after'} j={j} changed={() => void again()} catalog={catalog} />
      ) : null}
      {left.length ? (
        <Card flush title={_('Left as they are')}>
          <Conflicts list={left} />
        </Card>
      ) : null}
      {undoing ? (
        <Undo
          id={id}
          close={() => setUndoing(false)}
          done={(list) => {
            setLeft(list);
            void again();
          }}
        />
      ) : null}
    </>
  );
}

function Progress({ id }: { id: string }) {
  const q = useQuery({
    queryKey: ['progress', id],
    queryFn: () =>
      api<{ done: number; total: number; percent: number; message: string; status: string }>(
        `/v1/import-jobs/${id}/progress`,
      ),
    refetchInterval: 700,
  });
  return (
    <Card title={_('At work')}>
      <div class="stack tight">
        <div
          class="bar wide-bar"
          role="progressbar"
          aria-label={_('Progress')}
          aria-valuenow={q.data?.percent ?? 0}
          aria-valuemin={0}
          aria-valuemax={100}
        >
          <i style={{ inlineSize: `${q.data?.percent ?? 4}%` }} />
        </div>
        <p class="small muted" aria-live="polite">
          {q.data
            ? _('{n} of {m} rows. You may close this page: the server goes on.', {
                n: number(q.data.done),
                m: number(q.data.total),
              })
            : ''}
        </p>
      </div>
    </Card>
  );
}

// questionsOf are what the server asks in a sentence about a file that does not say it by itself.
function questionsOf(text: string) {
  const dates = /date order|date_order/.test(text);
  const marks = /decimal mark|decimal_mark/.test(text);
  const written = /its words\? (.*)\. Say which \(encoding\)/s.exec(text)?.[1]?.split('; ') ?? [];
  const epoch = /\(epoch: (\w+)\)/.exec(text)?.[1];
  const years = /\(short_years/.test(text);
  const sheet = /the sheet "(.*)" fits/.exec(text)?.[1];
  const header = !written.length && /header/.test(text) && !/no column/.test(text);
  const missing = /no column for (.*?), which/.exec(text)?.[1];
  const onlyChanges = /use the mode update/.test(text);
  const isAsked = !!(dates || marks || written.length || epoch || years || sheet || header || missing || onlyChanges);
  return { dates, marks, written, epoch, years, sheet, header, missing, onlyChanges, isAsked };
}

// JobState is how far an import is; one that waits for an answer has not failed.
function JobState({ j }: { j: Job }) {
  const asks = j.status === 'failed' && questionsOf(j.message ?? '').isAsked;
  return asks ? <Badge tone="warn">{_('Waits for an answer')}</Badge> : <Badge state={j.status} />;
}

// Question asks what the file does not say by itself, or says why it cannot be read.
function Question({ j, busy, check, catalog }: { j: Job; busy: boolean; check: CheckAgain; catalog: Catalog }) {
  const text = j.message ?? '';
  const { dates, marks, written, epoch, years, sheet, header, missing, onlyChanges, isAsked } = questionsOf(text);
  const answer = (o: Record<string, unknown>) => void check({ options: { ...j.options, ...o } });
  return (
    <Card title={isAsked ? _('One question before it goes on') : _('It cannot go on like this')}>
      <div class="stack">
        <p>{text}</p>
        <div class="row">
          {written.map((w) => (
            <Button key={w} busy={busy} onClick={() => answer({ encoding: /\((\S+)\)$/.exec(w)?.[1] })}>
              {w}
            </Button>
          ))}
          {sheet ? (
            <Button kind="primary" busy={busy} onClick={() => answer({ sheet })}>
              {_('Read the sheet {name}', { name: sheet })}
            </Button>
          ) : null}
          {epoch ? (
            <Button kind="primary" busy={busy} onClick={() => answer({ epoch })}>
              {epoch === 'seconds' ? _('Yes, seconds since 1970') : _('Yes, milliseconds since 1970')}
            </Button>
          ) : null}
          {years ? (
            <>
              <Button kind="primary" busy={busy} onClick={() => answer({ short_years: 'past' })}>
                {_('In the past')}
              </Button>
              <Button busy={busy} onClick={() => answer({ short_years: 'future' })}>
                {_('In the future')}
              </Button>
            </>
          ) : null}
          {dates ? (
            <>
              <Button kind="primary" busy={busy} onClick={() => answer({ date_order: 'dmy' })}>
                {_('The day first: 31/12/2025')}
              </Button>
              <Button busy={busy} onClick={() => answer({ date_order: 'mdy' })}>
                {_('The month first: 12/31/2025')}
              </Button>
              <Button busy={busy} onClick={() => answer({ date_order: 'ymd' })}>
                {_('The year first: 25-12-31')}
              </Button>
            </>
          ) : null}
          {marks ? (
            <>
              <Button kind="primary" busy={busy} onClick={() => answer({ decimal_mark: '.' })}>
                {_('A point: 1.5')}
              </Button>
              <Button busy={busy} onClick={() => answer({ decimal_mark: ',' })}>
                {_('A comma: 1,5')}
              </Button>
            </>
          ) : null}
          {header ? (
            <>
              <Button kind="primary" busy={busy} onClick={() => answer({ header: true })}>
                {_('The first row holds the headers')}
              </Button>
              <Button busy={busy} onClick={() => answer({ header: false })}>
                {_('The first row is data')}
              </Button>
            </>
          ) : null}
          {onlyChanges ? (
            <Button busy={busy} onClick={() => answer({ mode: 'update' })}>
              {_('It only changes records that are there')}
            </Button>
          ) : null}
          {!dates && !marks && !header && !missing && !epoch && !years && !sheet ? (
            <Button busy={busy} icon="refresh" onClick={() => void check()}>
              {_('Check again')}
            </Button>
          ) : null}
        </div>
        {missing ? (
          <MissingField key={missing} j={j} missing={missing} busy={busy} check={check} of={catalog.get(j.target)} />
        ) : null}
      </div>
    </Card>
  );
}

// Columns shows how each column was understood and lets it be put right.
function Columns({
  j,
  read,
  busy,
  check,
  catalog,
}: {
  j: Job;
  read: Processed | null;
  busy: boolean;
  check: CheckAgain;
  catalog: Catalog;
}) {
  const [draft, setDraft] = useState<Record<string, string>>({});
  const c = catalog.get(j.target);
  const fields = c?.import?.fields ?? [];
  if (!read?.columns)
    return (
      <Card title={_('Columns')}>
        <Button busy={busy} onClick={() => void check()}>
          {_('Show how the columns are read')}
        </Button>
      </Card>
    );
  const now = (col: Column) => draft[col.header] ?? col.field ?? '';
  const dirty = read.columns.some((col) => now(col) !== (col.field ?? ''));
  const save = () => {
    const mapping = mappingOf(read.columns, now);
    setDraft({});
    void check({ mapping });
  };
  return (
    <Card
      flush
      title={_('Columns')}
      actions={
        dirty ? (
          <Button size="small" kind="primary" busy={busy} onClick={save}>
            {_('Check with these columns')}
          </Button>
        ) : null
      }
    >
      <div class="table stacks" tabIndex={0} role="region" aria-label={_('Columns')}>
        <table>
          <thead>
            <tr>
              <th scope="col">{_('In the file')}</th>
              <th scope="col">{_('Some of its cells')}</th>
              <th scope="col">{_('Becomes')}</th>
              <th scope="col">{_('Why')}</th>
            </tr>
          </thead>
          <tbody>
            {read.columns.map((col) => (
              <tr key={col.index}>
                <td class="strong">{col.header}</td>
                <td class="wrap small" data-label={_('Some of its cells')}>
                  {(col.samples ?? []).join(' · ')}
                </td>
                <td data-label={_('Becomes')}>
                  <select
                    class="input"
                    aria-label={_('{column} becomes', { column: col.header })}
                    value={now(col)}
                    onChange={(e) => setDraft({ ...draft, [col.header]: e.currentTarget.value })}
                  >
                    <option value="">{_('leave it out')}</option>
                    {[...new Set([...(col.field ? [col.field] : []), ...fields])].map((f) => (
                      <option key={f} value={f}>
                        {_(c?.fields.find((x) => x.name === f)?.label ?? words(f))}
                      </option>
                    ))}
                  </select>
                  {joined(col) ? <div class="small muted">{_('joined: {list}', { list: joined(col) })}</div> : null}
                </td>
                <td class="wrap muted small" data-label={_('Why')}>
                  {col.why ?? ''}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

// Rows shows errors to be put right in place, and what applying would do.
function Rows({ j, changed, catalog }: { j: Job; changed: () => void; catalog: Catalog }) {
  const ready = j.status === 'ready';
  const [tab, setTab] = useState(ready && j.invalid_rows ? 'errors' : ready ? 'preview' : 'all');
  const tabs: [string, string][] = [];
  if (j.invalid_rows || ready) tabs.push(['errors', `${_('With errors')} (${number(j.invalid_rows)})`]);
  if (ready) tabs.push(['preview', `${_('What will change')} (${number(j.valid_rows)})`]);
  tabs.push(['all', _('All rows')]);
  return (
    <Card
      flush
      title={<Tabs tabs={tabs} at={tab} go={setTab} />}
      actions={
        tab === 'errors' && j.invalid_rows ? (
          <Button
            size="small"
            icon="download"
            onClick={() =>
              void download(`/v1/import-jobs/${j.id}/corrected?status=invalid`, `${j.job_no}-errors.csv`).catch(fail)
            }
          >
            {_('Save the bad rows')}
          </Button>
        ) : null
      }
    >
      {tab === 'preview' ? (
        <Preview j={j} catalog={catalog} />
      ) : (
        <RowTable key={tab} j={j} status={tab === 'errors' ? 'invalid' : ''} editable={ready} changed={changed} />
      )}
    </Card>
  );
}

// What applying does to a record, in words and colour.
const acts: Record<string, string> = { insert: 'New', update: 'Change', unchanged: 'As it is' };
const tones: Record<string, string> = { insert: 'good', update: 'info' };

const ended = new Set(['completed', 'rolled_back', 'failed']);

function RowTable({
  j,
  status,
  editable,
  changed,
}: {
  j: Job;
  status: string;
  editable: boolean;
  changed: () => void;
}) {
  const [page, setPage] = useState(1);
  const q = useQuery({
    queryKey: ['c', 'import_jobs', 'rows', j.id, status, page, j.version],
    queryFn: () =>
      api<{ columns: string[]; rows: FileRow[]; total: number; hasMore: boolean }>(
        `/v1/import-jobs/${j.id}/rows?page=${page}&pageSize=50${status ? `&status=${status}` : ''}`,
      ),
  });
  const [fixed, setFixed] = useState<Record<number, FileRow>>({});
  const fix = async (row: number, header: string, text: string) => {
    try {
      const r = await api<FileRow>(`/v1/import-jobs/${j.id}/rows/${row}`, {
        method: 'PATCH',
        json: { cells: { [header]: text } },
      });
      setFixed((old) => ({ ...old, [row]: r }));
      if (r.status === 'valid') toast(_('Line {n} is right', { n: r.line }));
      changed();
    } catch (e) {
      fail(e);
    }
  };
  if (q.isPending)
    return (
      <div class="body">
        <Skeleton lines={5} />
      </div>
    );
  // Nothing is wrong with a job that is over and whose file is gone.
  if (q.error && ended.has(j.status) && toFault(q.error).code === 'import_state')
    return <Empty title={_('The rows are no longer kept')} icon="list" />;
  if (q.error) return <Problem error={q.error} />;
  const rows = q.data.rows.map((r) => fixed[r.row] ?? r);
  const done = rows.some((r) => r.action);
  if (!rows.length)
    return <Empty title={status ? _('No row has an error') : _('The rows are no longer kept')} icon="check" />;
  return (
    <>
      <div class="table" tabIndex={0} role="region" aria-label={_('Rows')}>
        <table>
          <thead>
            <tr>
              <th scope="col" class="num">
                {_('Line')}
              </th>
              <th scope="col">{_('Status')}</th>
              {done ? <th scope="col">{_('What it did')}</th> : null}
              {q.data.columns.map((h) => (
                <th key={h} scope="col">
                  {h}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((r) => (
              <tr key={r.row}>
                <td class="num">{r.line}</td>
                <td class="wrap" style={{ minInlineSize: '180px' }}>
                  <Badge state={r.status}>{words(r.status)}</Badge>
                  {r.errors.map((e) => (
                    <div key={`${e.column} ${e.code}`} class="small down">
                      {e.column ? `${e.column}: ` : ''}
                      {e.message}
                    </div>
                  ))}
                </td>
                {done ? (
                  <td>
                    {r.action ? (
                      <Badge tone={tones[r.action] ?? ''}>
                        {acts[r.action] ? _(acts[r.action] as string) : words(r.action)}
                      </Badge>
                    ) : null}{' '}
                    {r.entity_type && r.entity_id ? <a href={hrefOf(r.entity_type, r.entity_id)}>{_('Open')}</a> : null}
                  </td>
                ) : null}
                {q.data.columns.map((h, i) => {
                  const wrong = r.errors.some((e) => e.column === h);
                  return (
                    <td key={h}>
                      {editable ? (
                        <input
                          class="cell-edit"
                          aria-label={_('{column}, line {n}', { column: h, n: r.line })}
                          aria-invalid={wrong || undefined}
                          value={r.cells[i] ?? ''}
                          onChange={(e) =>
                            e.currentTarget.value !== (r.cells[i] ?? '') && void fix(r.row, h, e.currentTarget.value)
                          }
                        />
                      ) : (
                        r.cells[i]
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {q.data.total > 50 ? (
        <div class="pager">
          <span>{_('{n} rows', { n: number(q.data.total) })}</span>
          <span class="push" />
          <Button size="small" disabled={page === 1} onClick={() => setPage(page - 1)}>
            {_('Previous')}
          </Button>
          <Button size="small" disabled={!q.data.hasMore} onClick={() => setPage(page + 1)}>
            {_('Next')}
          </Button>
        </div>
      ) : null}
    </>
  );
}

interface Change {
  line: number;
  action: string;
  label: string;
  fields: Record<string, { before: unknown; after: unknown }>;
}

// Preview says what applying would do, as a diff.
function Preview({ j, catalog }: { j: Job; catalog: Catalog }) {
  const q = useQuery({
    queryKey: ['c', 'import_jobs', 'preview', j.id, j.version],
    queryFn: () => api<{ rows: Change[]; total: number }>(`/v1/import-jobs/${j.id}/preview?pageSize=50`),
  });
  if (q.isPending)
    return (
      <div class="body">
        <Skeleton lines={5} />
      </div>
    );
  if (q.error) return <Problem error={q.error} />;
  if (!q.data.rows.length) return <Empty title={_('Nothing would change')} />;
  const c = catalog.get(j.target);
  const said = (v: unknown) => (v == null ? '' : typeof v === 'object' ? JSON.stringify(v) : String(v));
  return (
    <ul class="lines">
      {q.data.rows.map((r) => (
        <li key={r.line} style={{ alignItems: 'flex-start' }}>
          <Badge tone={tones[r.action] ?? ''}>{_(acts[r.action] ?? 'As it is')}</Badge>
          <span class="strong nobreak">{r.label}</span>
          <span class="grow small" style={{ overflowWrap: 'anywhere' }}>
            {Object.entries(r.fields ?? {}).map(([f, x]) => (
              <span key={f} style={{ marginInlineEnd: '14px' }}>
                <span class="muted">{_(c?.fields.find((y) => y.name === f)?.label ?? words(f))}:</span>{' '}
                {x.before != null ? <span class="before">{said(x.before)}</span> : null}{' '}
                <span class="after">{said(x.after)}</span>
              </span>
            ))}
          </span>
          <span class="small muted nobreak">{_('line {n}', { n: r.line })}</span>
        </li>
      ))}
      {q.data.total > q.data.rows.length ? (
        <li class="muted">{_('and {n} more', { n: number(q.data.total - q.data.rows.length) })}</li>
      ) : null}
    </ul>
  );
}

// Conflicts are the records that stand against a rollback, each with the reason.
function Conflicts({ list }: { list: InTheWay[] }) {
  return (
    <ul class="lines conflicts">
      {list.map((c) => (
        <li key={c.entity_id}>
          <a class="strong" href={hrefOf(c.entity_type, c.entity_id)} target="_blank">
            {c.label}
          </a>
          <span class="grow muted">{c.reason}</span>
        </li>
      ))}
    </ul>
  );
}

// Undo takes an import back; where others changed its records since, it says which.
function Undo({ id, close, done }: { id: string; close: () => void; done: (left: InTheWay[]) => void }) {
  const [partial, setPartial] = useState(false);
  const [stuck, setStuck] = useState<InTheWay[]>([]);
  return (
    <Ask
      danger
      kind={stuck.length ? 'wide' : undefined}
      title={_('Roll this import back?')}
      text={_(
        'What it made is deleted and what it changed is as before. If somebody changed these records since, nothing happens and you are told which.',
      )}
      yes={_('Roll back')}
      close={close}
      act={async () => {
        try {
          const r = await invoke('rollback-import-job', '', { job_id: id, ...(partial ? { partial: true } : {}) });
          toast(r.message);
          done(r.conflicts ?? []);
        } catch (e) {
          setStuck(toFault(e).conflicts);
          throw e;
        }
      }}
    >
      {stuck.length ? (
        <>
          <h3>{_('These stand in the way')}</h3>
          <Conflicts list={stuck} />
          <Check label={_('Take back the rest, and leave those as they are')} on={partial} put={setPartial} />
        </>
      ) : null}
    </Ask>
  );
}
