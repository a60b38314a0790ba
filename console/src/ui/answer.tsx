import { useEffect, useState } from 'preact/hooks';
import { api } from '../lib/client';
import { words } from '../lib/catalog';
import type { Question } from '../lib/checklist';
import { useDraft } from '../lib/draft';
import { toFault } from '../lib/fault';
import { _ } from '../lib/i18n';
import { typedOf } from '../lib/numbers';
import { fileOf, shrinkPicture } from '../lib/picture';
import type { Row } from '../database';
import { Badge, Button, Note } from './basic';
import { Area, Input } from './form';
import { Icon } from './icon';
import { NumberInput } from './number';

export interface AnswerGiven {
  run: string;
  q: Question;
  answer?: Row;
  give: (q: Question, set: { value?: unknown; note?: string | null }) => Promise<void>;
}

const yesNo = () => [
  { value: 'yes', text: _('Yes') },
  { value: 'no', text: _('No') },
  { value: 'na', text: _('Does not apply') },
];

// Asked is one question of an inspection with what was answered: an answer is saved as soon as it is given.
export function Asked({ run, q, answer, give }: AnswerGiven) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const say = async (set: { value?: unknown; note?: string | null }) => {
    setBusy(true);
    setError('');
    await give(q, set).catch((e) => setError(toFault(e).message));
    setBusy(false);
  };
  const value = answer?.['value'];
  return (
    <li class="asked" aria-busy={busy}>
      <fieldset class="stack tight">
        <legend>
          <b>{q.prompt}</b>
          {q.required ? <span title={_('An answer is needed')}> *</span> : null}
          {q.critical ? <Badge tone="warn">{_('critical')}</Badge> : null}
          {answer?.['result'] === 'fail' ? <Badge state="fail" /> : null}
        </legend>
        {q.type === 'yes_no_na' || q.type === 'choice' ? (
          <Choose q={q} value={value} put={(v) => void say({ value: v })} />
        ) : q.type === 'photo' ? (
          <Photos run={run} value={value} put={(v) => say({ value: v })} refuse={setError} />
        ) : (
          <Typed run={run} q={q} value={value} busy={busy} put={(v) => say({ value: v })} />
        )}
        {error ? <Note kind="bad">{error}</Note> : null}
        {answer ? <Remark run={run} q={q} said={String(answer['note'] ?? '')} put={(note) => say({ note })} /> : null}
      </fieldset>
    </li>
  );
}

function Choose({ q, value, put }: { q: Question; value: unknown; put: (v: string) => void }) {
  const list = q.type === 'choice' ? (q.options ?? []).map((v) => ({ value: v, text: words(v) })) : yesNo();
  return (
    <div class="answers">
      {list.map((x) => (
        <button key={x.value} type="button" aria-pressed={x.value === value} onClick={() => put(x.value)}>
          {x.text}
        </button>
      ))}
    </div>
  );
}

// Typed takes a number, words or a name, kept on the device until it is saved.
function Typed({ run, q, value, busy, put }: { run: string; q: Question; value: unknown; busy: boolean; put: (v: unknown) => Promise<void> }) {
  const draft = useDraft(`inspection ${run} ${q.key}`);
  const [text, setText] = draft.field('text', String(value ?? ''));
  const isChanged = text !== '' && text !== String(value ?? '');
  const label = q.type === 'signature' ? _('Your name, as a signature') : _('Answer');
  return (
    <form
      class="stack tight"
      onSubmit={(e) => {
        e.preventDefault();
        if (q.type === 'number' && typedOf(text) !== null) return;
        void put(q.type === 'number' ? Number(text) : text).then(() => draft.drop());
      }}
    >
      {q.type === 'number' ? (
        <NumberInput label={label} value={text} put={setText} unit={q.unit} />
      ) : q.type === 'text' ? (
        <Area label={label} value={text} put={setText} rows={3} />
      ) : (
        <Input label={label} value={text} put={setText} autocomplete="name" />
      )}
      {isChanged ? (
        <Button type="submit" kind="primary" busy={busy}>
          {_('Save the answer')}
        </Button>
      ) : null}
    </form>
  );
}

function Photos({ run, value, put, refuse }: { run: string; value: unknown; put: (ids: string[]) => Promise<void>; refuse: (why: string) => void }) {
  const ids = Array.isArray(value) ? value.map(String) : [];
  const take = async (file: File | undefined) => {
    if (!file) return;
    refuse('');
    try {
      const form = new FormData();
      form.set('file', fileOf(await shrinkPicture(file), 'photo.jpg'));
      const made = await api<{ id: string }>(`/v1/checklist-runs/${run}/photos`, { method: 'POST', body: form });
      await put([...ids, made.id]);
    } catch (e) {
      refuse(toFault(e).message);
    }
  };
  return (
    <p class="row">
      <label class="btn big take">
        <Icon name="camera" size={20} />
        {ids.length ? _('Another photo') : _('Add a photo')}
        <input type="file" accept="image/jpeg,image/png,image/webp" onChange={(e) => void take(e.currentTarget.files?.[0])} />
      </label>
      {ids.length ? <span role="status">{_('Photos: {n}', { n: ids.length })}</span> : null}
    </p>
  );
}

// Remark is what somebody adds to an answer; it is open where something failed.
function Remark({ run, q, said, put }: { run: string; q: Question; said: string; put: (note: string | null) => Promise<void> }) {
  const draft = useDraft(`inspection ${run} ${q.key} note`);
  const [text, setText] = draft.field('note', said);
  const [isOpen, setOpen] = useState(said !== '');
  useEffect(() => {
    if (said) setOpen(true);
  }, [said]);
  if (!isOpen)
    return (
      <Button kind="quiet" size="small" onClick={() => setOpen(true)}>
        {_('Add a note')}
      </Button>
    );
  return (
    <form
      class="stack tight"
      onSubmit={(e) => {
        e.preventDefault();
        void put(text.trim() || null).then(() => draft.drop());
      }}
    >
      <Area label={_('Note')} value={text} put={setText} rows={2} />
      {text !== said ? (
        <Button type="submit" size="small">
          {_('Save the note')}
        </Button>
      ) : null}
    </form>
  );
}
