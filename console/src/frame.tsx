import type { ComponentChildren } from 'preact';
import { lazy, useLocation } from 'preact-iso';
import { useEffect, useState } from 'preact/hooks';
import { beep } from './lib/beep';
import { toFault } from './lib/fault';
import { ago, dateTime } from './lib/format';
import { queryClient, useQuery } from './lib/query';
import { claimsOf } from './lib/claims';
import { api, away, leave, live, session, supabase } from './lib/client';
import { familyTitle, titleOf, useCatalog, usePermissions, usePermissionsQuery, words } from './lib/catalog';
import { _, language, languages, type Language } from './lib/i18n';
import { useSettings } from './lib/settings';
import { followScanner, unlessScanned } from './lib/scanner';
import { kept, store, useStore } from './lib/store';
import { theme, type Theme } from './lib/theme';
import { Button, LinkButton, Note, Problem } from './ui/basic';
import { Icon, Mark } from './ui/icon';
import { fail, Menu } from './ui/overlay';
import { places } from './ui/places';

const Invited = lazy(() => import('./pages/invited').then((m) => m.Invited));
const Palette = lazy(() => import('./pages/palette').then((m) => m.Palette));
const Shortcuts = lazy(() => import('./pages/palette').then((m) => m.Shortcuts));

export interface Invitation {
  id: string;
  tenant_id: string;
  tenant_name: string;
  role: string;
  expires_at?: string;
}

// useInvitations are those that wait for the signed-in person.
export function useInvitations() {
  return useQuery({
    queryKey: ['my-invitations'],
    queryFn: async () => (await api<{ invitations: Invitation[] }>('/auth/v1/invitations')).invitations,
    staleTime: 60_000,
  });
}

export const paletteOpen = store(false);
// scanned is a code that the palette begins with.
const scanned = store('');
const helpOpen = store(false);
const singleKeys = kept('keys', true);

// Frame is what stands around every page: navigation, search, who is asking.
export function Frame({ children }: { children: ComponentChildren }) {
  const s = useStore(session);
  const who = s ? claimsOf(s) : undefined;
  const tenant = who?.tenant_id ?? '';
  const [open, setOpen] = useState(false);
  const { path } = useLocation();
  useEffect(() => setOpen(false), [path]);
  useEffect(() => {
    let stop: (() => void) | undefined;
    let gone = false;
    void import('./lib/live').then((m) => {
      if (!gone) stop = m.follow(tenant);
    });
    return () => {
      gone = true;
      stop?.();
    };
  }, [tenant]);
  useKeys();
  useScans();
  const searching = useStore(paletteOpen);
  const code = useStore(scanned);
  const helping = useStore(helpOpen);
  const rights = usePermissionsQuery();
  const barred = rights.data ? null : rights.error;
  return (
    <div class="frame">
      <a
        class="skip"
        href="#content"
        onClick={(e) => {
          e.preventDefault();
          document.querySelector<HTMLElement>('main h1')?.focus();
        }}
      >
        {_('Skip to the content')}
      </a>
      <Side open={open} path={path} />
      <button
        type="button"
        class={`veil ${open ? 'open' : ''}`}
        aria-label={_('Close the navigation')}
        onClick={() => setOpen(false)}
      />
      <div class="main">
        <Strip />
        <header class="top">
          <span class="burger">
            <Button
              kind="quiet"
              icon="menu"
              label={_('Navigation')}
              aria-expanded={open}
              onClick={() => setOpen(!open)}
            />
          </span>
          <button type="button" class="find" onClick={() => paletteOpen.set(true)}>
            <Icon name="search" size={16} />
            <span class="grow clip">{_('Search or scan')}</span>
            <kbd>Ctrl K</kbd>
          </button>
          <span class="push" />
          <Live />
          <Button kind="quiet" icon="help" label={_('Keyboard shortcuts')} onClick={() => helpOpen.set(true)} />
        </header>
        <main id="content" class="page">
          {barred && path !== '/console/account' ? (
            <>
              <Problem error={barred} retry={() => void queryClient.resetQueries({ queryKey: ['permissions'] })} />
              {toFault(barred).code === 'insufficient_aal' ? (
                <LinkButton href="/console/account">{_('Set up a second factor')}</LinkButton>
              ) : null}
            </>
          ) : (
            children
          )}
        </main>
      </div>
      {searching ? (
        <Palette
          start={code}
          close={() => {
            paletteOpen.set(false);
            scanned.set('');
          }}
        />
      ) : null}
      {helping ? <Shortcuts close={() => helpOpen.set(false)} keys={singleKeys} /> : null}
    </div>
  );
}

function Live() {
  const on = useStore(live);
  return (
    <span
      class={`live ${on ? 'on' : ''}`}
      title={on ? _('Changes appear by themselves') : _('Connecting; what you see may be old')}
    >
      <i />
      <span>{on ? _('Live') : _('Connecting')}</span>
    </span>
  );
}

// Strip says what is true of the whole page: a demonstration, a server that is away, a tenant that is only read.
function Strip() {
  const settings = useSettings();
  const gone = useStore(away);
  const p = usePermissions();
  const invitations = useInvitations().data;
  return (
    <section aria-label={_('Notices')}>
      {gone ? (
        <div class="demo" role="alert">
          <Icon name="alert" size={16} />
          {_('The server does not answer. It is tried again by itself; nothing you typed is lost.')}
        </div>
      ) : null}
      {p?.read_only ? (
        <Note kind="warn">{_('This organisation is suspended: records can be read, not changed.')}</Note>
      ) : null}
      {invitations?.length ? <Invited list={invitations} /> : null}
      <Grace />
      {settings?.demo ? (
        <div class="demo">
          <Icon name="bolt" size={16} />
          <span>{_('Demonstration with made-up data.')}</span>
        </div>
      ) : null}
    </section>
  );
}

// Grace says how long an administrator still works without a second factor.
function Grace() {
  const s = useStore(session);
  const until = useTenants().find((t) => t.id === (s && claimsOf(s).tenant_id))?.mfa_grace_until;
  if (
    !s ||
    !until ||
    new Date(until) < new Date() ||
    claimsOf(s).aal === 'aal2' ||
    s.user.factors?.some((f) => f.status === 'verified')
  )
    return null;
  return (
    <div class="notice">
      <Icon name="shield" size={16} />
      <span class="grow">
        {_(
          'Administrators here need a second factor from {when} on ({left}). Without one this organisation is closed to you then.',
          { when: dateTime(until), left: ago(until) },
        )}
      </span>
      <LinkButton size="small" href="/console/account">
        {_('Set up a second factor')}
      </LinkButton>
    </div>
  );
}

function Side({ open, path }: { open: boolean; path: string }) {
  const p = usePermissions();
  // A page that needs it asks by itself; the navigation can wait.
  const catalog = useCatalog(!!p);
  const settings = useSettings();
  const families = new Map<string, string[]>();
  for (const c of catalog?.values() ?? []) {
    if (p?.collections[c.name]?.read) families.set(c.family, [...(families.get(c.family) ?? []), c.name]);
  }
  const here = (href: string) =>
    (href === '/console/' ? path === href || path === '/console' : path === href || path.startsWith(`${href}/`)) ||
    undefined;
  return (
    <aside class={`side ${open ? 'open' : ''}`}>
      <a class="brand" href="/console/">
        <Mark />
        {settings?.product ?? 'Holdfast'}
      </a>
      <nav aria-label={_('Main')}>
        {places.map(({ title, list }) => {
          const may = p ? list.filter((x) => x.may(p)) : [];
          return may.length ? (
            <div key={title}>
              {title ? <div class="group">{_(title)}</div> : null}
              {may.map((x) => (
                <a key={x.href} href={x.href} aria-current={here(x.href) ? 'page' : undefined}>
                  <Icon name={x.icon} />
                  {_(x.text)}
                </a>
              ))}
            </div>
          ) : null;
        })}
        {families.size ? (
          <details>
            <summary>
              <Icon name="columns" />
              {_('By family')}
              <span class="chev">
                <Icon name="chevron" size={14} />
              </span>
            </summary>
            {[...families].map(([family, names]) => (
              <div key={family}>
                <div class="group">{familyTitle(family)}</div>
                {names.map((n) => (
                  <a key={n} href={`/console/c/${n}`} aria-current={here(`/console/c/${n}`) ? 'page' : undefined}>
                    {titleOf(n)}
                  </a>
                ))}
              </div>
            ))}
          </details>
        ) : null}
      </nav>
      <Who />
    </aside>
  );
}

export interface Tenant {
  id: string;
  name: string;
  slug: string;
  role: string;
  current: boolean;
  mfa_grace_until?: string;
}

export function useTenants(): Tenant[] {
  return (
    useQuery({
      queryKey: ['tenants'],
      queryFn: () => api<{ tenants: Tenant[] }>('/auth/v1/tenants'),
      staleTime: 60_000,
    }).data?.tenants ?? []
  );
}

export async function switchTenant(id: string): Promise<void> {
  const { error } = await supabase.auth.updateUser({ data: { tenant_id: id } });
  if (error) throw error;
  const { error: again } = await supabase.auth.refreshSession();
  if (again) throw again;
}

function Who() {
  const s = useStore(session);
  const tenants = useTenants();
  const lang = useStore(language);
  const look = useStore(theme);
  const { route } = useLocation();
  if (!s) return null;
  const who = claimsOf(s);
  const name = String(s.user.user_metadata['name'] ?? s.user.email ?? s.user.phone ?? '');
  const here = tenants.find((t) => t.id === who.tenant_id);
  const initials = name
    .split(/[ .@]/)
    .slice(0, 2)
    .map((w) => w.charAt(0).toUpperCase())
    .join('');
  return (
    <div class="foot">
      <Menu
        label={_('Your account')}
        text={
          <>
            <span class="avatar" aria-hidden="true">
              {initials}
            </span>
            <span class="who">
              <b class="clip">{name}</b>
              <span class="clip">
                {words(who.tenant_role ?? '')}
                {here ? ` · ${here.name}` : ''}
              </span>
            </span>
          </>
        }
      >
        {(close) => (
          <>
            <div class="cap">{s.user.email}</div>
            {tenants.length > 1 ? (
              <>
                <div class="cap">{_('Organisation')}</div>
                {tenants.map((t) => (
                  <button
                    key={t.id}
                    type="button"
                    onClick={() => {
                      close();
                      route('/console/');
                      switchTenant(t.id).catch(fail);
                    }}
                  >
                    <Icon name={t.id === who.tenant_id ? 'check' : 'box'} size={16} />
                    {t.name}
                  </button>
                ))}
                <hr />
              </>
            ) : null}
            <div class="item">
              <Icon name="sun" size={16} />
              <select
                class="input"
                aria-label={_('Theme')}
                value={look}
                onChange={(e) => theme.set(e.currentTarget.value as Theme)}
              >
                <option value="system">{_('As the system')}</option>
                <option value="light">{_('Light')}</option>
                <option value="dark">{_('Dark')}</option>
              </select>
            </div>
            <div class="item">
              <Icon name="user" size={16} />
              <select
                class="input"
                aria-label={_('Language')}
                value={lang}
                onChange={(e) => language.set(e.currentTarget.value as Language)}
              >
                {Object.entries(languages).map(([v, text]) => (
                  <option key={v} value={v}>
                    {text}
                  </option>
                ))}
              </select>
            </div>
            <hr />
            <a href="/console/account" onClick={close}>
              <Icon name="key" size={16} />
              {_('Your account')}
            </a>
            <button type="button" onClick={() => void leave('local')}>
              <Icon name="out" size={16} />
              {_('Sign out')}
            </button>
            <button type="button" onClick={() => void leave('global')}>
              <Icon name="out" size={16} />
              {_('Sign out everywhere')}
            </button>
          </>
        )}
      </Menu>
    </div>
  );
}

// useKeys reads the shortcuts that work on every page.
function useKeys(): void {
  const { route } = useLocation();
  useEffect(() => {
    let went = 0;
    const press = (e: KeyboardEvent) => {
      if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'k') {
        e.preventDefault();
        paletteOpen.set(!paletteOpen.get());
        return;
      }
      const at = e.target as HTMLElement;
      if (
        e.ctrlKey ||
        e.metaKey ||
        e.altKey ||
        !singleKeys.get() ||
        at.closest('input, textarea, select, dialog, [contenteditable]')
      )
        return;
      if (e.key === '?') unlessScanned(() => helpOpen.set(true));
      else if (e.key === '/') {
        e.preventDefault();
        unlessScanned(() => paletteOpen.set(true));
      } else if (e.key === 'g') went = Date.now();
      else if (Date.now() - went < 1200) {
        const to = places.flatMap((g) => g.list).find((p) => p.key === e.key);
        went = 0;
        if (to) unlessScanned(() => route(to.href));
      }
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [route]);
}

// useScans finds what is scanned on a page without a scan field, and says so where nothing takes a scan.
function useScans(): void {
  useEffect(
    () =>
      followScanner(
        (code) => {
          scanned.set(code);
          paletteOpen.set(true);
        },
        () => {
          beep(false);
          fail({ message: _('That was a scan, and nothing here takes one. Close this first.') });
        },
      ),
    [],
  );
}
