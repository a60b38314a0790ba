import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { invoke, records, supabase, want } from '../lib/client';
import { newOf, titleOf, usePermissions, words, type Permissions } from '../lib/catalog';
import { ago, number } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { queryClient, useQuery } from '../lib/query';
import { absence, bounds, looksAt, measured, ruleOf, type Rule } from './rules';
import type { Row } from '../database';
import { Badge, Button, Card, Empty, Head, LinkButton, Note, Problem, Segments, Skeleton } from '../ui/basic';
import { fail, toast } from '../ui/overlay';
import { collectionOf, hrefOf, Named } from '../ui/value';
import '../safety.css';

// The verdicts from the worst to the best, with the tone that repeats each.
const statuses = [
  ['breach', 'bad'],
  ['warning', 'warn'],
  ['insufficient_data', 'none'],
  ['compliant', 'good'],
] as const;

type Counts = Record<string, number>;

// So many verdicts of a rule are shown before the rest is asked for.
const few = 10;
const most = 100;

type Status = (typeof statuses)[number][0];

const worstOf = (n: Counts) => statuses.findIndex(([s]) => n[s]);

const saysOf = (status: string, n: number): string => {
  switch (status) {
    case 'breach':
      return plural(n, '{n} breach', '{n} breaches');
    case 'warning':
      return plural(n, '{n} warning', '{n} warnings');
    case 'compliant':
      return plural(n, '{n} compliant', '{n} are compliant');
    default:
      return _('{n} without a verdict', { n: number(n) });
  }
};

const inWords = (n: Counts) =>
  statuses
    .filter(([s]) => n[s])
    .map(([s]) => saysOf(s, n[s] as number))
    .join(' · ');

// CompliancePage shows what each regulation finds, why, and from which records.
export function CompliancePage() {
  const p = usePermissions();
  const { query, route } = useLocation();
  const rules = useQuery({
    queryKey: ['c', 'regulations', 'compliance'],
    queryFn: () =>
      want(
        supabase
          .from('regulations')
          .select('id,code,title,jurisdiction,citation,url,severity,status,rule,last_evaluated_at')
          .is('archived_at', null)
          .order('code'),
      ),
  });
  const found = useQuery({
    queryKey: ['c', 'compliance_states', 'counts'],
    queryFn: () =>
      want<{ regulation_id: string; status: string; n: number }[]>(
        records('compliance_states').select('regulation_id,status,n:count()'),
      ),
  });
  const [busy, setBusy] = useState(false);
  if (!p) return <Skeleton lines={8} />;
  const scope = query['law'] ?? '';
  const counts = new Map<string, Counts>();
  for (const f of found.data ?? []) counts.set(f.regulation_id, { ...counts.get(f.regulation_id), [f.status]: f.n });
  const all = rules.data ?? [];
  const shown = all.filter((r) => !scope || r.jurisdiction === scope);
  const inForce = shown.filter((r) => r.status === 'active').sort((a, b) => rankOf(counts, a) - rankOf(counts, b));
  const rest = shown.filter((r) => r.status !== 'active');
  const laws = [...new Set(all.map((r) => String(r.jurisdiction)))].sort();
  const checked = all
    .map((r) => String(r.last_evaluated_at ?? ''))
    .sort()
    .at(-1);
  const go = (next: Record<string, string>) =>
    route(
      `/console/compliance?${new URLSearchParams(Object.entries({ law: scope, rule: query['rule'] ?? '', ...next }).filter(([, v]) => v))}`,
      true,
    );
  const check = async () => {
    setBusy(true);
    try {
      const out = await invoke('check-compliance-rules', '', {});
      toast(plural(out.events_created, '{n} verdict changed', '{n} verdicts changed'));
      await queryClient.invalidateQueries({ queryKey: ['c', 'compliance_states'] });
      await queryClient.invalidateQueries({ queryKey: ['c', 'regulations'] });
    } catch (e) {
      fail(e);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Head
        title={_('Compliance')}
        sub={
          checked
            ? _('Checked {when}. Every night the rules are checked anew.', { when: ago(checked) })
            : _('The rules were not checked yet.')
        }
      >
        {p.functions['check-compliance-rules'] ? (
          <Button kind="primary" icon="refresh" busy={busy} onClick={() => void check()}>
            {_('Check now')}
          </Button>
        ) : null}
      </Head>
      <Problem error={rules.error ?? found.error} retry={() => (void rules.refetch(), void found.refetch())} />
      {seesAll(p) ? null : (
        <Note>{_('Counted are the verdicts that your role may read; of single people some or all are left out.')}</Note>
      )}
      {laws.length > 1 ? (
        <div class="row">
          <Segments
            label={_('Law')}
            options={[['', _('Every law')], ...laws.map((l): [string, string] => [l, lawOf(l)])]}
            at={scope}
            go={(v) => go({ law: v })}
          />
        </div>
      ) : null}
      {rules.isPending || found.isPending ? (
        <Skeleton lines={8} />
      ) : inForce.length ? (
        <Card title={plural(inForce.length, '{n} rule in force', '{n} rules in force')} flush>
          <ul class="rules">
            {inForce.map((r) => (
              <Regulation
                key={r.id}
                r={r}
                n={counts.get(r.id) ?? {}}
                p={p}
                open={query['rule'] === r.id}
                toggle={() => go({ rule: query['rule'] === r.id ? '' : r.id })}
              />
            ))}
          </ul>
        </Card>
      ) : (
        <Empty title={_('No rule is in force')} icon="shield">
          {_('Make a regulation active, and it is checked every night.')}
        </Empty>
      )}
      {rest.length ? (
        <Card title={plural(rest.length, '{n} rule that is not checked', '{n} rules that are not checked')} flush>
          <ul class="rules">
            {rest.map((r) => (
              <Regulation
                key={r.id}
                r={r}
                n={{}}
                p={p}
                open={query['rule'] === r.id}
                toggle={() => go({ rule: query['rule'] === r.id ? '' : r.id })}
              />
            ))}
          </ul>
        </Card>
      ) : null}
    </>
  );
}

// seesAll reports whether no verdict is hidden from a role.
const seesAll = (p: Permissions) => ['owner', 'admin', 'safety'].includes(p.role);

const lawOf = (code: string) => (code === 'Global' ? _('Own rules') : code);

// rankOf orders rules: the worst verdict first, then the more of it.
function rankOf(counts: Map<string, Counts>, r: Row): number {
  const n = counts.get(r.id) ?? {};
  const worst = worstOf(n);
  return worst < 0 ? statuses.length : worst - (n[statuses[worst]?.[0] ?? ''] ?? 0) / 1e6;
}

function Regulation({
  r,
  n,
  p,
  open,
  toggle,
}: {
  r: Row;
  n: Counts;
  p: Permissions;
  open: boolean;
  toggle: () => void;
}) {
  const active = r['status'] === 'active';
  const worst = statuses[worstOf(n)]?.[0];
  const id = `rule-${r.id}`;
  return (
    <li>
      <button type="button" aria-expanded={open} aria-controls={id} onClick={toggle}>
        <span>
          <b>{String(r['title'])}</b>
          <span class="small muted">
            {' '}
            {String(r['citation'] ?? r['code'])} · {lawOf(String(r['jurisdiction']))}
          </span>
          <span class="small" style={{ display: 'block' }}>
            {active ? inWords(n) || _('Nothing that it is about is on record') : words(String(r['status']))}
          </span>
        </span>
        {active && worst ? <Parts n={n} /> : <span />}
        {worst ? <Badge state={worst} /> : <span />}
      </button>
      {open ? (
        <div id={id} class="body">
          <Explained r={r} p={p} />
          {active ? <Verdicts r={r} n={n} p={p} /> : null}
        </div>
      ) : null}
    </li>
  );
}

// Parts draws the verdicts of a rule beside one another; the words beside it say the same.
function Parts({ n }: { n: Counts }) {
  return (
    <span class="parts" aria-hidden="true">
      {statuses.map(([s, tone]) => (n[s] ? <i key={s} class={tone} style={{ flexGrow: n[s] }} /> : null))}
    </span>
  );
}

// Explained is the rule in plain words, and what to record so that it can decide.
function Explained({ r, p }: { r: Row; p: Permissions }) {
  const rule = ruleOf(r);
  const of = rule.evidence?.of;
  return (
    <div class="stack tight">
      <p>
        {looksAt(rule)} {bounds(rule)}
      </p>
      <p class="small muted">{absence(rule)}</p>
      <div class="row tight">
        {of && p.collections[of]?.read ? (
          <LinkButton size="small" href={`/console/c/${of}`}>
            {_('What it rests on: {what}', { what: titleOf(of) })}
          </LinkButton>
        ) : null}
        <LinkButton size="small" href={hrefOf('regulations', r.id)}>
          {_('The rule')}
        </LinkButton>
        {r['url'] ? (
          <LinkButton size="small" href={String(r['url'])} rel="noreferrer" target="_blank">
            {_('The text of the law')}
          </LinkButton>
        ) : null}
      </div>
    </div>
  );
}

// Verdicts are those of one rule, the worst first, each with the records that made it so.
function Verdicts({ r, n, p }: { r: Row; n: Counts; p: Permissions }) {
  const [chosen, setChosen] = useState<Status>();
  const [whole, setWhole] = useState(false);
  const status = chosen ?? statuses[worstOf(n)]?.[0];
  const q = useQuery({
    queryKey: ['c', 'compliance_states', r.id, status],
    queryFn: () =>
      want(
        supabase
          .from('compliance_states')
          .select('id,entity_type,entity_id,status,value,threshold,evidence,event_id,last_evaluated_at')
          .eq('regulation_id', r.id)
          .eq('status', status ?? 'breach')
          .order('value', { ascending: ruleOf(r).breach?.op.startsWith('<') })
          .limit(most),
      ),
    enabled: !!status,
  });
  const options = statuses.filter(([s]) => n[s]).map(([s]): [Status, string] => [s, saysOf(s, n[s] as number)]);
  if (!status) return null;
  return (
    <>
      {options.length > 1 ? (
        <div class="row">
          <Segments label={_('Verdict')} options={options} at={status} go={(v) => (setChosen(v), setWhole(false))} />
        </div>
      ) : null}
      <Problem error={q.error} retry={() => void q.refetch()} />
      {q.isPending ? <Skeleton /> : null}
      <ul class="stack">
        {q.data?.slice(0, whole ? most : few).map((s) => (
          <Verdict key={s.id} s={s} rule={ruleOf(r)} p={p} />
        ))}
      </ul>
      {!whole && (q.data?.length ?? 0) > few ? (
        <div class="row">
          <Button size="small" onClick={() => setWhole(true)}>
            {_('Show {n} more', { n: number((q.data?.length ?? 0) - few) })}
          </Button>
        </div>
      ) : null}
      {whole && (n[status] ?? 0) > most ? (
        <LinkButton size="small" href={`/console/c/compliance_states?f=regulation_id.eq.${r.id}&f=status.eq.${status}`}>
          {_('All {n}', { n: number(n[status] ?? 0) })}
        </LinkButton>
      ) : null}
    </>
  );
}

// Verdict says of one entity what was found, and leads to the records behind it.
function Verdict({ s, rule, p }: { s: Row; rule: Rule; p: Permissions }) {
  const evidence = (s['evidence'] as string[] | null) ?? [];
  const of = rule.evidence?.of ?? '';
  const kind = String(s['entity_type']);
  return (
    <li class="row">
      <span class="grow">
        <span class="strong" style={{ display: 'block' }}>
          <Named collection={collectionOf(kind)} ids={[String(s['entity_id'])]} />
        </span>
        <span class="small muted">
          {words(kind)} · {s['value'] == null ? _('Nothing is on record') : measured(rule, Number(s['value']))}
        </span>
      </span>
      {evidence.length && p.collections[of]?.read ? (
        <a
          class="small"
          href={
            evidence.length === 1
              ? hrefOf(of, evidence[0] as string)
              : `/console/c/${of}?f=id.in.(${evidence.join(',')})`
          }
        >
          {plural(evidence.length, 'the record behind it', '{n} records behind it')}
        </a>
      ) : p.collections[of]?.create && s['status'] === 'insufficient_data' ? (
        <a class="small" href={`/console/c/${of}/new`}>
          {newOf(of)}
        </a>
      ) : null}
      {s['event_id'] ? (
        <a class="small" href={hrefOf('compliance_events', String(s['event_id']))}>
          {_('Verdict')}
        </a>
      ) : null}
    </li>
  );
}
