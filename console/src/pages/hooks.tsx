import { useState } from 'preact/hooks';
import { words } from '../lib/catalog';
import { api, supabase, want } from '../lib/client';
import { useDraft } from '../lib/draft';
import { Fault } from '../lib/fault';
import { ago } from '../lib/format';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { again, useTable } from '../lib/table';
import type { Row } from '../database';
import { Badge, Button, Card, Copy, Empty, Problem, Skeleton } from '../ui/basic';
import { Ask, Dialog } from '../ui/dialog';
import { Check, Input } from '../ui/form';
import { fail, toast } from '../ui/overlay';
import { Json } from '../ui/value';
import '../keys.css';

// Webhooks are where events are sent, with what was sent and answered.
export function Webhooks() {
  const hooks = useTable('webhooks');
  const [at, setAt] = useState<Row | null>(null);
  const [making, setMaking] = useState(false);
  const [secret, setSecret] = useState('');
  const verb = async (id: string, what: string, said: string) => {
    try {
      const r = await api<{ secret?: string } | undefined>(`/v1/webhooks/${id}/${what}`, { method: 'POST' });
      if (r?.secret) setSecret(r.secret);
      toast(what === 'rotate' && !r?.secret ? secretLost() : said);
      again();
    } catch (e) {
      fail(e);
    }
  };
  return (
    <div class="stack">
      <Problem error={hooks.error} />
      <Card
        flush
        title={_('Webhooks')}
        actions={
          <Button kind="primary" icon="plus" onClick={() => setMaking(true)}>
            {_('New webhook')}
          </Button>
        }
      >
        {hooks.data?.length ? (
          <ul class="lines">
            {hooks.data.map((h) => (
              <li key={h.id}>
                <span class="grow">
                  <span class="strong clip" style={{ display: 'block' }}>
                    {String(h['url'])}
                  </span>
                  <span class="small muted">
                    {(h['events'] as string[]).length ? (h['events'] as string[]).join(', ') : _('every event')}
                  </span>
                  {h['disabled_reason'] ? (
                    <span class="small down" style={{ display: 'block' }}>
                      {String(h['disabled_reason'])}
                    </span>
                  ) : null}
                </span>
                <Badge state={h['status']} />
                <Button size="small" onClick={() => void verb(h.id, 'test', _('A test is on its way'))}>
                  {_('Test')}
                </Button>
                <Button size="small" onClick={() => setAt(h)}>
                  {_('Deliveries')}
                </Button>
                <Button
                  size="small"
                  onClick={() => void verb(h.id, 'rotate', _('The old secret signs for a day beside the new one'))}
                >
                  {_('New secret')}
                </Button>
              </li>
            ))}
          </ul>
        ) : hooks.isPending ? (
          <div class="body">
            <Skeleton />
          </div>
        ) : (
          <Empty title={_('Nothing is sent anywhere')} icon="hook">
            {_('A webhook tells another program what happens here, signed, and tries again for days.')}
          </Empty>
        )}
      </Card>
      {making ? <NewHook close={() => setMaking(false)} made={setSecret} /> : null}
      {secret ? (
        <Dialog
          title={_('Keep this secret')}
          close={() => setSecret('')}
          footer={
            <Button kind="primary" onClick={() => setSecret('')}>
              {_('I have kept it')}
            </Button>
          }
        >
          <p>{_('The receiver checks signatures with it. It is shown this once.')}</p>
          <Input
            label={_('Secret')}
            value={secret}
            put={() => undefined}
            readOnly
            onFocus={(e) => e.currentTarget.select()}
          />
          <Copy text={secret} label={_('Copy')} />
        </Dialog>
      ) : null}
      {at ? <Deliveries hook={at} close={() => setAt(null)} /> : null}
    </div>
  );
}

// A repeated answer holds no secret (docs/api.md).
const secretLost = () => _('The secret was in an answer that was lost: make a new one.');

function NewHook({ close, made }: { close: () => void; made: (secret: string) => void }) {
  const draft = useDraft('webhook');
  const [url, setUrl] = draft.field('url', 'https://');
  const [every, setEvery] = draft.field('every', 'yes');
  const [chosen, setChosen] = draft.field('events', '');
  const list = chosen.split(',').filter(Boolean);
  const [description, setDescription] = draft.field('description', '');
  return (
    <Ask
      title={_('New webhook')}
      yes={_('Create')}
      close={close}
      draft={draft}
      act={async () => {
        if (!every && !list.length) throw new Fault(_('Choose at least one event, or every event.'));
        const r = await api<{ secret?: string }>('/v1/webhooks', {
          method: 'POST',
          json: { url, events: every ? [] : list, description: description || undefined },
        });
        if (r.secret) made(r.secret);
        else toast(secretLost());
        again();
      }}
    >
      <Input label={_('Address')} type="url" value={url} put={setUrl} required autofocus />
      <fieldset class="field whole scopes">
        <legend>{_('Events')}</legend>
        <Check
          label={_('Every event, also those of later versions')}
          on={!!every}
          put={(on) => setEvery(on ? 'yes' : '')}
        />
        {every ? null : <EventChoice chosen={list} put={(names) => setChosen(names.join(','))} />}
      </fieldset>
      <Input label={_('What it is for')} value={description} put={setDescription} />
    </Ask>
  );
}

// EventChoice are the types of event that the server has, by what they are about, each with what it means.
function EventChoice({ chosen, put }: { chosen: string[]; put: (names: string[]) => void }) {
  const known = useEventTypes();
  const families = [...new Set(known.map((e) => familyOf(e.name)))];
  return (
    <div class="stack tight">
      {families.map((family) => (
        <fieldset key={family} class="events">
          <legend>{words(family)}</legend>
          {known
            .filter((e) => familyOf(e.name) === family)
            .map((e) => (
              <Check
                key={e.name}
                label={
                  <>
                    <code>{e.name}</code> <span class="small muted">{_(e.doc)}</span>
                  </>
                }
                on={chosen.includes(e.name)}
                put={(on) => put(on ? [...chosen, e.name] : chosen.filter((x) => x !== e.name))}
              />
            ))}
        </fieldset>
      ))}
    </div>
  );
}

const familyOf = (name: string) => name.split('.')[0] ?? name;

interface EventType {
  name: string;
  doc: string;
}

function useEventTypes(): EventType[] {
  return (
    useQuery({
      queryKey: ['event-types'],
      queryFn: async () => (await api<{ events: EventType[] }>('/catalog.json')).events,
      staleTime: Infinity,
    }).data ?? []
  );
}

// Deliveries shows request and answer of each attempt, and sends again.
function Deliveries({ hook, close }: { hook: Row; close: () => void }) {
  const q = useQuery({
    queryKey: ['c', 'webhook_deliveries', hook.id],
    queryFn: () =>
      want(
        supabase
          .from('webhook_deliveries')
          .select('*')
          .eq('webhook_id', hook.id)
          .order('queued_at', { ascending: false })
          .limit(50),
      ),
    meta: { live: true },
    refetchInterval: 3000,
  });
  const [at, setAt] = useState('');
  return (
    <Dialog kind="wide" title={_('Deliveries to {url}', { url: String(hook['url']) })} close={close}>
      <Problem error={q.error} />
      {q.data && !q.data.length ? <Empty title={_('Nothing was sent yet')} icon="hook" /> : null}
      <ul class="lines">
        {(q.data ?? []).map((d) => (
          <li key={d.id} style={{ flexWrap: 'wrap' }}>
            <Badge state={d['status']} />
            <button
              type="button"
              class="link strong"
              onClick={() => setAt(at === d.id ? '' : d.id)}
              aria-expanded={at === d.id}
            >
              {String(d['type'])}
            </button>
            <span class="small muted">
              {d['response_status'] ? `HTTP ${d['response_status']}` : String(d['error'] ?? '')}{' '}
              {d['response_ms'] != null ? `· ${d['response_ms']} ms` : ''} ·{' '}
              {_('attempt {n}', { n: String(d['attempt']) })}
            </span>
            <span class="push small muted">{ago(d['queued_at'])}</span>
            <Button
              size="small"
              icon="refresh"
              onClick={() =>
                api(`/v1/webhooks/${hook.id}/deliveries/${d.id}/replay`, { method: 'POST' }).then(() => {
                  toast(_('It is sent again'));
                  void q.refetch();
                }, fail)
              }
            >
              {_('Send again')}
            </Button>
            {at === d.id ? (
              <div class="stack tight small" style={{ inlineSize: '100%' }}>
                <b>{_('Sent')}</b>
                <Json v={d['payload']} />
                <b>{_('Answered')}</b>
                <Json v={d['response'] ?? d['error']} />
              </div>
            ) : null}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
