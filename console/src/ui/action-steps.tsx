import { useState } from 'preact/hooks';
import { records, want } from '../lib/client';
import type { Collection, Permissions } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { ago } from '../lib/format';
import { _ } from '../lib/i18n';
import { Note, Problem } from './basic';
import { Ask, Dialog } from './dialog';
import { accepted, FileChooser, FileLines, useBeside, useSending } from './evidence';
import { Area, Input } from './form';
import { write } from './record-form';
import { hrefOf } from './value';
import { ownerOf } from './action-card';
import { isOwn, isUrgent, type Action } from './actions';

export interface StepGiven {
  c: Collection;
  x: Action;
  p: Permissions;
  names: Map<string, string>;
  close: () => void;
  done: () => void;
}

// Finish marks an action as done: a photo, a file or a note shows it. What is urgent is not done without.
export function Finish({ c, x, p, close, done }: StepGiven) {
  const draft = useDraft(`finish ${x.id}`);
  const [note, setNote] = draft.field('note', '');
  const files = useSending('actions', x.id);
  const kept = useBeside('files', { c, r: x, p });
  const act = async () => {
    const said = note.trim();
    if (isUrgent(x) && !said && !x.evidence.length && !kept.data?.length)
      throw new Error(_('What is urgent is done once something shows it: add a photo, a file or a note.'));
    const evidence = said ? { evidence: [...x.evidence, { kind: 'note', text: said }] } : {};
    await write(c, x, { status: 'done', ...evidence });
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
        {_('You did this, or it is yours: a second person verifies it. Nobody verifies the own work.')}
      </Note>
    </Dialog>
  );
}

function VerifyOther({ c, x, p, names, close, done }: StepGiven) {
  const draft = useDraft(`verify ${x.id}`);
  const [review, setReview] = draft.field('review', '');
  const update = p.collections['actions']?.update;
  const mayReview = !update?.fields || update.fields.includes('review_on');
  const act = async () => {
    await write(c, x, { status: 'verified', ...(review ? { review_on: review } : {}) });
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
      <Shown c={c} x={x} p={p} />
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
function Shown({ c, x, p }: Pick<StepGiven, 'c' | 'x' | 'p'>) {
  const files = useBeside('files', { c, r: x, p });
  const notes = x.evidence.filter((e) => e.text);
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
      <Problem error={files.error} />
      <FileLines list={files.data ?? []} p={p} />
      {files.data && !files.data.length && !notes.length ? (
        <Note>{_('Neither a file nor a note shows that it is done.')}</Note>
      ) : null}
      <a class="small" href={hrefOf('actions', x.id)}>
        {_('Open the record')}
      </a>
    </div>
  );
}

// SendBack puts what is not done well enough back to work, and says why beside it.
export function SendBack({ c, x, close, done }: StepGiven) {
  const draft = useDraft(`send back ${x.id}`);
  const [why, setWhy] = draft.field('why', '');
  const [isSaid, setSaid] = useState(false);
  const act = async () => {
    const text = why.trim();
    if (!text) throw new Error(_('Say what is still to be done.'));
    // A second try after a refusal says nothing twice.
    if (!isSaid) await want(records('comments').insert({ action_id: x.id, text }).select('id'));
    setSaid(true);
    await write(c, x, { status: 'in_progress' });
    done();
  };
  return (
    <Ask
      title={_('Send back: {what}', { what: x.title })}
      text={_('It is in progress again, and what you say stands beside it.')}
      yes={_('Send back')}
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
    await write(c, x, { status: 'cancelled', cancel_reason: reason });
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
