// Identity through an unmodified supabase-js, against a server whose operator
// switched everything on. One process, so that the mailbox, the site, the
// carrier and the providers are started once.
import * as carrier from './carrier.mjs';
import * as mailbox from './mailbox.mjs';
import * as own from './own.mjs';
import * as site from './site.mjs';

await mailbox.open(process.env.PORT_SMTP);
await Promise.all([site.open(), own.open(), carrier.open()]);

await import('./transport.mjs');
await import('./confirm.mjs');
await import('./change.mjs');
await import('./sessions.mjs');
await import('./factors.mjs');
await import('./passkeys.mjs');
await import('./linking.mjs');
await import('./phone.mjs');
await import('./texts.mjs');
await import('./admin.mjs');
await import('./sso.mjs');
await import('./redirects.mjs');
await import('./traces.mjs');
await import('./browser.mjs');
await import('./walk.mjs');
