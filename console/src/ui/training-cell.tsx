import { date } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { words, type Permissions } from '../lib/catalog';
import { Badge, Button, LinkButton } from './basic';
import { Dialog } from './dialog';
import { isOpen, saysOf, toneOf, whyOf, type Place } from './training';
import { canAssign, canWaive, isAssignable, isOwn } from './training-actions';
import { certificateSheet, SheetButton } from './print';
import { hrefOf } from './value';

export type Step = 'assign' | 'certify' | 'waive';

// TrainingCell is how one person stands with one course: why it is asked for, the records behind it, and what the reader
// may do about it.
export function TrainingCell({
  place,
  p,
  close,
  step,
}: {
  place: Place;
  p: Permissions;
  close: () => void;
  step: (to: Step) => void;
}) {
  const { person, course, cell } = place;
  const machines = (cell?.reasons ?? []).filter((r) => r.equipment_id && p.collections['equipment']?.read);
  return (
    <Dialog
      title={`${person.name}: ${course.title}`}
      close={close}
      footer={<Steps place={place} p={p} step={step} />}
    >
      <div class="stack">
        <p class="row">
          <Badge tone={toneOf(cell)}>{saysOf(cell)}</Badge>
          {cell && !cell.required ? <span class="small muted">{_('not required')}</span> : null}
        </p>
        <div>
          {whyOf(cell).map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
          <p class="small muted">
            {course.validity_months
              ? plural(course.validity_months, 'A certificate holds {n} month.', 'A certificate holds {n} months.')
              : _('A certificate holds for life.')}
          </p>
        </div>
        <dl class="facts">
          {cell?.certificate_id ? (
            <div>
              <dt>{_('Certificate')}</dt>
              <dd>
                <a href={hrefOf('training_assignments', cell.certificate_id)}>
                  {cell.expires_on ? _('until {when}', { when: date(cell.expires_on) }) : _('for life')}
                </a>{' '}
                {cell.state === 'ended' ? null : (
                  <SheetButton path={certificateSheet(cell.certificate_id)} name={`${person.name} ${course.code}`} />
                )}
              </dd>
            </div>
          ) : null}
          {cell?.assignment_id ? (
            <div>
              <dt>{cell.state === 'waived' ? _('Waiver') : _('Open training')}</dt>
              <dd>
                <a href={hrefOf('training_assignments', cell.assignment_id)}>
                  {words(String(cell.assignment_status))}
                  {cell.due_on ? `, ${_('due {when}', { when: date(cell.due_on) })}` : ''}
                </a>
              </dd>
            </div>
          ) : null}
          {cell?.certificate_id || cell?.assignment_id ? null : (
            <div>
              <dt>{_('On record')}</dt>
              <dd>{_('nothing')}</dd>
            </div>
          )}
        </dl>
        <div class="row tight">
          <LinkButton size="small" href={hrefOf('courses', course.id)}>
            {_('The course')}
          </LinkButton>
          {machines.map((r) => (
            <LinkButton key={r.equipment_id} size="small" href={hrefOf('equipment', String(r.equipment_id))}>
              {r.name}
            </LinkButton>
          ))}
          <LinkButton
            size="small"
            href={`/console/c/training_assignments?f=worker_id.eq.${person.worker_id}&f=course_id.eq.${course.id}`}
          >
            {_('All records of it')}
          </LinkButton>
        </div>
      </div>
    </Dialog>
  );
}

// Steps are assigning, recording a certificate and waiving. What is open goes on at its own record; one's own training
// another person completes and waives.
function Steps({ place, p, step }: { place: Place; p: Permissions; step: (to: Step) => void }) {
  const { cell } = place;
  if (!canAssign(p)) return null;
  if (isOwn(place, p)) return <p class="small muted">{_('Another person completes or waives your own training.')}</p>;
  return (
    <>
      {canWaive(p) && (cell?.gap || isOpen(cell)) ? <Button onClick={() => step('waive')}>{_('Waive')}</Button> : null}
      {isOpen(cell) ? (
        <LinkButton kind="primary" href={hrefOf('training_assignments', String(cell?.assignment_id))}>
          {_('Open the training')}
        </LinkButton>
      ) : (
        <Button onClick={() => step('certify')}>{_('Record a certificate')}</Button>
      )}
      {isAssignable(place) ? (
        <Button kind="primary" onClick={() => step('assign')}>
          {_('Assign')}
        </Button>
      ) : null}
    </>
  );
}
