import { useEffect, useRef, useState } from 'preact/hooks';
import { api, records, want } from '../lib/client';
import { words, type Field } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { textOf, valueOf } from '../lib/fields';
import { ago, value } from '../lib/format';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { again, useTable } from '../lib/table';
import { homeZone } from '../lib/zone';
import type { Row } from '../database';
import { Button, Card, Problem, Skeleton } from '../ui/basic';
import { Ask } from '../ui/dialog';
import { Select } from '../ui/form';
import { toast } from '../ui/overlay';
import { Control } from '../ui/record-form';
import { Json } from '../ui/value';

interface Setting {
  section: string;
  key: string;
  doc: string;
  wants: string;
  absent: string;
  value: Field;
}

// absentOf is what holds where a setting is not set, in words.
function absentOf({ absent, value: f }: Setting): string {
  const v = said(absent);
  if (Array.isArray(v)) return _('None');
  return v === undefined ? (f.one_of?.includes(absent) ? words(absent) : _(absent)) : value(f, v);
}

// useKnown are the settings that the server obeys, in its words.
function useKnown(): Setting[] {
  return (
    useQuery({
      queryKey: ['settings-known'],
      queryFn: async () => (await api<{ settings: Setting[] }>('/catalog.json')).settings,
      staleTime: Infinity,
    }).data ?? []
  );
}

// Settings are what holds in the organisation: set here or not, and what each means.
export function Settings() {
  const q = useTable('settings');
  const known = useKnown();
  const [find, setFind] = useState('');
  const [at, setAt] = useState<[Setting, Row | undefined] | null>(null);
  const rows = q.data ?? [];
  const set = (s: Setting) => rows.find((x) => String(x['key']).toLowerCase() === s.key);
  const fits = known.filter(
    (s) => !find || `${s.key} ${words(s.key)} ${s.doc} ${_(s.doc)}`.toLowerCase().includes(find.toLowerCase()),
  );
  const sections = [...new Set(fits.map((s) => s.section))];
  return (
    <div class="stack">
      <Problem error={q.error} />
      <div class="row">
        <input
          class="input"
          style={{ inlineSize: 'min(320px, 100%)' }}
          type="search"
          aria-label={_('Find a setting')}
          placeholder={_('Find a setting')}
          value={find}
          onInput={(e) => setFind(e.currentTarget.value)}
        />
        <span class="muted">{_('What is not set here has its default.')}</span>
      </div>
      {q.isPending || !known.length ? <Skeleton lines={6} /> : null}
      <div style={{ columns: '2 420px', columnGap: '16px' }}>
        {sections.map((name) => (
          <div key={name} style={{ breakInside: 'avoid', paddingBlockEnd: '16px' }}>
            <Card flush title={words(name)}>
              <ul class="lines">
                {fits
                  .filter((s) => s.section === name)
                  .map((s) => {
                    const row = set(s);
                    return (
                      <li key={s.key}>
                        <span class="grow">
                          {words(s.key)}
                          <span class="small muted" style={{ display: 'block' }}>
                            {_(s.doc)}
                          </span>
                          {row ? (
                            <span class="small muted" style={{ display: 'block' }}>
                              {_('set {when}', { when: ago(row['updated_at']) })}
                            </span>
                          ) : null}
                        </span>
                        {row ? (
                          <b class="clip" style={{ maxInlineSize: '50%' }}>
                            <Held f={s.value} v={row['value']} />
                          </b>
                        ) : (
                          <span class="muted">{absentOf(s)}</span>
                        )}
                        {row ? (
                          <Button
                            size="small"
                            kind="quiet"
                            icon="edit"
                            label={_('Change {what}', { what: words(s.key) })}
                            onClick={() => setAt([s, row])}
                          />
                        ) : (
                          <Button size="small" onClick={() => setAt([s, undefined])}>
                            {_('Set')}
                          </Button>
                        )}
                      </li>
                    );
                  })}
              </ul>
            </Card>
          </div>
        ))}
      </div>
      {at ? <Change setting={at[0]} row={at[1]} close={() => setAt(null)} /> : null}
    </div>
  );
}

const said = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // words
  }
};

// Held is what a setting is, in words.
function Held({ f, v }: { f: Field; v: unknown }) {
  if (v && typeof v === 'object') return <>{Array.isArray(v) && !v.length ? _('None') : <Json v={v} />}</>;
  return <>{f.one_of ? words(String(v)) : value(f, v)}</>;
}

// SiteCode chooses a site by its code.
function SiteCode({ text, put, help }: { text: string; put: (v: string) => void; help: string }) {
  const read = () => want(records('sites').select('id,code,name').is('archived_at', null).order('code').limit(500));
  const sites = useQuery({ queryKey: ['c', 'sites', 'codes'], queryFn: read }).data ?? [];
  const options = sites.map((x): [string, string] => [String(x['code']), `${x['code']} ${x['name']}`]);
  return <Select label={_('Value')} help={help} value={text} put={put} options={[['', '–'], ...options]} required />;
}

// SettingValue is the control of a setting, by what its value is made of.
function SettingValue({ f, text, put, help }: { f: Field; text: string; put: (v: string) => void; help: string }) {
  if (f.name === 'default_site') return <SiteCode text={text} put={put} help={help} />;
  const whether: [string, string][] = [
    ['true', _('Yes')],
    ['false', _('No')],
  ];
  if (f.type === 'boolean') return <Select label={_('Value')} help={help} value={text} put={put} options={whether} />;
  return <Control f={{ ...f, doc: help }} text={text} put={put} />;
}

function Change({ setting, row, close }: { setting: Setting; row?: Row; close: () => void }) {
  const zone = homeZone();
  const f = { ...setting.value, label: 'Value', required: true };
  const now = row ? row['value'] : said(setting.absent);
  const draft = useDraft(`setting ${setting.key} ${String(row?.version ?? '')}`);
  const [text, setText] = draft.field('text', now === undefined ? (f.one_of?.[0] ?? '') : textOf(f, now, zone));
  const act = async () => {
    const value = f.type === 'json' && !text ? {} : valueOf(f, text, zone);
    await want(
      row
        ? records('settings').update({ value }).eq('id', row.id)
        : records('settings').insert({ section: setting.section, key: setting.key, value }),
    );
    toast(_('Saved'));
    again();
  };
  const forget = async () => {
    if (row) await want(records('settings').delete().eq('id', row.id));
    draft.drop();
    toast(_('The default holds again'));
    again();
    close();
  };
  const form = useRef<HTMLDivElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>('input, select, textarea')?.focus(), []);
  const help = _('{wants}; not set: {absent}', { wants: _(setting.wants), absent: absentOf(setting) });
  return (
    <Ask title={words(setting.key)} text={_(setting.doc)} yes={_('Save')} close={close} draft={draft} act={act}>
      <div ref={form}>
        <SettingValue f={f} text={text} put={setText} help={help} />
      </div>
      {row ? (
        <Button size="small" onClick={() => void forget()}>
          {_('Take the default again')}
        </Button>
      ) : null}
    </Ask>
  );
}
