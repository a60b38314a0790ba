import { useState } from 'preact/hooks';
import { words, type Permissions } from '../lib/catalog';
import { number } from '../lib/format';
import { _ } from '../lib/i18n';
import { Due, ownerOf, StandsOn, Steps, Tick, type Step } from './action-card';
import type { Action } from './actions';
import { Badge, Button, Card } from './basic';
import { hrefOf } from './value';

// What the table shows before it is asked for more.
const firstRows = 100;

interface Given {
  list: Action[];
  p: Permissions;
  names: Map<string, string>;
  step: (s: Step) => void;
  choose?: (id: string) => void;
  chosen: Set<string>;
}

// ActionTable is the board as a table, for whoever reads rows.
export function ActionTable({ list, p, names, step, choose, chosen }: Given) {
  const [most, setMost] = useState(firstRows);
  return (
    <Card flush>
      <div class="table stacks actions-table" role="region" tabIndex={0} aria-label={_('Actions')}>
        <table>
          <thead>
            <tr>
              <th>{_('What')}</th>
              <th>{_('Status')}</th>
              <th>{_('Due')}</th>
              <th>{_('In charge')}</th>
              <th>{_('Stands on')}</th>
              <th>{_('Level of control')}</th>
              <th>
                <span class="sr">{_('Next step')}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {list.slice(0, most).map((x) => (
              <tr key={x.id}>
                <td data-label={_('What')}>
                  <div class="row tight nowrap-row">
                    <Tick x={x} choose={choose} isChosen={chosen.has(x.id)} />
                    <div>
                      <a class="strong" id={`action-${x.id}`} href={hrefOf('actions', x.id)}>
                        {x.title}
                      </a>
                      <div class="small muted">{x.action_no}</div>
                    </div>
                  </div>
                </td>
                <td data-label={_('Status')}>
                  <Badge state={x.status} />
                </td>
                <td data-label={_('Due')}>
                  <span>
                    <Due x={x} />
                  </span>
                </td>
                <td data-label={_('In charge')}>{ownerOf(x, names)}</td>
                <td data-label={_('Stands on')}>
                  <StandsOn x={x} p={p} />
                </td>
                <td data-label={_('Level of control')}>{x.control_level ? words(x.control_level) : '–'}</td>
                <td>
                  <Steps x={x} p={p} step={step} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {list.length > most ? (
        <div class="pager">
          <Button size="small" onClick={() => setMost(most + firstRows)}>
            {_('Show {n} more', { n: number(Math.min(firstRows, list.length - most)) })}
          </Button>
        </div>
      ) : null}
    </Card>
  );
}
