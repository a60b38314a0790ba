import { records, want } from '../lib/client';
import { words } from '../lib/catalog';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import type { Row } from '../database';
import { Badge, Card } from './basic';
import type { IncidentGiven } from './given';
import { hrefOf } from './value';
import { useTimes } from './where';

// toneOf is how urgent a clock is.
function toneOf(clock: Row): 'bad' | 'warn' | 'ok' | undefined {
  if (clock['state'] === 'running') return Date.parse(String(clock['due_at'])) < Date.now() ? 'bad' : 'warn';
  return clock['state'] === 'met' ? 'ok' : undefined;
}

// Clocks are by when the law wants an incident told; a clock's own page is where somebody says that it is met.
export function Clocks({ r, p }: IncidentGiven) {
  const told = useTimes();
  const q = useQuery({
    queryKey: ['c', 'legal_clocks', 'of', r.id],
    queryFn: () =>
      want(records('legal_clocks').select('id,code,state,due_at').eq('incident_id', r.id).order('due_at')),
    enabled: !!p.collections['legal_clocks']?.read,
    meta: { live: true },
  });
  if (!q.data?.length) return null;
  return (
    <Card title={words('legal_clocks')}>
      <ul class="lines">
        {q.data.map((clock) => (
          <li key={clock.id} class="row">
            <Badge tone={toneOf(clock)}>{words(String(clock['state']))}</Badge>
            <a href={hrefOf('legal_clocks', clock.id)}>{String(clock['code'])}</a>
            <span class="muted">{_('due {when}', { when: told(clock['due_at']) })}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
