import { useRef, useState } from 'preact/hooks';
import { api, supabase, want } from '../lib/client';
import type { Permissions } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { ago, dateTime } from '../lib/format';
import { _, language, languages } from '../lib/i18n';
import { queryClient, useQuery } from '../lib/query';
import type { Row } from '../database';
import { Badge, Button, Card, Copy, Empty, Note, Problem, Skeleton } from '../ui/basic';
import { Ask, Dialog } from '../ui/dialog';
import { Input, Select } from '../ui/form';
import { toast } from '../ui/overlay';
import '../records.css';

interface Made {
  id: string;
  url: string;
  expires_at: string;
}

type Named = Row & { code?: string; name?: string; title?: string };

interface Screen extends Row {
  name: string;
  expires_at: string;
  opened_at: string | null;
  site: Named | null;
  course: Named | null;
}

const key = ['c', 'wall_screens', 'list'];
const readAgain = () => void queryClient.invalidateQueries({ queryKey: ['c', 'wall_screens'] });

// Screens are the boards of halls, which show figures without an account and name no person.
export function Screens({ p }: { p: Permissions }) {
  const q = useQuery({
    queryKey: key,
    queryFn: () =>
      want<Screen[]>(
        supabase
          .from('wall_screens')
          .select('id,name,expires_at,opened_at,site:site_id(id,code,name),course:first_aid_course_id(id,code,title)')
          .order('name')
          .limit(500),
      ),
    refetchInterval: 60_000,
  });
  const [making, setMaking] = useState(false);
  const [ending, setEnding] = useState<Screen | null>(null);
  return (
    <div class="stack">
      <div class="row">
        <span class="muted">
          {_('A screen in a hall shows orders of the day, open hazards and first aiders on shift. It names no person.')}
        </span>
        <span class="push" />
        {p.read_only ? null : (
          <Button kind="primary" icon="plus" onClick={() => setMaking(true)}>
            {_('New screen')}
          </Button>
        )}
      </div>
      <Problem error={q.error} retry={() => void q.refetch()} />
      <Card flush title={_('Screens')}>
        {q.isPending ? (
          <div class="body">
            <Skeleton lines={3} />
          </div>
        ) : q.data?.length ? (
          <List list={q.data} p={p} end={setEnding} />
        ) : q.data ? (
          <Empty title={_('No screen yet')} icon="map">
            {_('Make one, and open its link in the browser of the screen.')}
          </Empty>
        ) : null}
      </Card>
      {making ? <New close={() => setMaking(false)} /> : null}
      {ending ? (
        <Ask
          danger
          title={_('End {what} now?', { what: ending.name })}
          text={_('The screen shows nothing more from now on. This cannot be taken back.')}
          yes={_('End the link')}
          close={() => setEnding(null)}
          act={async () => {
            await want(supabase.from('wall_screens').delete().eq('id', ending.id));
            toast(_('The link has ended'));
            readAgain();
          }}
        />
      ) : null}
    </div>
  );
}

interface ListProps {
  list: Screen[];
  p: Permissions;
  end: (s: Screen) => void;
}

function List({ list, p, end }: ListProps) {
  const isOver = (s: Screen) => Date.parse(s.expires_at) < Date.now();
  return (
    <div class="table stacks" role="region" tabIndex={0} aria-label={_('Screens')}>
      <table>
        <thead>
          <tr>
            <th scope="col">{_('Name')}</th>
            <th scope="col">{_('Site')}</th>
            <th scope="col">{_('First aid')}</th>
            <th scope="col">{_('Ends')}</th>
            <th scope="col">{_('Last shown')}</th>
            <th scope="col">
              <span class="sr">{_('Actions')}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {list.map((s) => (
            <tr key={s.id}>
              <td class="strong">{s.name}</td>
              <td data-label={_('Site')}>{s.site ? `${s.site.code} ${s.site.name}` : _('All sites')}</td>
              <td data-label={_('First aid')}>{s.course ? `${s.course.code} ${s.course.title}` : _('not counted')}</td>
              <td data-label={_('Ends')} title={dateTime(s.expires_at)}>
                {isOver(s) ? <Badge tone="bad">{_('has ended')}</Badge> : ago(s.expires_at)}
              </td>
              <td data-label={_('Last shown')}>{s.opened_at ? ago(s.opened_at) : _('never')}</td>
              <td class="end">
                {p.read_only ? null : (
                  <Button size="small" kind="danger" onClick={() => end(s)}>
                    {_('End')}
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// New asks what a screen is to show and until when, and then shows its link, once.
function New({ close }: { close: () => void }) {
  const draft = useDraft('new screen');
  const [name, setName] = draft.field('name', '');
  const [site, setSite] = draft.field('site', '');
  const [course, setCourse] = draft.field('course', '');
  const [speaks, setSpeaks] = draft.field('language', language.get());
  const [days, setDays] = draft.field('days', '90');
  const [made, setMade] = useState<Made | null>(null);
  const sent = useRef(false);
  const sites = useQuery({
    queryKey: ['c', 'sites', 'screens'],
    queryFn: () =>
      want<Named[]>(supabase.from('sites').select('id,code,name').is('archived_at', null).order('code').limit(500)),
  });
  const courses = useQuery({
    queryKey: ['c', 'courses', 'screens'],
    queryFn: () => want<Named[]>(supabase.from('courses').select('id,code,title').order('code').limit(500)),
  });
  if (made) return <Handed made={made} close={close} />;
  return (
    <Ask
      title={_('New screen')}
      text={_('Whoever has the link sees the figures. Nobody can do anything with it.')}
      yes={_('Make a link')}
      close={() => sent.current || close()}
      draft={draft}
      act={async () => {
        const json = {
          name,
          language: speaks,
          expires_in_days: Number(days),
          ...(site ? { site_id: site } : {}),
          ...(course ? { first_aid_course_id: course } : {}),
        };
        const answer = await api<Made>('/v1/wall-screens', { method: 'POST', json });
        sent.current = true;
        readAgain();
        setMade(answer);
      }}
    >
      <Input label={_('Name')} value={name} put={setName} maxLength={80} required help={_('It heads the screen.')} />
      <Select
        label={_('Site')}
        value={site}
        put={setSite}
        options={[
          ['', _('All sites')],
          ...(sites.data ?? []).map((s): [string, string] => [s.id, `${s.code} ${s.name}`]),
        ]}
      />
      <Select
        label={_('Course that makes a first aider')}
        value={course}
        put={setCourse}
        options={[
          ['', _('none: first aiders are not counted')],
          ...(courses.data ?? []).map((c): [string, string] => [c.id, `${c.code} ${c.title}`]),
        ]}
      />
      <Select
        label={_('Language')}
        value={speaks}
        put={(v) => setSpeaks(v as typeof speaks)}
        options={Object.entries(languages).map(([id, text]): [string, string] => [id, text])}
      />
      <Input
        label={_('Days until it ends')}
        type="number"
        min="1"
        max="366"
        whole
        value={days}
        put={setDays}
        required
      />
    </Ask>
  );
}

function Handed({ made, close }: { made: Made; close: () => void }) {
  return (
    <Dialog
      title={_('The link is made')}
      close={close}
      footer={
        <Button kind="primary" onClick={close}>
          {_('Close')}
        </Button>
      }
    >
      <Note>
        <span class="break">{made.url}</span> <Copy text={made.url} label={_('Copy')} />
      </Note>
      <p>{_('Open it in the browser of the screen. It refreshes itself and says when it is old.')}</p>
      <p>{_('It is shown this once, and ends {when}.', { when: dateTime(made.expires_at) })}</p>
    </Dialog>
  );
}
