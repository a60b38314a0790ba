import { _, plural } from '../lib/i18n';
import { isOpen, isUrgent, keyOf, placesOf, rankOf, saysOf, toneOf } from './training';
import type { Cell, Matrix, Place } from './training';
import { Badge, Card } from './basic';
import { hrefOf } from './value';

interface Given {
  matrix: Matrix;
  chosen?: Set<string>;
  open: (place: Place) => void;
  choose?: (place: Place) => void;
}

// TrainingList is the matrix for one hand: whoever lacks most first, and of each person the gaps first.
export function TrainingList({ matrix, ...given }: Given) {
  const people = [...matrix.people].sort((a, b) => b.gaps - a.gaps);
  return (
    <div class="stack">
      {people.map((person) => {
        const known = placesOf(person, matrix.courses)
          .filter((place) => place.cell)
          .sort((a, b) => rankOf(a.cell as Cell) - rankOf(b.cell as Cell));
        const first = known.filter((place) => isUrgent(place.cell));
        const rest = known.filter((place) => !isUrgent(place.cell));
        return (
          <Card
            key={person.worker_id}
            flush
            title={
              <h2 class="stacked">
                <a href={hrefOf('workers', person.worker_id)}>{person.name}</a>
                <span class="small muted block">
                  {[person.employee_no, person.job_title].filter(Boolean).join(' · ')}
                </span>
              </h2>
            }
            actions={
              person.gaps ? <Badge tone="bad">{plural(person.gaps, '{n} gap', '{n} gaps')}</Badge> : undefined
            }
          >
            <Lines places={first} {...given} />
            {known.length ? null : <p class="body muted">{_('Nothing is asked for and nothing is on record.')}</p>}
            {rest.length ? (
              <details class="fold body">
                <summary>{plural(rest.length, '{n} more course', '{n} more courses')}</summary>
                <Lines places={rest} {...given} />
              </details>
            ) : null}
          </Card>
        );
      })}
    </div>
  );
}

function Lines({ places, chosen, open, choose }: Omit<Given, 'matrix'> & { places: Place[] }) {
  return (
    <ul class="courses">
      {places.map((place) => (
        <li key={place.course.id}>
          {choose && place.cell?.gap && !isOpen(place.cell) ? (
            <input
              type="checkbox"
              class="tick"
              aria-label={_('Choose {what}', { what: `${place.person.name}, ${place.course.code}` })}
              checked={!!chosen?.has(keyOf(place))}
              onChange={() => choose(place)}
            />
          ) : null}
          <button type="button" onClick={() => open(place)}>
            <span class="grow">{place.course.title}</span>
            <Badge tone={toneOf(place.cell)}>{saysOf(place.cell)}</Badge>
          </button>
        </li>
      ))}
    </ul>
  );
}
