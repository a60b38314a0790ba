import { ask, rpc } from '../lib/client';
import { words } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { _, plural } from '../lib/i18n';
import { useQuery } from '../lib/query';
import type { Row } from '../database';
import { Note, Skeleton } from './basic';
import { Ask } from './dialog';
import { Area, Check, Select } from './form';
import { toast } from './overlay';
import { hrefOf } from './value';

interface Gap {
  entry_id: string;
  entry_no: string;
  unit_id: string;
  unit: string;
  rating: boolean;
  owner: boolean;
  left: boolean;
  site: boolean;
}

interface Published {
  version: Row;
  gaps: Gap[];
}

const reasons = ['yearly', 'important_change', 'new_information'] as const;
type Reason = (typeof reasons)[number];

// A refusal names at most so many gaps; so does the question.
const gapsShown = 10;

// lacksOf says where a gap is and what is missing there.
function lacksOf(g: Gap) {
  if (g.site) return _('the unit is at no site');
  const lacks = [
    g.unit,
    g.rating ? _('not rated') : '',
    g.owner ? _('nobody is responsible') : '',
    g.left ? _('the responsible person has left') : '',
  ];
  return lacks.filter(Boolean).join(' · ');
}

interface Given {
  sites: [id: string, name: string][];
  site: string;
  close: () => void;
  done: () => void;
}

// Publish asks what is published and why, and says before what the register lacks.
export function Publish({ sites, site: at, close, done }: Given) {
  const draft = useDraft('publish_register');
  const [site, setSite] = draft.field('site', at);
  const [reason, setReason] = draft.field<Reason>('reason', 'yearly');
  const [note, setNote] = draft.field('note', '');
  const [accepts, setAccepts] = draft.field('gaps', '');
  const of = site ? { site_id: site } : {};
  const tried = useQuery({
    queryKey: ['c', 'risk_entries', 'publish', site],
    queryFn: () =>
      ask<Published>('publish_register', { ...of, reason: 'yearly', accept_gaps: true, dry_run: true }),
    gcTime: 0,
    retry: false,
  });
  const gaps = tried.data?.gaps ?? [];
  return (
    <Ask
      title={_('Publish the register')}
      text={_('It is frozen as a version with a number and a hash. Nobody changes or deletes it for 40 years.')}
      yes={_('Publish')}
      close={close}
      draft={draft}
      error={tried.error}
      isIdle={!tried.data || (gaps.length > 0 && !accepts)}
      act={async () => {
        const out = await rpc<Published>('publish_register', {
          ...of,
          reason,
          ...(note ? { note } : {}),
          accept_gaps: gaps.length > 0 && !!accepts,
        });
        toast(_('Version {n} is published', { n: String(out.version['number']) }));
        done();
      }}
    >
      <Select
        label={_('Which register')}
        value={site}
        put={setSite}
        options={[['', _('The whole organisation')], ...sites]}
      />
      <Select
        label={_('Reason')}
        value={reason}
        put={(v) => setReason(v as Reason)}
        options={reasons.map((r) => [r, words(r)])}
      />
      <Area label={_('What changed')} value={note} put={setNote} rows={2} whole />
      {tried.isPending ? <Skeleton lines={2} /> : null}
      {gaps.length ? (
        <>
          <Note kind="warn">
            {plural(gaps.length, 'The register has {n} gap', 'The register has {n} gaps')}
          </Note>
          <ul class="register-gaps small">
            {gaps.slice(0, gapsShown).map((g) => (
              <li key={g.entry_id || g.unit_id}>
                {g.site ? (
                  <a href={hrefOf('work_units', g.unit_id)}>{g.unit}</a>
                ) : (
                  <a href={hrefOf('risk_entries', g.entry_id)}>{g.entry_no}</a>
                )}
                <span>{lacksOf(g)}</span>
              </li>
            ))}
            {gaps.length > gapsShown ? <li>{_('and {n} more', { n: gaps.length - gapsShown })}</li> : null}
          </ul>
          <Check
            label={_('Publish all the same: the version lists them')}
            on={!!accepts}
            put={(v) => setAccepts(v ? 'yes' : '')}
          />
        </>
      ) : tried.data ? (
        <Note kind="good">{_('Every risk is rated and has somebody responsible.')}</Note>
      ) : null}
    </Ask>
  );
}
