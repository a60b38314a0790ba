import { useEffect, useRef, useState } from 'preact/hooks';
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

export interface Said {
  value?: unknown;
  note?: string | null;
}

interface AskedGiven {
  run: string;
  q: Question;
  answer?: Row;
  saveAnswer: (q: Question, set: Said) => Promise<void>;
}

// Of is what each kind of answer needs: save tells whether the server has it.
interface Of {
  run: string;
  q: Question;
  value: unknown;
  busy: boolean;
  save: (set: Said) => Promise<boolean>;
}

const yesNo = () => [
  { value: 'yes', text: _('Yes') },
  { value: 'no', text: _('No') },
  { value: 'na', text: _('Does not apply') },
];

// Asked is one question of an inspection with what was answered: an answer is saved as soon as it is given.
export function Asked({ run, q, answer, saveAnswer }: AskedGiven) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  // Answers to one question go out one after the other: the last tap wins.
  const last = useRef<Promise<boolean>>(Promise.resolve(true));
  const save = (set: Said) => {
    setBusy(true);
    const mine = last.current.then(async () => {
      setError('');
      try {
        await saveAnswer(q, set);
        return true;
      } catch (e) {
        setError(toFault(e).message);
        return false;
      } finally {
        if (last.current === mine) setBusy(false);
      }
    });
    last.current = mine;
    return mine;
  };
  const of = { run, q, value: answer?.['value'], busy, save };
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
          <Choose {...of} />
        ) : q.type === 'photo' ? (
          <Photos {...of} refuse={setError} />
        ) : (
          <Typed {...of} />
        )}
        {error ? <Note kind="bad">{error}</Note> : null}
        {answer ? <Remark {...of} said={String(answer['note'] ?? '')} /> : null}
      </fieldset>
    </li>
  );
}

function Choose({ q, value, save }: Of) {
  const list = q.type === 'choice' ? (q.options ?? []).map((v) => ({ value: v, text: words(v) })) : yesNo();
  return (
    <div class="answers">
      {list.map((x) => (
        <button
          key={x.value}
          type="button"
          aria-pressed={x.value === value}
          onClick={() => void save({ value: x.value })}
        >
          {x.text}
        </button>
      ))}
    </div>
  );
}

// Typed takes a number, words or a name, kept on the device until it is saved.
function Typed({ run, q, value, busy, save }: Of) {
  const draft = useDraft(`inspection ${run} ${q.key}`);
  const [text, setText] = draft.field('text', String(value ?? ''));
  const isChanged = text.trim() !== '' && text !== String(value ?? '');
  const label = q.type === 'signature' ? _('Your name, as a signature') : _('Answer');
  return (
    <form
      class="stack tight"
      onSubmit={(e) => {
        e.preventDefault();
        if (busy || !isChanged || (q.type === 'number' && typedOf(text) !== null)) return;
        void save({ value: q.type === 'number' ? Number(text) : text }).then((isSaved) => isSaved && draft.restart());
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

function Photos({ run, value, busy, save, refuse }: Of & { refuse: (why: string) => void }) {
  const ids = Array.isArray(value) ? value.map(String) : [];
  const known = useRef(ids);
  known.current = ids;
  const [isSending, setSending] = useState(false);
  const addPhoto = async (input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (!file) return;
    setSending(true);
    refuse('');
    try {
      const form = new FormData();
      form.set('file', fileOf(await shrinkPicture(file), 'photo.jpg'));
      const made = await api<{ id: string }>(`/v1/checklist-runs/${run}/photos`, { method: 'POST', body: form });
      await save({ value: [...known.current, made.id] });
    } catch (e) {
      refuse(toFault(e).message);
    } finally {
      input.value = ''; // the same file may be tried again
      setSending(false);
    }
  };
  return (
    <p class="row">
      <label class="btn big take">
        <Icon name="camera" size={20} />
        {ids.length ? _('Another photo') : _('Add a photo')}
        <input
          type="file"
          accept="image/jpeg,image/png,image/webp"
          disabled={busy || isSending}
          onChange={(e) => void addPhoto(e.currentTarget)}
        />
      </label>
      {ids.length ? <span role="status">{_('Photos: {n}', { n: ids.length })}</span> : null}
    </p>
  );
}

// Remark is what somebody adds to an answer.
function Remark({ run, q, said, save }: Of & { said: string }) {
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
        if (text === said) return;
        void save({ note: text.trim() || null }).then((isSaved) => isSaved && draft.restart());
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
