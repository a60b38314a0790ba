import { useState } from 'preact/hooks';
import { api, records, want } from '../lib/client';
import { words } from '../lib/catalog';
import { useDraft } from '../lib/draft';
import { ago } from '../lib/format';
import { _ } from '../lib/i18n';
import { useQuery } from '../lib/query';
import { again, useTable } from '../lib/table';
import type { Row } from '../database';
import { Button, Card, Problem, Skeleton } from '../ui/basic';
import { Ask } from '../ui/dialog';
import { Input } from '../ui/form';
import { toast } from '../ui/overlay';
import { Json } from '../ui/value';

interface Setting {
  section: string;
  key: string;
  doc: string;
  wants: string;
  absent: string;
}

// useKnown are the settings that the server obeys, in its words.
function useKnown(): Setting[] {
  return useQuery({ queryKey: ['settings-known'], queryFn: async () => (await api<{ settings: Setting[] }>('/catalog.json')).settings, staleTime: Infinity }).data ?? [];
}

// Settings are what holds in the organisation: set here or not, and what each means.
export function Settings() {
  const q = useTable('settings');
  const known = useKnown();
  const [find, setFind] = useState('');
  const [at, setAt] = useState<[Setting, Row | undefined] | null>(null);
  const rows = q.data ?? [];
  const set = (s: Setting) => rows.find((x) => String(x['key']).toLowerCase() === s.key);
  const fits = known.filter((s) => !find || `${s.key} ${words(s.key)} ${s.doc} ${_(s.doc)}`.toLowerCase().includes(find.toLowerCase()));
  const sections = [...new Set(fits.map((s) => s.section))];
  return (
    <div class="stack">
      <Problem error={q.error} />
      <div class="row">
        <input class="input" style={{ inlineSize: 'min(320px, 100%)' }} type="search" aria-label={_('Find a setting')} placeholder={_('Find a setting')} value={find} onInput={(e) => setFind(e.currentTarget.value)} />
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
                          <Json v={row['value']} />
                        </b>
                      ) : (
                        <span class="muted">{s.absent === 'true' ? _('Yes') : s.absent === 'false' ? _('No') : _(s.absent)}</span>
                      )}
                      {row ? (
                        <Button size="small" kind="quiet" icon="edit" label={_('Change {what}', { what: words(s.key) })} onClick={() => setAt([s, row])} />
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

function Change({ setting, row, close }: { setting: Setting; row?: Row; close: () => void }) {
  const draft = useDraft(`setting ${setting.key} ${String(row?.version ?? '')}`);
  const [text, setText] = draft.field('text', row ? (typeof row['value'] === 'string' ? row['value'] : JSON.stringify(row['value'])) : '');
  const act = async () => {
    let value: unknown = text;
    try {
      value = JSON.parse(text);
    } catch {
      // a text without quotes is a text
    }
    await want(row ? records('settings').update({ value }).eq('id', row.id) : records('settings').insert({ section: setting.section, key: setting.key, value }));
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
  return (
    <Ask title={words(setting.key)} text={_(setting.doc)} yes={_('Save')} close={close} draft={draft} act={act}>
      <Input label={_('Value')} value={text} put={setText} required autofocus help={_('{wants}; not set: {absent}', { wants: _(setting.wants), absent: _(setting.absent) })} />
      {row ? (
        <Button size="small" onClick={() => void forget()}>
          {_('Take the default again')}
        </Button>
      ) : null}
    </Ask>
  );
}
