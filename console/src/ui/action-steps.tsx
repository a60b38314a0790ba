import { useState } from 'preact/hooks';
import { Fault, records, want } from '../lib/client';
import type { Collection, Permissions } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { ago } from '../lib/format';
import { _ } from '../lib/i18n';
import { Note, Problem, Skeleton } from './basic';
import { Ask, Dialog } from './dialog';
import { accepted, commentDraft, FileChooser, FileLines, useBeside, useSending } from './evidence';
import { Area, Input } from './form';
import { write } from './record-form';
import { hrefOf } from './value';
import { ownerOf } from './action-card';
import { isOwn, isUrgent, readAction, readAgain, type Action, type ShownAction } from './actions';

export interface StepGiven {
  c: Collection;
  x: Action;
  p: Permissions;
  names: Map<string, string>;
  evidence?: ShownAction['evidence']; // undefined until it is read
  error?: unknown; // why it was not
  close: () => void;
  done: () => void;
}

// writeStep changes an action. What is refused is read again: the next try is about the action as it is by then.
export async function writeStep(c: Collection, x: Action, body: Record<string, unknown>): Promise<void> {
  try {
    await write(c, x, body);
  } catch (e) {
    const again = readAgain();
    if (e instanceof Fault && e.stale) await again;
    throw e;
  }
}

// Finish marks an action as done: a photo, a file or a note shows it. What is urgent is not done without.
export function Finish({ c, x, p, evidence, close, done }: StepGiven) {
  const draft = useDraft(`finish ${x.id}`);
  const [note, setNote] = draft.field('note', '');
  const files = useSending('actions', x.id);
  const kept = useBeside('files', { c, r: x, p });
  const act = async () => {
    const said = note.trim();
    const before = evidence ?? (await readAction(x.id, p))?.evidence ?? [];
    if (isUrgent(x) && !said && !before.length && !kept.data?.length)
      throw new Error(_('What is urgent is done once something shows it: add a photo, a file or a note.'));
    const shown = said ? { evidence: [...before, { kind: 'note', text: said }] } : {};
    await writeStep(c, x, { status: 'done', ...shown });
    done();
  };
  return (
    <Ask
      title={_('Done: {what}', { what: x.title })}
      text={_('What shows that it is done? A second person looks at it and verifies.')}
      yes={_('Mark as done')}
      close={close}
      draft={draft}
      act={act}
    >
      <p class="row">
        <span class="by-thumb">
          <FileChooser
            label={_('Take a picture')}
            icon="camera"
            files={files}
            accept="image/jpeg,image/png,image/webp"
            capture="environment"
          />
        </span>
        <FileChooser label={_('Add files')} icon="upload" files={files} accept={accepted} multiple />
      </p>
      <Problem error={files.error} />
      <FileLines list={kept.data ?? []} p={p} />
      <Area label={_('What was done')} value={note} put={setNote} rows={3} />
    </Ask>
  );
}

// Verify shows a second person what there is of an action, and has it verified. Who did it is told why not.
export function Verify(given: StepGiven) {
  const { x, p, close } = given;
  if (!isOwn(x, p)) return <VerifyOther {...given} />;
  return (
    <Dialog title={_('Verify: {what}', { what: x.title })} close={close}>
      <Note kind="warn">
        {_('You did this, or it is yours: a second person verifies it. Nobody verifies their own work.')}
      </Note>
    </Dialog>
  );
}

function VerifyOther({ c, x, p, names, evidence, error, close, done }: StepGiven) {
  const draft = useDraft(`verify ${x.id}`);
  const [review, setReview] = draft.field('review', '');
  const update = p.collections['actions']?.update;
  const mayReview = !update?.fields || update.fields.includes('review_on');
  const act = async () => {
    await writeStep(c, x, { status: 'verified', ...(review ? { review_on: review } : {}) });
    done();
  };
  const who = x.completed_by ? (names.get(x.completed_by) ?? _('A colleague')) : ownerOf(x, names);
  return (
    <Ask
      title={_('Verify: {what}', { what: x.title })}
      text={_('{who} marked it as done {when}. Look at what shows it before you verify.', {
        who,
        when: ago(x.completed_at),
      })}
      yes={_('Verify')}
      close={close}
      draft={draft}
      act={act}
    >
      <Shown {...{ c, x, p, evidence, error }} />
      {mayReview ? (
        <Input
          label={_('Look again on')}
          help={_('Whether it has helped is judged then.')}
          type="date"
          value={review}
          put={setReview}
        />
      ) : null}
    </Ask>
  );
}

// Shown is what shows that an action is done.
function Shown({ c, x, p, evidence, error }: Pick<StepGiven, 'c' | 'x' | 'p' | 'evidence' | 'error'>) {
  const files = useBeside('files', { c, r: x, p });
  const notes = (evidence ?? []).filter((e) => e.text);
  return (
    <div class="stack">
      {notes.length ? (
        <ul class="stack tight">
          {notes.map((e) => (
            <li key={e.text} class="said">
              {e.text}
            </li>
          ))}
        </ul>
      ) : null}
      {evidence || error ? null : <Skeleton lines={1} />}
      <Problem error={error ?? files.error} />
      <FileLines list={files.data ?? []} p={p} />
      {evidence && files.data && !files.data.length && !notes.length ? (
        <Note>{_('Neither a file nor a note shows that it is done.')}</Note>
      ) : null}
      <a class="small" href={hrefOf('actions', x.id)}>
        {_('Open the record')}
      </a>
    </div>
  );
}

// SendBack puts what is not done well enough back to work, and then says why beside it. Words that are not beside it yet
// are kept where comments on the record are typed.
export function SendBack({ c, x, close, done }: StepGiven) {
  const draft = useDraft(`send back ${x.id}`);
  const comment = useDraft(commentDraft('actions', x.id));
  const [why, setWhy] = draft.field('why', '');
  const [typed, keepComment] = comment.field('text', '');
  const [isFree] = useState(!typed); // no other comment is begun there
  const [isBack, setBack] = useState(false);
  const act = async () => {
    const text = why.trim();
    if (!text) throw new Error(_('Say what is still to be done.'));
    if (!isBack) {
      await writeStep(c, x, { status: 'in_progress' });
      setBack(true);
      void readAgain();
    }
    try {
      await want(records('comments').insert({ action_id: x.id, text }).select('id'));
    } catch (e) {
      if (isFree) keepComment(text);
      throw e;
    }
    if (isFree) comment.drop();
    done();
  };
  return (
    <Ask
      title={_('Send back: {what}', { what: x.title })}
      text={
        isBack
          ? _('It is in progress again. What you say is not beside it yet.')
          : _('It is in progress again, and what you say stands beside it.')
      }
      yes={isBack ? _('Send the comment') : _('Send back')}
      close={close}
      draft={draft}
      act={act}
    >
      <Area label={_('What is still to be done?')} required value={why} put={setWhy} rows={3} />
    </Ask>
  );
}

// CancelAction drops an action, with the reason.
export function CancelAction({ c, x, close, done }: StepGiven) {
  const draft = useDraft(`cancel ${x.id}`);
  const [why, setWhy] = draft.field('why', '');
  const act = async () => {
    const reason = why.trim();
    if (!reason) throw new Error(_('Say why it is not done.'));
    await writeStep(c, x, { status: 'cancelled', cancel_reason: reason });
    done();
  };
  return (
    <Ask
      danger
      title={_('Cancel: {what}', { what: x.title })}
      yes={_('Cancel the action')}
      close={close}
      draft={draft}
      act={act}
    >
      <Input label={_('Why?')} required value={why} put={setWhy} maxLength={200} />
    </Ask>
  );
}
