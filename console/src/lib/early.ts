import type { Session } from '@supabase/supabase-js';
import { exchanging } from './arrival';
import { claimsOf } from './claims';

// The session that this browser keeps is known before supabase-js has looked at it, and the overview's figures are asked for
// with it before the rest of the console is there: on a slow line they come while the page is still being made.

const figures = '/functions/v1/site-overview';

function kept(): Session | undefined {
  // What a provider brings back goes before what is kept.
  if (exchanging) return undefined;
  try {
    const s = JSON.parse(localStorage.getItem('holdfast.session') ?? '') as Session;
    return claimsOf(s).sub && (s.expires_at ?? 0) > Date.now() / 1000 + 30 ? s : undefined;
  } catch {
    return undefined;
  }
}

// begun is the session of this browser if it will last for the first requests; undefined where that has to be found out.
export const begun = kept();

// ofSite are the roles whose overview is that of the site.
export const ofSite = (role: string) => !['', 'operator', 'driver', 'client'].includes(role);

const overview = location.pathname.replace(/\/$/, '') === '/console';
let asked = begun && overview && ofSite(claimsOf(begun).tenant_role ?? '') ? ask(begun.access_token) : undefined;

function ask(token: string): Promise<Response | undefined> {
  return fetch(figures, { headers: { Authorization: `Bearer ${token}` } }).catch(() => undefined);
}

// early is what was asked for with this token, once; nothing where it was not, or was refused: then it is asked for again,
// and what is wrong is said as it always is.
export async function early(token?: string): Promise<unknown> {
  const answer = token === begun?.access_token ? asked : undefined;
  asked = undefined;
  const r = await answer;
  return r?.ok ? r.json() : undefined;
}
