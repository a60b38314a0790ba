import { useState } from 'preact/hooks';
import { api } from '../lib/client';
import { words, type Collection, type Field } from '../lib/catalog';
import { ago, value } from '../lib/format';
import { _, language } from '../lib/i18n';
import { keepPreviousData, useQuery } from '../lib/query';
import type { Row } from '../database';
import { Card, Problem, Skeleton } from './basic';
import { Comment, Composer, useBeside, type Given } from './evidence';
import { Classification, Named, useCalledPeople } from './value';
import { useTimes, useWhere } from './where';

interface Change {
  field: string;
  before: unknown;
  after: unknown;
  masked?: boolean; // it changed, and the log keeps the values to itself
}

// An Entry is one thing that happened to a record, as GET /v1/{collection}/{id}/timeline tells it.
interface Entry {
  at: string;
  kind: 'made' | 'changed' | 'comment' | 'file' | 'photo';
  id: string;
  by: string | null;
  text?: string;
  struck?: boolean;
  changes?: Change[];
}

// So many entries stand there before the earlier ones are asked for.
const few = 20;

// A longer text is named, not repeated.
const longest = 80;

// Timeline takes what the reader has to add, and tells what happened to a record, the newest first: the box stays where
// it is while others write.
export function Timeline(given: Given) {
  const { c, r, p } = given;
  const [all, setAll] = useState(false);
  const comments = new Map((useBeside('comments', given).data ?? []).map((x) => [x.id, x]));
  const q = useQuery({
    queryKey: ['c', 'timeline', c.name, r.id, r.version],
    queryFn: () => api<Entry[]>(`/v1/${c.name.replaceAll('_', '-')}/${r.id}/timeline`),
    placeholderData: keepPreviousData,
    meta: { live: true },
  });
  const list = q.data
    ? addBeginning(q.data, r)
        .filter((e) => saysSomething(c, e))
        .reverse()
    : [];
  const shown = all ? list : list.slice(0, few);
  return (
    <Card title={_('Timeline')}>
      {p.collections['comments']?.create ? <Composer key={r.id} {...given} /> : null}
      {q.isPending ? <Skeleton lines={4} /> : <Problem error={q.error} retry={() => void q.refetch()} />}
      <ol class="talk timeline">
        {shown.map((e) =>
          e.kind === 'comment' ? (
            <Comment key={e.id} x={comments.get(e.id) ?? asComment(e)} p={p} />
          ) : (
            <Happened key={`${e.kind} ${e.id}`} c={c} e={e} given={given} />
          ),
        )}
      </ol>
      {list.length > shown.length ? (
        <button type="button" class="link small" onClick={() => setAll(true)}>
          {_('Show {n} earlier', { n: list.length - shown.length })}
        </button>
      ) : null}
    </Card>
  );
}

// addBeginning puts the beginning of a record before the rest for those who do not read the audit log.
function addBeginning(list: Entry[], r: Row): Entry[] {
  const at = r['reported_at'] ?? r['created_at'];
  if (!at || list.some((e) => e.kind === 'made')) return list;
  const by = (r['reported_by'] ?? r['created_by'] ?? null) as string | null;
  return [{ at: String(at), kind: 'made', id: r.id, by }, ...list];
}

const asComment = (e: Entry): Row => ({
  id: e.id,
  text: e.text,
  status: e.struck ? 'struck' : 'shown',
  created_at: e.at,
  created_by: e.by,
});

// changesOf are the changes that people make: what the server fills in beside them says nothing more.
function changesOf(c: Collection, e: Entry): (Change & { f: Field })[] {
  return (e.changes ?? []).flatMap((x) => {
    const f = c.fields.find((y) => y.name === x.field);
    return f && !f.read_only ? [{ ...x, f }] : [];
  });
}

const saysSomething = (c: Collection, e: Entry) =>
  e.kind !== 'changed' || !!changesOf(c, e).length || !!e.changes?.some((x) => x.field === c.states?.field);

function Happened({ c, e, given }: { c: Collection; e: Entry; given: Given }) {
  const at = useTimes();
  const people = useCalledPeople(given.p);
  const name = e.by ? (people.get(e.by) ?? _('A colleague')) : '';
  const state = e.changes?.find((x) => x.field === c.states?.field);
  const told = changesOf(c, e).filter((x) => x.field !== state?.field);
  const values = told.filter((x) => !x.masked && isShort(x.f, x.before) && isShort(x.f, x.after));
  return (
    <li>
      <p class="row tight">
        <span class="grow">
          {sentenceOf(
            c,
            e,
            name,
            state,
            told.map((x) => _(x.f.label)),
          )}
        </span>
        <time class="muted small" dateTime={e.at} title={at(e.at)}>
          {ago(e.at)}
        </time>
      </p>
      {e.kind === 'photo' && e.text ? <p class="said">{e.text}</p> : null}
      {values.length ? (
        <ul class="small">
          {values.map((x) => (
            <li key={x.field}>
              <span class="muted">{_(x.f.label)}:</span> <Said f={x.f} v={x.before} /> →{' '}
              <b>
                <Said f={x.f} v={x.after} />
              </b>
            </li>
          ))}
        </ul>
      ) : null}
    </li>
  );
}

const isNothing = (v: unknown) => v == null || v === '' || (Array.isArray(v) && !v.length);

// isShort says whether a value is shown beside the sentence: documents and long texts are read in the record.
function isShort(f: Field, v: unknown): boolean {
  return isNothing(v) || (f.type !== 'json' && String(v).length <= longest);
}

// Said is a value of a change, records and people by their names.
function Said({ f, v }: { f: Field; v: unknown }) {
  const zone = useWhere();
  if (isNothing(v)) return <>{_('empty')}</>;
  const of = f.ref ?? f.names;
  if (of) return <Named collection={of} ids={(Array.isArray(v) ? v : [v]).map(String)} />;
  if (f.codes) return <Classification list={f.codes} code={String(v)} />;
  return <>{Array.isArray(v) && f.one_of ? v.map((x) => words(String(x))).join(', ') : value(f, v, zone)}</>;
}

// sentenceOf says what happened; what nobody did by name was done by a program, or by somebody whom the reader does not see.
function sentenceOf(c: Collection, e: Entry, name: string, state: Change | undefined, fields: string[]): string {
  const who = name || _('Somebody');
  switch (e.kind) {
    case 'made':
      if (c.name === 'incidents') return name ? _('{who} reported it', { who }) : _('It was reported');
      return name ? _('{who} made it', { who }) : _('It was made');
    case 'file':
      return _('{who} added the file {what}', { who, what: e.text ?? '' });
    case 'photo':
      return _('{who} added a photo', { who });
    default: {
      const by = name || _('A program');
      if (state)
        return _('{who} set it from “{from}” to “{to}”', {
          who: by,
          from: words(String(state.before)),
          to: words(String(state.after)),
        });
      return _('{who} changed: {what}', { who: by, what: new Intl.ListFormat(language.get()).format(fields) });
    }
  }
}
