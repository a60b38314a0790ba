import { useEffect, useRef, useState } from 'preact/hooks';
import { plural, _ } from '../lib/i18n';
import { keyOf, placesOf, saysOf, toneOf, type Matrix, type Place } from './training';
import { hrefOf } from './value';

interface Given {
  matrix: Matrix;
  chosen?: Set<string>;
  open: (place: Place) => void;
  choose?: (place: Place) => void;
}

// TrainingGrid is people by courses: arrows walk, Enter opens a cell, the space bar chooses one.
export function TrainingGrid({ matrix, chosen, open, choose }: Given) {
  const [at, setAt] = useState({ row: 0, column: 0 });
  const table = useRef<HTMLTableElement>(null);
  const walked = useRef(false);
  const rows = matrix.people.map((person) => placesOf(person, matrix.courses));
  const row = Math.min(at.row, rows.length - 1);
  const column = Math.min(at.column, matrix.courses.length - 1);
  useEffect(() => {
    if (walked.current) table.current?.querySelector<HTMLElement>('[data-at]')?.focus();
    walked.current = false;
  }, [row, column]);
  const walk = (e: KeyboardEvent) => {
    const steps: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      PageUp: [-10, 0],
      PageDown: [10, 0],
      Home: [0, -column],
      End: [0, matrix.courses.length],
    };
    const step = steps[e.key];
    const place = rows[row]?.[column];
    const inCell = (e.target as HTMLElement).closest('td');
    if (!inCell || !place) return;
    if (e.key === ' ' && choose) {
      e.preventDefault();
      choose(place);
    }
    if (!step) return;
    e.preventDefault();
    walked.current = true;
    const within = (n: number, count: number) => Math.max(0, Math.min(count - 1, n));
    setAt({
      row: within(row + step[0], rows.length),
      column: within(column + step[1], matrix.courses.length),
    });
  };
  // The space bar chooses a cell and does not press it.
  const stay = (e: KeyboardEvent) => {
    if (e.key === ' ' && choose && (e.target as HTMLElement).closest('td')) e.preventDefault();
  };
  return (
    <div class="matrix" role="region" aria-label={_('People by courses')}>
      <table ref={table} role="grid" aria-label={_('Training matrix')} onKeyDown={walk} onKeyUp={stay}>
        <thead>
          <tr>
            <th scope="col">{_('Person')}</th>
            {matrix.courses.map((c) => (
              <th key={c.id} scope="col" title={`${c.code} ${c.title}`}>
                <a href={hrefOf('courses', c.id)}>
                  <b>{c.code}</b>
                  <span class="clip">{c.title}</span>
                </a>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((places, r) => {
            const person = matrix.people[r] as Matrix['people'][number];
            return (
              <tr key={person.worker_id}>
                <th scope="row">
                  <a href={hrefOf('workers', person.worker_id)} class="clip">
                    {person.name}
                  </a>
                  <span class="small muted clip">
                    {[person.employee_no, person.job_title].filter(Boolean).join(' · ')}
                  </span>
                  {person.gaps ? <span class="small down">{plural(person.gaps, '{n} gap', '{n} gaps')}</span> : null}
                </th>
                {places.map((place, c) => {
                  const isAt = r === row && c === column;
                  const isChosen = chosen?.has(keyOf(place));
                  return (
                    <td key={place.course.id} aria-selected={choose ? !!isChosen : undefined}>
                      <button
                        type="button"
                        class={`${toneOf(place.cell)} ${place.cell && !place.cell.required ? 'extra' : ''}`}
                        tabIndex={isAt ? 0 : -1}
                        data-at={isAt || undefined}
                        aria-label={`${person.name}, ${place.course.code}: ${saysOf(place.cell)}`}
                        onFocus={() => setAt({ row: r, column: c })}
                        onClick={(e) => ((e.ctrlKey || e.metaKey) && choose ? choose(place) : open(place))}
                      >
                        {isChosen ? <span aria-hidden="true">☑ </span> : null}
                        {place.cell ? saysOf(place.cell) : '–'}
                      </button>
                    </td>
                  );
                })}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
