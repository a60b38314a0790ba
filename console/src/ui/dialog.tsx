import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Draft } from '../lib/draft';
import { _ } from '../lib/i18n';
import { Button, Problem } from './basic';
import { Kept } from './kept';
import '../dialog.css';

// Dialog is the browser's own: it keeps the focus, closes with Escape and gives the focus back.
export function Dialog({
  title,
  close,
  children,
  footer,
  kind,
  submit,
}: {
  title: string;
  close: () => void;
  children: ComponentChildren;
  footer?: ComponentChildren;
  kind?: 'wide' | 'side-panel';
  submit?: () => void;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const d = ref.current;
    d?.showModal();
    return () => d?.close();
  }, []);
  const inner = (
    <>
      <header>
        <h2 id={id}>{title}</h2>
        <span class="push" />
        <Button kind="quiet" size="small" icon="close" label={_('Close')} onClick={close} />
      </header>
      <div class="body">{children}</div>
      {footer ? <footer>{footer}</footer> : null}
    </>
  );
  return (
    <dialog
      ref={ref}
      class={kind}
      aria-labelledby={id}
      onCancel={(e) => {
        e.preventDefault();
        close();
      }}
      onClick={(e) => {
        if (e.target === ref.current) close();
      }}
    >
      {submit ? (
        <form
          onSubmit={(e) => {
            e.preventDefault();
            submit();
          }}
        >
          {inner}
        </form>
      ) : (
        <div class="sheet">{inner}</div>
      )}
    </dialog>
  );
}

// Ask is a question before something that cannot be taken back, or that takes words. Words of a draft outlive the
// question until they are sent or cancelled.
export function Ask({
  title,
  text,
  yes,
  danger,
  isIdle,
  kind,
  close,
  act,
  children,
  error: given,
  draft,
}: {
  title: string;
  text?: ComponentChildren;
  yes: string;
  danger?: boolean;
  isIdle?: boolean; // there is nothing to do
  kind?: 'wide';
  close: () => void;
  act: () => Promise<unknown>;
  children?: ComponentChildren;
  error?: unknown;
  draft?: Draft;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const wrong = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (error) wrong.current?.scrollIntoView({ block: 'nearest' });
  }, [error]);
  const go = async () => {
    setBusy(true);
    setError(null);
    try {
      await act();
      draft?.drop();
      close();
    } catch (e) {
      setError(e);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      kind={kind}
      title={title}
      close={close}
      submit={() => void go()}
      footer={
        <>
          <Button
            onClick={() => {
              draft?.drop();
              close();
            }}
          >
            {_('Cancel')}
          </Button>
          <Button type="submit" kind={danger ? 'danger solid' : 'primary'} busy={busy} disabled={isIdle}>
            {yes}
          </Button>
        </>
      }
    >
      {text ? <p>{text}</p> : null}
      {draft ? <Kept draft={draft} /> : null}
      {children}
      <div ref={wrong}>
        <Problem error={error ?? given} />
      </div>
    </Dialog>
  );
}
