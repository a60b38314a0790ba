import { api, records, want } from '../lib/client';
import { nameOf, singular, visible, words, type Collection } from '../lib/catalog';
import { ago, date } from '../lib/format';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { refKey } from '../lib/records';
import type { Row } from '../database';
import { Badge, Card, LinkButton, Note, Problem } from '../ui/basic';
import { Causes } from '../ui/causes';
import { Clocks } from '../ui/clocks';
import { Files, Thumbnail } from '../ui/evidence';
import type { IncidentGiven } from '../ui/given';
import { Actions } from '../ui/incident-actions';
import { Progress } from '../ui/incident-progress';
import { Timeline } from '../ui/timeline';
import { collectionOf, hrefOf, Named, useCalledPeople } from '../ui/value';
import { useTimes } from '../ui/where';
import { Facts, Related } from './record';
import '../work.css';
import '../incident.css';

const day = 86_400_000;
// IncidentView is what an officer needs of an incident: how far it is and what comes next, what happened, who was
// involved, why, what is done about it, and what was said.
export function IncidentView(given: IncidentGiven) {
  const { c, r, p } = given;
  return (
    <>
      <Progress {...given} />
      <div class="split">
        <div class="stack">
          <WhatHappened {...given} />
          <Actions {...given} />
          {visible(c, p.collections[c.name]).some((f) => f.name === 'root_causes') ? <Causes {...given} /> : null}
        </div>
        <div class="stack">
          <PeopleInvolved {...given} />
          <Clocks {...given} />
          <Recordable {...given} />
          <Files c={c} r={r} p={p} />
        </div>
      </div>
      <Timeline c={c} r={r} p={p} />
      <HereBefore {...given} />
      <details class="fold">
        <summary>{_('All fields')}</summary>
        <div class="stack">
          <Facts c={c} r={r} p={p} />
          <Related c={c} r={r} p={p} catalog={given.catalog} />
        </div>
      </details>
    </>
  );
}

// labelsOf is what the fields of a collection are called.
const labelsOf = (c: Collection) => (name: string) => _(c.fields.find((f) => f.name === name)?.label ?? name);

// WhatHappened is the report in the order in which people ask: what, when, where, how bad.
function WhatHappened({ c, r, catalog }: IncidentGiven) {
  const zone = r[refKey('zone_id')] as Row | undefined;
  const site = r[refKey('site_id')] as Row | undefined;
  const label = labelsOf(c);
  const told = useTimes();
  const facts: [string, preact.ComponentChildren][] = [
    [
      _('When'),
      <time dateTime={String(r['occurred_at'])}>
        {told(r['occurred_at'])} ({ago(r['occurred_at'])})
      </time>,
    ],
    [
      _('Where'),
      zone ? (
        <a href={hrefOf('zones', zone.id)}>{nameOf(catalog.get('zones'), zone)}</a>
      ) : site ? (
        nameOf(catalog.get('sites'), site)
      ) : (
        _('Not said')
      ),
    ],
    [_('Kind'), words(String(r['kind']))],
    [label('severity'), <Badge state={r['severity']} />],
    [_('Could have been'), r['potential_severity'] ? <Badge state={r['potential_severity']} /> : null],
    [label('category_tags'), (r['category_tags'] as string[] | null)?.map((x) => words(x)).join(', ')],
    [label('likelihood'), r['likelihood'] ? _('{n} of {m}', { n: Number(r['likelihood']), m: 5 }) : null],
    [_('Risk'), r['risk_rating'] ? _('{n} of {m}', { n: Number(r['risk_rating']), m: 20 }) : null],
  ];
  return (
    <Card title={words('what_happened')}>
      <div class="stack">
        <dl class="facts dense">
          {facts.map(([name, said]) =>
            said ? (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{said}</dd>
              </div>
            ) : null,
          )}
        </dl>
        {r['description'] ? (
          <p class="words">{String(r['description'])}</p>
        ) : (
          <p class="muted">{_('Nobody described it in words.')}</p>
        )}
        {r['immediate_action'] ? (
          <Words title={_('What was done at once')} text={String(r['immediate_action'])} />
        ) : null}
        {r['lessons'] ? <Words title={_('What was learned')} text={String(r['lessons'])} /> : null}
        <Photos c={c} r={r} />
      </div>
    </Card>
  );
}

function Words({ title, text }: { title: string; text: string }) {
  return (
    <div>
      <h3>{title}</h3>
      <p class="words">{text}</p>
    </div>
  );
}

interface Photo {
  id: string;
  caption: string | null;
  url: string;
}

// Photos are those that came with the report.
function Photos({ c, r }: Pick<IncidentGiven, 'c' | 'r'>) {
  const q = useQuery({
    queryKey: ['c', 'incident_photos', r.id],
    queryFn: () => api<Photo[]>(`/v1/incidents/${r.id}/photos`),
    meta: { live: true },
  });
  if (!q.data?.length) return <Problem error={q.error} />;
  return (
    <ul class="photos">
      {q.data.map((x, i) => (
        <li key={x.id}>
          <Thumbnail
            path={new URL(x.url, location.href).pathname}
            name={x.caption ?? _('Photo {n} of {what}', { n: i + 1, what: nameOf(c, r) })}
          />
          {x.caption ? <span class="small">{x.caption}</span> : null}
        </li>
      ))}
    </ul>
  );
}

interface Involved {
  entity_type: string;
  entity_id: string;
  role?: string;
}

// PeopleInvolved names who reported, who leads and who was involved, as far as the reader's role sees them.
function PeopleInvolved({ c, r, p }: IncidentGiven) {
  const names = useCalledPeople(p);
  const label = labelsOf(c);
  const sees = (name: string) => visible(c, p.collections[c.name]).some((f) => f.name === name);
  const lead = r['lead_user_id'] ? (names.get(String(r['lead_user_id'])) ?? _('A colleague')) : '';
  const reporter = r['anonymous']
    ? _('Nobody by name: it was reported anonymously')
    : r['reporter_name']
      ? String(r['reporter_name'])
      : r['reported_by']
        ? (names.get(String(r['reported_by'])) ?? _('A colleague'))
        : _('Not said');
  const involved = (Array.isArray(r['entities']) ? (r['entities'] as Involved[]) : []).filter((e) => e.entity_id);
  return (
    <Card title={_('People and things involved')}>
      <dl class="facts one">
        {sees('reported_by') ? (
          <div>
            <dt>{label('reported_by')}</dt>
            <dd>{reporter}</dd>
          </div>
        ) : null}
        {lead ? (
          <div>
            <dt>{_('Leads the investigation')}</dt>
            <dd>
              {lead}
              {r['due_on'] ? ` · ${_('due {when}', { when: date(r['due_on']) })}` : ''}
            </dd>
          </div>
        ) : null}
        {involved.map((e) => (
          <div key={`${e.entity_id} ${e.role ?? ''}`}>
            <dt>{e.role ? words(e.role) : singular(collectionOf(e.entity_type))}</dt>
            <dd>
              <Named collection={collectionOf(e.entity_type)} ids={[e.entity_id]} />
            </dd>
          </div>
        ))}
      </dl>
      {sees('entities') ? (
        involved.length ? null : (
          <p class="muted small">{_('Nobody is named as injured, involved or witness.')}</p>
        )
      ) : (
        <p class="muted small">{_('Who was involved is shown to officers and managers alone.')}</p>
      )}
    </Card>
  );
}

// Recordable is the decision of 29 CFR 1904.7, on sites in the United States and for those who read cases.
function Recordable({ r, p }: IncidentGiven) {
  const told = useTimes();
  const rights = p.collections['osha_cases'];
  const q = useQuery({
    queryKey: ['c', 'osha_cases', 'of', r.id, r['site_id'], r['zone_id']],
    queryFn: async () => {
      const [found] = await want(
        records('osha_cases')
          .select('id,recordable,basis,case_no,year,outcome,osha_due_at,osha_told_at')
          .eq('incident_id', r.id)
          .limit(1),
      );
      return { found, country: found ? '' : await countryOf(r) };
    },
    enabled: !!rights?.read,
    meta: { live: true },
  });
  const found = q.data?.found;
  const isHurt = ['injury', 'illness'].includes(String(r['kind']));
  if (!rights?.read || !q.data || !(found || (isHurt && q.data.country === 'US'))) return null;
  return (
    <Card title={_('Recordable case (OSHA)')}>
      <div class="stack tight">
        {found ? (
          <>
            <p class="row">
              <Badge tone={found['recordable'] === 'undecided' ? 'warn' : 'info'}>
                {found['recordable'] === 'yes'
                  ? words('recordable')
                  : found['recordable'] === 'no'
                    ? _('Not recordable')
                    : _('Not decided yet')}
              </Badge>
              {found['basis'] ? <span>{words(String(found['basis']))}</span> : null}
            </p>
            {found['case_no'] ? (
              <p class="muted">
                {_('Case {n} of {year}', { n: Number(found['case_no']), year: String(found['year']) })}
              </p>
            ) : null}
            {found['osha_due_at'] && !found['osha_told_at'] ? (
              <Note kind="bad">{_('OSHA must be told by {when}.', { when: told(found['osha_due_at']) })}</Note>
            ) : null}
            <p>
              <a href={hrefOf('osha_cases', found.id)}>{_('Open the case')}</a>
            </p>
          </>
        ) : (
          <>
            <p>{_('An injury or illness at work: whether it is recordable is decided within 7 days of the report.')}</p>
            {rights.create ? (
              <LinkButton href={`/console/c/osha_cases/new?incident_id=${r.id}`}>
                {_('Decide whether it is recordable')}
              </LinkButton>
            ) : (
              <p class="muted">{_('The safety officer decides.')}</p>
            )}
          </>
        )}
      </div>
    </Card>
  );
}

// countryOf is the country of the site at which an incident happened, or '' when nobody said where.
async function countryOf(r: Row): Promise<string> {
  if (!r['site_id'] && !r['zone_id']) return '';
  const [at] = r['site_id']
    ? await want(records('sites').select('country').eq('id', String(r['site_id'])).limit(1))
    : await want(records('zones').select('site:site_id(country)').eq('id', String(r['zone_id'])).limit(1));
  const site = (at?.['site'] ?? at) as Row | undefined;
  return String(site?.['country'] ?? '');
}

const most = 5;

// HereBefore are the reports of the same place in the twelve months before.
function HereBefore({ r }: IncidentGiven) {
  const from = new Date(Date.parse(String(r['occurred_at'])) - 365 * day).toISOString();
  const q = useQuery({
    queryKey: ['c', 'incidents', 'before', r.id, r['zone_id']],
    queryFn: () =>
      want(
        records('incidents')
          .select('id,incident_no,title,kind,severity,occurred_at')
          .eq('zone_id', String(r['zone_id']))
          .neq('id', r.id)
          .neq('status', 'void')
          .gte('occurred_at', from)
          .lte('occurred_at', String(r['occurred_at']))
          .order('occurred_at', { ascending: false })
          .limit(most + 1),
      ),
    enabled: !!r['zone_id'],
  });
  if (!q.data?.length) return null;
  return (
    <Card
      flush
      title={_('Here before, in the 12 months until then')}
      footer={
        q.data.length > most ? (
          <a href={`/console/c/incidents?f=zone_id.eq.${String(r['zone_id'])}`}>{_('Show all')}</a>
        ) : null
      }
    >
      <ul class="lines">
        {q.data.slice(0, most).map((x) => (
          <li key={x.id}>
            <a class="grow" href={hrefOf('incidents', x.id)}>
              {String(x['title'])}
              <span class="small muted block">
                {String(x['incident_no'])} · {words(String(x['kind']))} · {date(x['occurred_at'])}
              </span>
            </a>
            <Badge state={x['severity']} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
