import { useEffect, useState } from 'preact/hooks';
import { api, call, download, records, serverNow, want } from '../lib/client';
import { useCatalog, type Collection, type Permissions } from '../lib/catalog';
import { listOf } from '../lib/fields';
import { useDraft } from '../lib/draft';
import { ago, dateTime, number } from '../lib/format';
import { _ } from '../lib/i18n';
import { queryClient, useQuery } from '../lib/query';
import type { Row } from '../database';
import { Badge, Button, Card, Problem, Skeleton } from './basic';
import { Area } from './form';
import { Icon } from './icon';
import { Kept } from './kept';
import { ListField } from './list-field';
import { fail, toast } from './overlay';
import { useCalledPeople } from './value';
import '../evidence.css';

export interface Given {
  c: Collection;
  r: Row;
  p: Permissions;
}

// columnOf is the reference by which comments and files name the records of a collection, if they do.
export const columnOf = (c: Collection) => c.children?.find((k) => k.collection === 'comments')?.column;

// The newest so many are shown; a list shows them all.
const shown = 100;

function Earlier({ collection, c, r, n }: { collection: string; c: Collection; r: Row; n: number }) {
  if (n <= shown) return null;
  return <a href={`/console/c/${collection}?f=${columnOf(c) as string}.eq.${r.id}`}>{_('Show all')}</a>;
}

export function useBeside(collection: 'comments' | 'files', { c, r }: Given) {
  const column = columnOf(c) as string;
  return useQuery({
    queryKey: ['c', collection, 'of', column, r.id],
    queryFn: async () =>
      (
        await want(
          records(collection)
            .select('*')
            .eq(column, r.id)
            .order('id', { ascending: false })
            .limit(shown + 1),
        )
      ).reverse(),
    meta: { live: true },
  });
}

// renew reads again what is beside a record, and its timeline.
const renew = (collection: string) =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ['c', collection] }),
    queryClient.invalidateQueries({ queryKey: ['c', 'timeline'] }),
  ]);

// The server lets an author change a comment for so many milliseconds.
const editTime = 15 * 60_000;

// Comment is what somebody said, with what its author and officers may do about it.
export function Comment({ x, p }: { x: Row; p: Permissions }) {
  const names = useCalledPeople(p);
  const [text, setText] = useState<string>();
  const author = x['created_by'] as string | null;
  const isMine = author === p.user_id;
  const isStruck = x['status'] === 'struck';
  const unsigned = x['from_reporter'] ? _('Whoever reported it') : _('Somebody');
  const name = author ? (isMine ? _('You') : (names.get(author) ?? _('A colleague'))) : unsigned;
  const change = async (set: Record<string, unknown>) => {
    await want(records('comments').update(set).eq('id', x.id).select('id'));
    setText(undefined);
    await renew('comments');
  };
  const isFresh = serverNow().getTime() - Date.parse(String(x['created_at'])) < editTime;
  const mayStrike = !isStruck && (isMine || ['owner', 'admin', 'safety'].includes(p.role));
  return (
    <li>
      <p class="row tight">
        <b>{name}</b>
        {isStruck ? <Badge state="struck" /> : null}
        <span class="muted small push" title={dateTime(x['created_at'])}>
          {ago(x['created_at'])}
          {x['edited_at'] ? ` · ${_('changed')}` : ''}
        </span>
      </p>
      {text === undefined ? (
        <>
          <p class="said">{isStruck ? <s>{String(x['text'])}</s> : String(x['text'])}</p>
          <p class="row tight">
            {isMine && isFresh && !isStruck ? (
              <button type="button" class="link small" onClick={() => setText(String(x['text']))}>
                {_('Change')}
              </button>
            ) : null}
            {mayStrike ? (
              <button type="button" class="link small" onClick={() => void change({ status: 'struck' }).catch(fail)}>
                {_('Strike')}
              </button>
            ) : null}
          </p>
        </>
      ) : (
        <form
          class="stack tight"
          onSubmit={(e) => {
            e.preventDefault();
            change({ text }).catch(fail);
          }}
        >
          <Area label={_('Comment')} value={text} put={setText} rows={3} required />
          <p class="row tight">
            <Button size="small" onClick={() => setText(undefined)}>
              {_('Cancel')}
            </Button>
            <Button size="small" kind="primary" type="submit">
              {_('Save')}
            </Button>
          </p>
        </form>
      )}
    </li>
  );
}

// commentDraft names what is typed of a comment on a record.
export const commentDraft = (collection: string, id: string) => `comment ${collection} ${id}`;

// Composer takes what a person wants to say, and whom it is said to.
export function Composer({ c, r, p }: Given) {
  const draft = useDraft(commentDraft(c.name, r.id));
  const [text, setText] = draft.field('text', '');
  const [to, setTo] = draft.field('to', '');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const files = useSending(c.name, r.id);
  const people = useCatalog()
    ?.get('comments')
    ?.fields.find((f) => f.name === 'mentions');
  const send = async () => {
    setBusy(true);
    setError(null);
    try {
      const said: Record<string, unknown> = { [columnOf(c) as string]: r.id, text, mentions: listOf(to) };
      await want(records('comments').insert(said).select('id'));
      draft.restart();
      await renew('comments');
    } catch (e) {
      setError(e);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      class="stack tight"
      onSubmit={(e) => {
        e.preventDefault();
        void send();
      }}
    >
      <Kept draft={draft} />
      <Area label={_('Say something about it')} value={text} put={setText} rows={2} required />
      {text && people && p.collections['members']?.read ? (
        <ListField
          f={{ ...people, label: 'Mention', doc: 'They get a mail that leads here, if they may read it.' }}
          text={to}
          put={setTo}
        />
      ) : null}
      <Problem error={error} />
      <Problem error={files.error} />
      <p class="row">
        <FileChooser label={_('Add files')} icon="upload" files={files} accept={accepted} multiple />
        <span class="by-thumb">
          <FileChooser
            label={_('Take a picture')}
            icon="camera"
            files={files}
            accept="image/jpeg,image/png,image/webp"
            capture="environment"
          />
        </span>
        <span class="push" />
        <Button type="submit" kind="primary" busy={busy} disabled={!text.trim()}>
          {_('Comment')}
        </Button>
      </p>
    </form>
  );
}

const sizeOf = (bytes: number) =>
  bytes < 1e6 ? `${number(Math.ceil(bytes / 1e3))} kB` : `${number(bytes / 1e6, 1)} MB`;

// What the server keeps, for the chooser of files: pictures, PDF and office documents.
export const accepted = 'image/jpeg,image/png,image/webp,.pdf,.docx,.xlsx,.pptx,.odt,.ods,.odp';

export interface Sending {
  what: string; // the file that is on its way
  error: unknown;
  send: (chosen: globalThis.File[]) => Promise<void>;
}

// useSending keeps files with a record, one after the other; the first that is refused says why and stops the rest.
export function useSending(collection: string, id: string): Sending {
  const [what, setWhat] = useState('');
  const [error, setError] = useState<unknown>(null);
  const send = async (chosen: globalThis.File[]) => {
    setError(null);
    for (const file of chosen) {
      setWhat(file.name);
      const form = new FormData();
      form.set('file', file);
      try {
        await api(`/v1/${collection.replaceAll('_', '-')}/${id}/files`, { method: 'POST', body: form });
        toast(_('{what} is kept', { what: file.name }));
      } catch (e) {
        setError(e);
        break;
      }
    }
    setWhat('');
    await Promise.all([renew('files'), renew(collection)]);
  };
  return { what, error, send };
}

// FileChooser is a button that asks for files, or for the camera.
export function FileChooser({
  label,
  icon,
  files,
  ...rest
}: {
  label: string;
  icon: string;
  files: Sending;
  accept: string;
  multiple?: boolean;
  capture?: 'environment';
}) {
  return (
    <label class="btn take" aria-busy={!!files.what}>
      <Icon name={icon} size={16} />
      {files.what ? _('{what} is sent', { what: files.what }) : label}
      <input
        {...rest}
        type="file"
        disabled={!!files.what}
        onChange={(e) => {
          void files.send([...(e.currentTarget.files ?? [])]); // emptied below, for the same file to be chosen again
          e.currentTarget.value = '';
        }}
      />
    </label>
  );
}

// Files are what people keep with a record. They are added where something is said about it.
export function Files(given: Given) {
  const { c, r, p } = given;
  const q = useBeside('files', given);
  const all = q.data ?? [];
  const list = all.slice(-shown);
  return (
    <Card
      title={list.length && all.length <= shown ? _('Files ({n})', { n: list.length }) : _('Files')}
      actions={<Earlier collection="files" c={c} r={r} n={all.length} />}
    >
      {q.isPending ? <Skeleton lines={2} /> : <Problem error={q.error} />}
      <FileLines list={list} p={p} />
      {q.data && !list.length ? <p class="muted">{_('No pictures or documents yet.')}</p> : null}
    </Card>
  );
}

// FileLines are files that are kept with a record.
export function FileLines({ list, p }: { list: Row[]; p: Permissions }) {
  if (!list.length) return null;
  return (
    <ul class="files">
      {list.map((x) => (
        <File key={x.id} x={x} p={p} />
      ))}
    </ul>
  );
}

function File({ x, p }: { x: Row; p: Permissions }) {
  const isPicture = x['kind'] === 'picture';
  const path = `/v1/files/${x.id}/content`;
  const remove = () => want(records('files').delete().eq('id', x.id)).then(() => renew('files'), fail);
  return (
    <li>
      {isPicture ? (
        <Thumbnail path={`/v1/files/${x.id}/thumbnail`} name={String(x['name'])} />
      ) : (
        <Icon name="file" size={28} />
      )}
      <span class="grow">
        <button type="button" class="link" onClick={() => void download(path, String(x['name'])).catch(fail)}>
          {String(x['name'])}
        </button>
        <span class="muted small">
          {sizeOf(Number(x['size']))} · <span title={dateTime(x['created_at'])}>{ago(x['created_at'])}</span>
          {x['note'] ? ` · ${String(x['note'])}` : ''}
        </span>
      </span>
      {p.collections['files']?.delete ? (
        <Button
          kind="quiet"
          size="small"
          icon="trash"
          label={_('Delete {what}', { what: String(x['name']) })}
          onClick={() => void remove()}
        />
      ) : null}
    </li>
  );
}

// Thumbnail is a picture; it is asked for with the person's token, which an address does not carry.
export function Thumbnail({ path, name }: { path: string; name: string }) {
  const [address, setAddress] = useState('');
  useEffect(() => {
    let made = '';
    let isGone = false;
    call(path)
      .then((answer) => answer.blob())
      .then(
        (blob) => {
          if (isGone) return;
          made = URL.createObjectURL(blob);
          setAddress(made);
        },
        () => undefined,
      ); // its name is shown beside
    return () => {
      isGone = true;
      if (made) URL.revokeObjectURL(made);
    };
  }, [path]);
  return address ? <img src={address} alt={name} loading="lazy" /> : <Icon name="file" size={28} />;
}
