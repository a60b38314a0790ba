import { lazy, useLocation } from 'preact-iso';
import { useEffect, useState } from 'preact/hooks';
import { api, records, serverNow, want } from '../lib/client';
import { nameOf, useCatalog, usePermissions, visible, words, writable, type Permissions } from '../lib/catalog';
import { useDraft, type Draft } from '../lib/draft';
import { toFault } from '../lib/fault';
import { ago } from '../lib/format';
import { _ } from '../lib/i18n';
import { fileOf, shrinkPicture } from '../lib/picture';
import { queryClient, useQuery } from '../lib/query';
import { takeScans } from '../lib/scanner';
import { momentOf } from '../lib/zone';
import type { Row } from '../database';
import { Badge, Button, Card, Empty, Head, LinkButton, Note, Problem, Skeleton } from '../ui/basic';
import { Area, Input, Moment } from '../ui/form';
import { useFound } from '../ui/found';
import { Icon } from '../ui/icon';
import { Kept } from '../ui/kept';
import { Reference } from '../ui/reference';
import { hrefOf, useCalled } from '../ui/value';
import { useZoneOf } from '../ui/where';
import '../evidence.css';
import '../report.css';

const PickPlace = lazy(() => import('./map').then((m) => m.PickPlace));

// What can be reported in four steps; the whole form knows the other kinds.
const kinds = ['near_miss', 'hazard', 'injury', 'property_damage', 'environmental'] as const;

const kindSays: Record<string, () => [string, string]> = {
  near_miss: () => [_('It nearly went wrong'), _('Nobody was hurt, nothing broke, but it was close.')],
  hazard: () => [_('Something is unsafe'), _('It could hurt somebody if nobody mends it.')],
  injury: () => [_('Somebody is hurt'), _('Also when it is only a scratch.')],
  property_damage: () => [_('Something is damaged'), _('A rack, a truck, goods or the building.')],
  environmental: () => [_('Something leaked or spilled'), _('Oil, a chemical, gas or dust.')],
};

const levels = ['low', 'medium', 'high', 'critical'] as const;

const levelSays: Record<string, () => string> = {
  low: () => _('A fright or a scratch'),
  medium: () => _('Somebody needs a doctor'),
  high: () => _('Somebody is off work for days'),
  critical: () => _('Somebody could die'),
};

// Of what hurt nobody it is asked how bad it could have been: no severity, which is what happened to somebody.
const isHarmless = (kind: string) => kind !== 'injury';

const longestTitle = 100;

interface Made {
  id: string;
  no: string;
}

// useReport is what a report is made of, kept on the device at each step.
function useReport() {
  const draft = useDraft('report');
  const fields = {
    kind: draft.field('kind', ''),
    level: draft.field('level', ''),
    zone: draft.field('zone', ''),
    text: draft.field('text', ''),
    witness: draft.field('witness', ''),
    when: draft.field('when', ''),
    photo: draft.field('photo', ''),
    made: draft.field<Made | null>('made', null),
  };
  return { draft, ...fields };
}

type Report = ReturnType<typeof useReport>;

interface StepGiven {
  r: Report;
  go: (step: number) => void;
}

// ReportPage takes a report in four steps: what, how bad, where, and what else there is to say.
export function ReportPage() {
  const p = usePermissions();
  const { query, route } = useLocation();
  const r = useReport();
  const [kind] = r.kind;
  const [level] = r.level;
  const [made] = r.made;
  if (!p) return <Skeleton lines={6} />;
  if (!p.collections['incidents']?.create)
    return <Empty title={_('Your role does not make these records')} icon="shield" />;
  if (made) return <Receipt r={r} made={made} p={p} />;
  const most = !kind ? 1 : !level ? 2 : 4;
  const step = Math.max(1, Math.min(most, Number(query['step']) || 1));
  const go = (next: number) => route(`/console/report?step=${next}`);
  const given = { r, go };
  return (
    <div class="report">
      <Head title={questionOf(step, kind)} sub={_('Step {n} of {m}', { n: step, m: 4 })}>
        {step > 1 ? (
          <LinkButton kind="quiet" icon="back" href={`/console/report?step=${step - 1}`}>
            {_('Back')}
          </LinkButton>
        ) : null}
      </Head>
      {step === 1 ? (
        <>
          <Note kind="warn">{_('Is somebody in danger now? Help first, and call the emergency number.')}</Note>
          <Kept draft={r.draft} />
          <What {...given} />
          <Mine p={p} />
        </>
      ) : step === 2 ? (
        <HowBad {...given} />
      ) : step === 3 ? (
        <Where {...given} />
      ) : (
        <Words {...given} p={p} />
      )}
      <p>
        <a href={`/console/c/incidents/new?${new URLSearchParams({ ...(kind ? { kind } : {}) })}`}>
          {_('More: the whole form')}
        </a>
      </p>
    </div>
  );
}

function questionOf(step: number, kind: string): string {
  if (step === 1) return _('What happened?');
  if (step === 2) return isHarmless(kind) ? _('How bad could it have been?') : _('How bad is it?');
  return step === 3 ? _('Where was it?') : _('What should we know?');
}

interface Choice {
  value: string;
  text: string;
  help?: string;
}

function Choices({ list, at, put, close }: { list: Choice[]; at: string; put: (v: string) => void; close?: boolean }) {
  return (
    <div class={`choices ${close ? 'close' : ''}`}>
      {list.map((x) => (
        <button key={x.value} type="button" aria-pressed={x.value === at} onClick={() => put(x.value)}>
          <b>{x.text}</b>
          {x.help ? <span class="muted small">{x.help}</span> : null}
        </button>
      ))}
    </div>
  );
}

function What({ r, go }: StepGiven) {
  const [kind, setKind] = r.kind;
  const list = kinds.map((value) => {
    const [text, help] = kindSays[value]?.() ?? [words(value), ''];
    return { value, text, help };
  });
  const put = (v: string) => {
    setKind(v);
    go(2);
  };
  return <Choices list={list} at={kind} put={put} />;
}

function HowBad({ r, go }: StepGiven) {
  const [level, setLevel] = r.level;
  const list = levels.map((value) => ({ value, text: levelSays[value]?.() ?? words(value) }));
  const put = (v: string) => {
    setLevel(v);
    go(3);
  };
  return <Choices list={list} at={level} put={put} />;
}

// So many places are offered at once, once something is sought: of thousands the first few are nobody's.
const offered = 6;

// Where takes a place by a scan, by its code or name, or by a tap on the plan.
function Where({ r, go }: StepGiven) {
  const [zone, setZone] = r.zone;
  const [sought, setSought] = useState('');
  const [onMap, setOnMap] = useState(false);
  const called = useCalled('zones', zone);
  const found = useFound('zones', sought);
  const put = (id: string) => {
    setZone(id);
    go(4);
  };
  useEffect(() => takeScans(setSought), []);
  // A whole code that was scanned or typed is the place.
  const code = sought.trim().toLowerCase();
  const hit = code ? found.find(([, name]) => name.toLowerCase().split(' · ')[0] === code)?.[0] : undefined;
  return (
    <>
      <form
        class="stack tight"
        onSubmit={(e) => {
          e.preventDefault();
          const first = hit ?? (found.length === 1 ? found[0]?.[0] : undefined);
          if (first) put(first);
        }}
      >
        <Input
          label={_('Scan the place, or type its code or name')}
          type="search"
          value={sought}
          put={setSought}
          autocomplete="off"
        />
      </form>
      {called ? <p class="muted">{_('Chosen: {what}', { what: called })}</p> : null}
      <Choices
        close
        list={(code ? found : []).slice(0, offered).map(([value, text]) => ({ value, text }))}
        at={zone}
        put={put}
      />
      {code && !found.length ? <p class="muted">{_('No place is called that.')}</p> : null}
      <p class="row">
        <Button icon="map" aria-expanded={onMap} onClick={() => setOnMap(!onMap)}>
          {_('Show the plan')}
        </Button>
        <Button onClick={() => put('')}>{_('I do not know, or somewhere else')}</Button>
      </p>
      {onMap ? <PickPlace at={zone} pick={put} /> : null}
    </>
  );
}

// titleOf is the first words of a report, else what and where it was.
function titleOf(kind: string, text: string, place: string | undefined): string {
  const first = text.trim().split('\n')[0] ?? '';
  if (first) return first.length > longestTitle ? `${first.slice(0, longestTitle - 1)}…` : first;
  const what = kindSays[kind]?.()[0] ?? words(kind);
  return place ? `${what}: ${place}`.slice(0, longestTitle) : what;
}

// Words is the last step: a photo, words, who was there, and when, none of which is asked for.
function Words({ r, p }: StepGiven & { p: Permissions }) {
  const [kind] = r.kind;
  const [level] = r.level;
  const [zone] = r.zone;
  const [text, setText] = r.text;
  const [witness, setWitness] = r.witness;
  const [when, setWhen] = r.when;
  const [photo, setPhoto] = r.photo;
  const [, setMade] = r.made;
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [unread, setUnread] = useState('');
  const place = useCalled('zones', zone);
  const timeZone = useZoneOf({ zone_id: zone });
  const incidents = useCatalog()?.get('incidents');
  const mayName =
    !!incidents &&
    writable(incidents, p.collections['incidents'], true).some((f) => f.name === 'entities') &&
    !!p.collections['workers']?.read;
  const take = async (file: File | undefined) => {
    setUnread('');
    if (!file) return;
    await shrinkPicture(file).then(setPhoto, () =>
      setUnread(_('{what} is no picture that can be read here. Choose a JPEG, PNG or WebP.', { what: file.name })),
    );
  };
  const send = async () => {
    setBusy(true);
    setError(null);
    try {
      const row = await want<Row>(
        records('incidents')
          .insert({
            kind,
            severity: isHarmless(kind) ? 'low' : level,
            ...(isHarmless(kind) ? { potential_severity: level } : {}),
            title: titleOf(kind, text, place),
            description: text.trim() || null,
            zone_id: zone || null,
            occurred_at: when ? momentOf(when, timeZone) : serverNow().toISOString(),
            ...(witness ? { entities: [{ entity_type: 'worker', entity_id: witness, role: 'witness' }] } : {}),
          })
          .select('id,incident_no')
          .single(),
      );
      setMade({ id: row.id, no: String(row['incident_no']) });
      void queryClient.invalidateQueries({ queryKey: ['c', 'incidents'] });
    } catch (e) {
      setError(e);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      class="stack"
      onSubmit={(e) => {
        e.preventDefault();
        void send();
      }}
    >
      <p class="muted">{[kindSays[kind]?.()[0], levelSays[level]?.(), place].filter(Boolean).join(' · ')}</p>
      {photo ? <img class="shot" src={photo} alt={_('Your photo')} /> : null}
      <p class="row">
        <label class="btn big take">
          <Icon name="camera" size={20} />
          {photo ? _('Another photo') : _('Add a photo')}
          <input
            type="file"
            accept="image/jpeg,image/png,image/webp"
            onChange={(e) => void take(e.currentTarget.files?.[0])}
          />
        </label>
        {photo ? <Button onClick={() => setPhoto('')}>{_('Without a photo')}</Button> : null}
      </p>
      {unread ? <Note kind="bad">{unread}</Note> : null}
      <Area label={_('What happened, in your words')} value={text} put={setText} rows={4} />
      {mayName ? (
        <Reference
          f={{ name: 'witness', type: 'uuid', label: 'Who was there?', ref: 'workers' }}
          text={witness}
          put={setWitness}
        />
      ) : null}
      <details class="fold">
        <summary>{_('It was not just now')}</summary>
        <Moment label={_('When')} zone={timeZone} value={when} put={setWhen} />
      </details>
      <Problem error={error} />
      <Button type="submit" kind="primary" size="big" busy={busy}>
        {_('Send the report')}
      </Button>
    </form>
  );
}

// Receipt gives the number, sends the photo after the report, and says where its reporter sees what becomes of it.
function Receipt({ r, made, p }: { r: Report; made: Made; p: Permissions }) {
  const [photo, setPhoto] = r.photo;
  const [error, setError] = useState<unknown>(null);
  const { route } = useLocation();
  const send = async () => {
    setError(null);
    const form = new FormData();
    form.set('file', fileOf(photo, 'photo.jpg'));
    await api(`/v1/incidents/${made.id}/photos`, { method: 'POST', body: form }).then(() => setPhoto(''), setError);
  };
  useEffect(() => {
    if (photo) void send();
  }, []);
  const again = () => {
    r.draft.restart();
    route('/console/report');
  };
  useEffect(() => {
    if (!photo) (r.draft as Draft).drop(); // all of it is there: a reload begins a new one
  }, [photo]);
  return (
    <div class="report">
      <Head title={_('Thank you. It is reported.')} />
      <Card>
        <div class="stack">
          <p>
            {_('The number of your report')}
            <br />
            <strong class="receipt">{made.no}</strong>
          </p>
          {photo && !error ? <p role="status">{_('The photo is on its way.')}</p> : null}
          {error ? (
            <>
              <p>{_('The report is there, its photo is not: {why}', { why: toFault(error).message })}</p>
              <Button onClick={() => void send()}>{_('Send the photo again')}</Button>
              <Button onClick={() => setPhoto('')}>{_('Without a photo')}</Button>
            </>
          ) : null}
          <p class="row">
            <LinkButton kind="primary" href={hrefOf('incidents', made.id)}>
              {_('See what becomes of it')}
            </LinkButton>
            <Button onClick={again}>{_('Report something else')}</Button>
          </p>
        </div>
      </Card>
      <Mine p={p} />
    </div>
  );
}

// Mine are the last reports of this person, and where they stand.
function Mine({ p }: { p: Permissions }) {
  const c = useCatalog()?.get('incidents');
  const rights = p.collections['incidents'];
  const sees = !!c && visible(c, rights).some((f) => f.name === 'reported_by');
  const q = useQuery({
    queryKey: ['c', 'incidents', 'mine', sees],
    queryFn: () => {
      // Whoever does not see who reported sees the own reports alone.
      const all = records('incidents').select('id,incident_no,title,status,reported_at');
      return want((sees ? all.eq('reported_by', p.user_id) : all).order('id', { ascending: false }).limit(5));
    },
    enabled: !!c && !!rights?.read,
    meta: { live: true },
  });
  if (!q.data?.length) return <Problem error={q.error} />;
  return (
    <Card flush title={_('My reports')}>
      <ul class="lines">
        {q.data.map((x) => (
          <li key={x.id}>
            <a class="grow" href={hrefOf('incidents', x.id)}>
              {nameOf(c, x)}
              <span class="small muted" style={{ display: 'block' }}>
                {ago(x['reported_at'])}
              </span>
            </a>
            <Badge state={x['status']} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
