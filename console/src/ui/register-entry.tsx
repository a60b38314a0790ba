import { useState } from 'preact/hooks';
import { newOf, type Collection, type Field } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { toFault, type Fault } from '../lib/fault';
import { changes, startOf, type Draft } from '../lib/fields';
import { _ } from '../lib/i18n';
import { homeZone } from '../lib/zone';
import type { Row } from '../database';
import { Ask } from './dialog';
import { toast } from './overlay';
import { Control, write, wrongs } from './record-form';

// What is asked for, in the order in which somebody looks at a risk: what may happen, how large it is, what is done.
const sections: [string, string[]][] = [
  [
    'What may happen',
    ['unit_id', 'hazard_family', 'situation', 'activity', 'possible_harm', 'differs_by_sex'],
  ],
  ['How large it is today', ['existing_measures', 'severity_before', 'likelihood_before']],
  [
    'What is done about it',
    [
      'measure',
      'control_level',
      'measure_due_on',
      'severity_after',
      'likelihood_after',
      'owner_user_id',
      'review_on',
    ],
  ],
];

interface Given {
  c: Collection;
  unit: string;
  close: () => void;
  done: (r: Row) => void;
}

// NewEntry asks for a new risk. What is required stands first; the rest can be said later, and a version lists what
// lacks.
export function NewEntry({ c, unit, close, done }: Given) {
  const kept = useDraft('risk_entries register');
  const fields = sections.map(([title, names]): [string, Field[]] => [
    title,
    names.flatMap((n) => c.fields.find((f) => f.name === n) ?? []),
  ]);
  const all = fields.flatMap(([, list]) => list);
  const begun: Draft = {
    ...Object.fromEntries(all.map((f) => [f.name, startOf(f)]).filter(([, text]) => text)),
    ...(unit ? { unit_id: unit } : {}),
  };
  const [draft, put] = kept.field('form', begun);
  const [fault, setFault] = useState<Fault | null>(null);
  const at = wrongs(fault, all);
  return (
    <Ask
      kind="wide"
      title={newOf(c.name)}
      yes={_('Create')}
      close={close}
      draft={kept}
      act={async () => {
        try {
          const row = await write(c, null, changes(all, null, draft, homeZone()));
          toast(_('{what} is in the register', { what: String(row['entry_no']) }));
          done(row);
        } catch (e) {
          setFault(toFault(e));
          throw e;
        }
      }}
    >
      {fields.map(([title, list]) => (
        <fieldset key={title} class="register-part">
          <legend>{_(title)}</legend>
          <div class="form">
            {list.map((f) => (
              <Control
                key={f.name}
                f={f}
                text={draft[f.name] ?? ''}
                put={(v) => put((now) => ({ ...now, [f.name]: v }))}
                wrong={at[f.name]}
              />
            ))}
          </div>
        </fieldset>
      ))}
    </Ask>
  );
}
