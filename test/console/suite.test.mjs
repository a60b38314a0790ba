// One process and one browser for all parts.
import { after } from 'node:test';
import { close } from './page.mjs';

// First, while the data is the demonstration's: hostile texts of later tests have words wider than any column.
await import('./layout.mjs');
await import('./gate.mjs');
await import('./proof.mjs');
await import('./walk.mjs');
await import('./home.mjs');
await import('./safety.mjs');
await import('./evidence.mjs');
await import('./incident.mjs');
await import('./found.mjs');
await import('./records.mjs');
await import('./work.mjs');
await import('./imports.mjs');
await import('./floor.mjs');
await import('./board.mjs');
await import('./lost.mjs');
await import('./drafts.mjs');
await import('./scans.mjs');
await import('./forms.mjs');
await import('./fields.mjs');
await import('./walkforms.mjs');
await import('./verbs.mjs');
await import('./routes.mjs');
await import('./plan.mjs');
await import('./admin.mjs');
await import('./names.mjs');
await import('./measure.mjs');
await import('./keyboard.mjs');
await import('./keyboard-admin.mjs');
await import('./sso.mjs');
await import('./keys.mjs');
await import('./bad.mjs');
await import('./looks.mjs');
await import('./lastuse.mjs');
after(close);
