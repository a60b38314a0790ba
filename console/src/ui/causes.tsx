import { useState } from 'preact/hooks';
import { words, writable, type Collection } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { _ } from '../lib/i18n';
import type { Row } from '../database';
import { Badge, Button, Card } from './basic';
import { Ask } from './dialog';
import { Input, Select } from './form';
import type { IncidentGiven } from './given';
import { write } from './record-form';

interface Cause {
  method: string;
  layer: string;
  text: string;
  whys?: string[];
}

// causesOf are the causes of an incident.
export const causesOf = (r: Row) => (Array.isArray(r['root_causes']) ? (r['root_causes'] as Cause[]) : []);

// Typed is a chain of whys as it is typed.
export interface Typed {
  layer: string;
  whys: string[];
}

const layers = ['immediate', 'underlying', 'organisational'];
const mostWhys = 5;
export const blank: Typed = { layer: 'underlying', whys: [''] };

// causeOf is the cause that a chain of whys leads to: the last answer, with those before it.
export function causeOf({ layer, whys }: Typed): Cause {
  const said = whys.map((x) => x.trim()).filter(Boolean);
  return { method: '5whys', layer, text: said.at(-1) ?? '', whys: said };
}

// WhyFields asks why, and why again as long as there is an answer.
export function WhyFields({ cause, put }: { cause: Typed; put: (v: Typed) => void }) {
  const answered = cause.whys.findLastIndex((x) => x.trim()) + 1;
  const rows = Math.min(mostWhys, answered + 1);
  const set = (i: number, v: string) =>
    put({ ...cause, whys: Array.from({ length: rows }, (_x, j) => (j === i ? v : (cause.whys[j] ?? ''))) });
  return (
    <>
      {Array.from({ length: rows }, (_x, i) => (
        <Input
          key={i}
          label={i ? _('And why was that? ({n})', { n: i + 1 }) : _('Why did it happen?')}
          value={cause.whys[i] ?? ''}
          put={(v) => set(i, v)}
          required={i === 0}
        />
      ))}
      <Select
        label={_('How deep does the last answer lie?')}
        value={cause.layer}
        put={(layer) => put({ ...cause, layer })}
        options={layers.map((x) => [x, words(x)])}
      />
    </>
  );
}

// Causes are why it happened, each with the chain of whys that leads to it.
export function Causes({ c, r, p, done }: IncidentGiven) {
  const [adding, setAdding] = useState(false);
  const causes = causesOf(r);
  const may =
    !!writable(c, p.collections[c.name], false).some((f) => f.name === 'root_causes') &&
    !['closed', 'void'].includes(String(r['status']));
  return (
    <Card
      title={_('Causes')}
      actions={
        may ? (
          <Button icon="plus" onClick={() => setAdding(true)}>
            {_('Ask why')}
          </Button>
        ) : null
      }
    >
      {causes.length ? (
        <ol class="stack">
          {causes.map((x, i) => (
            <li key={i}>
              <p class="row tight">
                <b class="grow">{x.text}</b> <Badge tone="plain">{words(x.layer)}</Badge>
              </p>
              {x.whys?.length ? (
                <ol class="whys small muted">
                  {x.whys.map((why, j) => (
                    <li key={j}>{why}</li>
                  ))}
                </ol>
              ) : null}
            </li>
          ))}
        </ol>
      ) : (
        <p class="muted">{_('Nobody has said yet why it happened.')}</p>
      )}
      {adding ? <AddCause c={c} r={r} causes={causes} close={() => setAdding(false)} done={done} /> : null}
    </Card>
  );
}

function AddCause({
  c,
  r,
  causes,
  close,
  done,
}: {
  c: Collection;
  r: Row;
  causes: Cause[];
  close: () => void;
  done: () => void;
}) {
  const draft = useDraft(`why ${r.id}`);
  const [cause, setCause] = draft.field('cause', blank);
  return (
    <Ask
      title={`${_('Why did it happen?')} ${String(r['incident_no'] ?? '')}`}
      text={_('Ask why until nothing lies behind the answer. The last answer is the root cause.')}
      yes={_('Keep the cause')}
      close={close}
      draft={draft}
      act={async () => {
        await write(c, r, { root_causes: [...causes, causeOf(cause)] });
        done();
      }}
    >
      <WhyFields cause={cause} put={setCause} />
    </Ask>
  );
}
