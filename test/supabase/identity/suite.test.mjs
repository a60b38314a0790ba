// Identity through an unmodified supabase-js, against a server whose operator
// switched everything on. One process, so that the mailbox, the site and the
// providers are started once.
import { after } from 'node:test';
import * as mailbox from './mailbox.mjs';
import * as site from './site.mjs';

await mailbox.open(process.env.PORT_SMTP);
await site.open();
after(() => {
  mailbox.close();
  site.close();
});

await import('./browser.mjs');
