import { useState } from 'preact/hooks';
import { records, serverNow, want } from '../lib/client';
import { words } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { _ } from '../lib/i18n';
import { queryClient, useQuery } from '../lib/query';
import { momentOf, wallTime } from '../lib/zone';
import type { Row } from '../database';
import { Badge, Button, Card, Problem } from './basic';
import { clockNames } from './clocknames';
import { Ask } from './dialog';
import { accepted, FileChooser, useSending } from './evidence';
import { Input, Moment } from './form';
import type { IncidentGiven } from './given';
import { toast } from './overlay';
import { hrefOf } from './value';
import { useTimes, useWhere } from './where';

const isOverdue = (clock: Row) => clock['state'] === 'running' && Date.parse(String(clock['due_at'])) < Date.now();

// toneOf is how urgent a clock is.
function toneOf(clock: Row): 'bad' | 'warn' | 'ok' | undefined {
  if (clock['state'] === 'running') return isOverdue(clock) ? 'bad' : 'warn';
  return clock['state'] === 'met' ? 'ok' : undefined;
}

const nameOf = (clock: Row) => clockNames[String(clock['code'])]?.() ?? String(clock['code']);

// isOfTheCase says that a clock stops by what the case says of OSHA.
const isOfTheCase = (clock: Row) => String(clock['code']).startsWith('US-');

const filesOf = (clock: Row) => (clock['files'] as unknown[] | undefined)?.length ?? 0;

// Clocks are by when the law wants an incident told; who may says here that a clock is met, or that it does not apply.
export function Clocks({ r, p }: IncidentGiven) {
  const told = useTimes();
  const [at, setAt] = useState<['met' | 'not_required', Row] | null>(null);
  const q = useQuery({
    queryKey: ['c', 'legal_clocks', 'of', r.id],
    queryFn: () => want<Row[]>(records('legal_clocks').select('*,files(id)').eq('incident_id', r.id).order('due_at')),
    enabled: !!p.collections['legal_clocks']?.read,
    meta: { live: true },
  });
  if (!q.data?.length) return null;
  const may = !!p.collections['legal_clocks']?.update;
  return (
    <Card title={words('legal_clocks')}>
      <ul class="lines">
        {q.data.map((clock) => (
          <li key={clock.id} class="row">
            <Badge tone={toneOf(clock)}>{isOverdue(clock) ? words('overdue') : words(String(clock['state']))}</Badge>
            <span class="grow">
              <a href={hrefOf('legal_clocks', clock.id)}>{nameOf(clock)}</a>
              <span class="small muted block">
                {String(clock['code'])} · {_('due {when}', { when: told(clock['due_at']) })}
                {clock['met_at'] ? ` · ${_('met {when}', { when: told(clock['met_at']) })}` : ''}
                {clock['proof_ref'] ? ` · ${String(clock['proof_ref'])}` : ''}
                {filesOf(clock) ? ` · ${_('Files ({n})', { n: filesOf(clock) })}` : ''}
                {clock['reason'] ? ` · ${String(clock['reason'])}` : ''}
              </span>
            </span>
            {may && clock['state'] === 'running' && !isOfTheCase(clock) ? (
              <span class="row tight">
                <Button size="small" onClick={() => setAt(['met', clock])}>
                  {_('It is done')}
                </Button>
                <Button size="small" kind="quiet" onClick={() => setAt(['not_required', clock])}>
                  {_('Does not apply')}
                </Button>
              </span>
            ) : null}
          </li>
        ))}
      </ul>
      {at?.[0] === 'met' ? <Met clock={at[1]} close={() => setAt(null)} /> : null}
      {at?.[0] === 'not_required' ? <NotRequired clock={at[1]} close={() => setAt(null)} /> : null}
    </Card>
  );
}

interface Asked {
  clock: Row;
  close: () => void;
}

async function change(clock: Row, body: Record<string, unknown>): Promise<void> {
  const q = records('legal_clocks').update(body).eq('id', clock.id).setHeader('If-Match', `"${clock.version}"`);
  await want(q.select('id').single());
  toast(_('Saved'));
  void queryClient.invalidateQueries({ queryKey: ['c'] });
}

// Met asks when it was done, and for what proves it. A file is kept with the clock as soon as it is chosen.
function Met({ clock, close }: Asked) {
  const zone = useWhere();
  const draft = useDraft(`clock met ${clock.id}`);
  const [now] = useState(() => wallTime(serverNow().getTime(), zone));
  const [when, setWhen] = draft.field('when', now);
  const [proof, setProof] = draft.field('proof', '');
  // The minute that stands there began before what may have happened in it.
  const metAt = () => (when === now ? serverNow().toISOString() : momentOf(when, zone));
  const files = useSending('legal_clocks', clock.id);
  const act = () => change(clock, { met_at: metAt(), ...(proof.trim() ? { proof_ref: proof.trim() } : {}) });
  return (
    <Ask title={nameOf(clock)} yes={_('Save')} close={close} draft={draft} act={act}>
      <Moment label={_('When was it done?')} zone={zone} value={when} put={setWhen} required />
      <Input label={_('Number of the receipt')} value={proof} put={setProof} maxLength={200} />
      <p>
        <FileChooser label={_('Add the receipt as a file')} icon="upload" files={files} accept={accepted} />
      </p>
      <Problem error={files.error} />
    </Ask>
  );
}

// NotRequired asks why the law does not want it.
function NotRequired({ clock, close }: Asked) {
  const draft = useDraft(`clock not required ${clock.id}`);
  const [reason, setReason] = draft.field('reason', '');
  const act = () => change(clock, { state: 'not_required', reason: reason.trim() });
  return (
    <Ask title={nameOf(clock)} yes={_('Save')} close={close} draft={draft} act={act}>
      <Input label={_('Why does it not apply?')} value={reason} put={setReason} required maxLength={300} />
    </Ask>
  );
}
