import type { Session } from '@supabase/supabase-js';

export interface Claims {
  sub: string;
  email?: string;
  tenant_id?: string;
  tenant_role?: string;
  aal?: string;
  session_id?: string;
}

export function claimsOf(s: Session): Claims {
  const part = s.access_token.split('.')[1] ?? '';
  const bytes = Uint8Array.from(atob(part.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes)) as Claims;
}
