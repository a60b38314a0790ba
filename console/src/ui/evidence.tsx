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
import { useNames } from './value';
import '../evidence.css';

interface Given {
  c: Collection;
  r: Row;
  p: Permissions;
}

// columnOf is the reference by which comments and files name the records of a collection, if they do.
export const columnOf = (c: Collection) => c.children?.find((k) => k.collection === 'comments')?.column;

// Evidence is what people say about a record and the files that they keep with it.
export function Evidence({ c, r, p }: Given) {
  if (!columnOf(c) || !p.collections['comments']?.read) return null;
  return (
    <div class="split">
      <Comments c={c} r={r} p={p} />
      <Files c={c} r={r} p={p} />
    </div>
  );
}

// The newest so many are shown; a list shows them all.
const shown = 100;

function Earlier({ collection, c, r, n }: { collection: string; c: Collection; r: Row; n: number }) {
  if (n <= shown) return null;
  return <a href={`/console/c/${collection}?f=${columnOf(c) as string}.eq.${r.id}`}>{_('Show all')}</a>;
}

function useBeside(collection: 'comments' | 'files', { c, r }: Given) {
  const column = columnOf(c) as string;
  return useQuery({
    queryKey: ['c', collection, 'of', column, r.id],
    queryFn: async () => (await want(records(collection).select('*').eq(column, r.id).order('id', { ascending: false }).limit(shown + 1))).reverse(),
    meta: { live: true },
  });
}

const renew = (collection: string) => queryClient.invalidateQueries({ queryKey: ['c', collection] });

function Comments(given: Given) {
  const { r, p } = given;
  const q = useBeside('comments', given);
  const all = q.data ?? [];
  const list = all.slice(-shown);
  return (
    <Card title={list.length && all.length <= shown ? _('Comments ({n})', { n: list.length }) : _('Comments')} actions={<Earlier collection="comments" c={given.c} r={r} n={all.length} />}>
      {q.isPending ? <Skeleton lines={2} /> : <Problem error={q.error} />}
      {list.length ? (
        <ul class="talk">
          {list.map((x) => (
            <Comment key={x.id} x={x} p={p} />
          ))}
        </ul>
      ) : null}
      {q.data && !list.length ? <p class="muted">{_('Nobody has said anything about it.')}</p> : null}
      {p.collections['comments']?.create ? <Composer key={r.id} {...given} /> : null}
    </Card>
  );
}

// The server lets an author change a comment for so many milliseconds.
const editTime = 15 * 60_000;

function Comment({ x, p }: { x: Row; p: Permissions }) {
  const names = useNames(p);
  const [text, setText] = useState<string>();
  const author = x['created_by'] as string | null;
  const isMine = author === p.user_id;
  const isStruck = x['status'] === 'struck';
  const name = author ? (isMine ? _('You') : (names.get(author) ?? _('A colleague'))) : _('Somebody');
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

// Composer takes what a person wants to say, and whom it is said to.
function Composer({ c, r, p }: Given) {
  const draft = useDraft(`comment ${c.name} ${r.id}`);
  const [text, setText] = draft.field('text', '');
  const [to, setTo] = draft.field('to', '');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const people = useCatalog()?.get('comments')?.fields.find((f) => f.name === 'mentions');
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
        <ListField f={{ ...people, label: 'Mention', doc: 'They get a mail that leads here, if they may read it.' }} text={to} put={setTo} />
      ) : null}
      <Problem error={error} />
      <p class="row">
        <span class="push" />
        <Button type="submit" kind="primary" busy={busy} disabled={!text.trim()}>
          {_('Comment')}
        </Button>
      </p>
    </form>
  );
}

const sizeOf = (bytes: number) => (bytes < 1e6 ? `${number(Math.ceil(bytes / 1e3))} kB` : `${number(bytes / 1e6, 1)} MB`);

// What the server keeps, for the chooser of files: pictures, PDF and office documents.
const accepted = 'image/jpeg,image/png,image/webp,.pdf,.docx,.xlsx,.pptx,.odt,.ods,.odp';

function Files(given: Given) {
  const { c, r, p } = given;
  const q = useBeside('files', given);
  const [sending, setSending] = useState('');
  const [error, setError] = useState<unknown>(null);
  const all = q.data ?? [];
  const list = all.slice(-shown);
  const send = async (chosen: globalThis.File[]) => {
    setError(null);
    for (const file of chosen) {
      setSending(file.name);
      const form = new FormData();
      form.set('file', file);
      try {
        await api(`/v1/${c.name.replaceAll('_', '-')}/${r.id}/files`, { method: 'POST', body: form });
        toast(_('{what} is kept', { what: file.name }));
      } catch (e) {
        setError(e);
        break;
      }
    }
    setSending('');
    await renew('files');
  };
  return (
    <Card title={list.length && all.length <= shown ? _('Files ({n})', { n: list.length }) : _('Files')} actions={<Earlier collection="files" c={c} r={r} n={all.length} />}>
      {q.isPending ? <Skeleton lines={2} /> : <Problem error={q.error} />}
      {list.length ? (
        <ul class="files">
          {list.map((x) => (
            <File key={x.id} x={x} p={p} />
          ))}
        </ul>
      ) : null}
      {q.data && !list.length ? <p class="muted">{_('No pictures or documents yet.')}</p> : null}
      <Problem error={error} />
      {p.collections['comments']?.create ? (
        <label class="btn take" aria-busy={!!sending}>
          <Icon name="upload" size={16} />
          {sending ? _('{what} is sent', { what: sending }) : _('Add files')}
          <input
            type="file"
            multiple
            accept={accepted}
            disabled={!!sending}
            onChange={(e) => {
              void send([...(e.currentTarget.files ?? [])]); // emptied below, for the same file to be chosen again
              e.currentTarget.value = '';
            }}
          />
        </label>
      ) : null}
    </Card>
  );
}

function File({ x, p }: { x: Row; p: Permissions }) {
  const isPicture = x['kind'] === 'picture';
  const path = `/v1/files/${x.id}/content`;
  const remove = () => want(records('files').delete().eq('id', x.id)).then(() => renew('files'), fail);
  return (
    <li>
      {isPicture ? <Thumbnail id={x.id} name={String(x['name'])} /> : <Icon name="file" size={28} />}
      <span class="grow">
        <button type="button" class="link" onClick={() => void download(path, String(x['name'])).catch(fail)}>
          {String(x['name'])}
        </button>
        <span class="muted small">
          {sizeOf(Number(x['size']))} · <span title={dateTime(x['created_at'])}>{ago(x['created_at'])}</span>
          {x['note'] ? ` · ${String(x['note'])}` : ''}
        </span>
      </span>
      {p.collections['files']?.delete ? <Button kind="quiet" size="small" icon="trash" label={_('Delete {what}', { what: String(x['name']) })} onClick={() => void remove()} /> : null}
    </li>
  );
}

// Thumbnail is the small picture of a file; it is asked for with the person's token, which an address does not carry.
function Thumbnail({ id, name }: { id: string; name: string }) {
  const [address, setAddress] = useState('');
  useEffect(() => {
    let made = '';
    let isGone = false;
    call(`/v1/files/${id}/thumbnail`)
      .then((answer) => answer.blob())
      .then((blob) => {
        if (isGone) return;
        made = URL.createObjectURL(blob);
        setAddress(made);
      }, () => undefined); // its name is shown beside
    return () => {
      isGone = true;
      if (made) URL.revokeObjectURL(made);
    };
  }, [id]);
  return address ? <img src={address} alt={name} loading="lazy" /> : <Icon name="file" size={28} />;
}
