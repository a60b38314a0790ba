import { useDraft } from '../lib/draft';
import { _ } from '../lib/i18n';
import { Ask } from './dialog';
import { Input } from './form';
import { toast } from './overlay';

interface Given {
  title: string;
  text: string; // what the button says
  said: string; // what is said when it was done
  reason?: boolean;
  danger?: boolean;
  note?: string;
  done: () => void;
  close: () => void;
  act: (reason: string) => Promise<unknown>;
}

// Plain asks whether a verb shall be done, and for a reason where the verb takes one.
export function Plain({ title, text, said, reason, danger, note, done, close, act }: Given) {
  const draft = useDraft(title);
  const [why, setWhy] = draft.field('why', '');
  return (
    <Ask
      title={title}
      text={note ? _(note) : undefined}
      yes={_(text)}
      danger={danger}
      close={close}
      draft={draft}
      act={async () => {
        await act(why);
        toast(_(said));
        done();
      }}
    >
      {reason ? <Input label={_('Why?')} value={why} put={setWhy} required autofocus /> : null}
    </Ask>
  );
}
