import { records, want } from '../lib/client';
import { useCatalog, writable, type Permissions } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { _, plural } from '../lib/i18n';
import { queryClient } from '../lib/query';
import { today } from '../lib/zone';
import { LinkButton, Note } from './basic';
import { Ask, Dialog } from './dialog';
import { Input } from './form';
import { toast } from './overlay';
import { RecordForm } from './record-form';
import { isOpen, type Place } from './training';

// In so many days what is assigned is due, where nobody says otherwise.
const dueDays = 30;

const trainings = 'training_assignments';

const again = () => queryClient.invalidateQueries({ queryKey: ['c', trainings] });

// typeOf is why a course is assigned by hand: it is held anew, the work asks for it, or somebody wants it.
const typeOf = ({ cell }: Place) => (cell?.certificate_id ? 'renewal' : cell?.required ? 'role_based' : 'manual');

// isAssignable says of a place that the course can be assigned: it is not open yet.
export const isAssignable = (place: Place) => !isOpen(place.cell);

export const canAssign = (p: Permissions) => !!p.collections[trainings]?.create;

// canWaive says whether a role waives a training.
export const canWaive = (p: Permissions) => !!p.collections[trainings]?.moves?.some((m) => m.to === 'waived');

// isOwn says of a place that the training is the reader's own, which another person completes and waives.
export const isOwn = ({ person }: Place, p: Permissions) => person.user_id === p.user_id;

const rowOf = (place: Place) => ({
  worker_id: place.person.worker_id,
  course_id: place.course.id,
  assignment_type: typeOf(place),
});

// Assign asks by when the courses of some places are to be taken, and assigns them.
export function Assign({ places, close, done }: { places: Place[]; close: () => void; done: () => void }) {
  const draft = useDraft(`assign ${places.map(({ person, course }) => `${person.worker_id} ${course.id}`).join()}`);
  const [due, setDue] = draft.field('due', today(-dueDays));
  const [reason, setReason] = draft.field('reason', '');
  const act = async () => {
    const rows = places.map((place) => ({
      ...rowOf(place),
      ...(due ? { due_on: due } : {}),
      ...(reason ? { assignment_reason: reason } : {}),
    }));
    await want(records(trainings).insert(rows).select('id'));
    toast(plural(rows.length, '{n} course was assigned', '{n} courses were assigned'));
    await again();
    done();
  };
  const first = places[0];
  return (
    <Ask
      title={
        places.length === 1 && first
          ? _('Assign {course} to {who}', { course: first.course.code, who: first.person.name })
          : plural(places.length, 'Assign {n} course', 'Assign {n} courses')
      }
      yes={_('Assign')}
      close={close}
      draft={draft}
      act={act}
    >
      <Input label={_('Due on')} type="date" value={due} put={setDue} />
      <Input label={_('Reason')} value={reason} put={setReason} maxLength={500} />
    </Ask>
  );
}

// findOpen reads the open training of a place anew: another person, or the try before, may have made one since.
async function findOpen({ person, course }: Place): Promise<string | undefined> {
  const found = await want<{ id: string }[]>(
    records(trainings)
      .select('id')
      .eq('worker_id', person.worker_id)
      .eq('course_id', course.id)
      .in('status', ['assigned', 'in_progress', 'failed'])
      .order('id', { ascending: false })
      .limit(1),
  );
  return found[0]?.id;
}

async function makeOpen(place: Place): Promise<string> {
  const [made] = await want<[{ id: string }]>(records(trainings).insert(rowOf(place)).select('id'));
  return made.id;
}

// Waive asks why a person need not take a course, and waives the open training, or one that is made for it.
export function Waive({ place, close, done }: { place: Place; close: () => void; done: () => void }) {
  const draft = useDraft(`waive ${place.person.worker_id} ${place.course.id}`);
  const [reason, setReason] = draft.field('reason', '');
  const act = async () => {
    const why = reason.trim();
    if (!why) throw new Error(_('Say why the person need not take the course.'));
    const id = (await findOpen(place)) ?? (await makeOpen(place));
    await want(records(trainings).update({ status: 'waived', close_reason: why }).eq('id', id).select('id'));
    toast(_('{course} is waived for {who}', { course: place.course.code, who: place.person.name }));
    await again();
    done();
  };
  return (
    <Ask
      title={_('Waive {course} for {who}', { course: place.course.code, who: place.person.name })}
      text={_(
        'A waiver says that the person need not take the course. It is no certificate: rules go on counting it as missing.',
      )}
      yes={_('Waive')}
      close={close}
      draft={draft}
      act={act}
    >
      <Input label={_('Why?')} required value={reason} put={setReason} maxLength={200} />
    </Ask>
  );
}

const certified = [
  'completed_at',
  'result',
  'expires_on',
  'trained_on',
  'trainer',
  'evaluated_on',
  'evaluator',
  'certificate_no',
];

// Certify records the certificate of a course that was completed here; another issuer's is entered with its file first.
export function Certify({
  place,
  p,
  close,
  done,
}: {
  place: Place;
  p: Permissions;
  close: () => void;
  done: () => void;
}) {
  const c = useCatalog()?.get(trainings);
  if (!c) return null;
  const all = writable(c, p.collections[trainings], true);
  const { worker_id: worker, course_id: course } = rowOf(place);
  return (
    <Dialog kind="wide" title={`${place.person.name}: ${place.course.title}`} close={close}>
      <div class="stack">
        <Note>
          {_('A certificate of another issuer is entered with its file and completed by a second person.')}{' '}
          <LinkButton size="small" href={`/console/c/${trainings}/new?worker_id=${worker}&course_id=${course}`}>
            {_('Enter it')}
          </LinkButton>
        </Note>
        <RecordForm
          c={c}
          fields={certified.flatMap((n) => all.filter((f) => f.name === n))}
          base={null}
          also={{ ...rowOf(place), status: 'completed' }}
          cancel={close}
          done={() => {
            toast(_('The certificate is recorded'));
            void again();
            done();
          }}
        />
      </div>
    </Dialog>
  );
}
