// One process and one browser for all parts.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { close, engine } from './page.mjs';

// What people do with the data is done on each engine. The first part comes while the data is the demonstration's:
// hostile texts of later tests have words wider than any column. It and `looks` see half of the pages on each engine.
const both = [
  'layout',
  'proof',
  'safety',
  'safety-overview',
  'training',
  'actions',
  'register',
  'engagement',
  'evidence',
  'share',
  'wall',
  'incident',
  'report',
  'qr',
  'inspection',
  'records',
  'work',
  'imports',
  'floor',
  'handling',
  'board',
  'routes',
  'plan',
  'admin',
  'sso',
  'looks',
];

// A page keeps drafts, words and keys alike whatever the engine below it: where both engines are tested at once, each
// sees half of these parts.
const halves = {
  sqlite: [
    ...['walk', 'home', 'lost', 'scans', 'fields', 'zones'],
    ...['verbs', 'names', 'keyboard-admin', 'keys', 'bad', 'lastuse'],
  ],
  postgresql: ['purpose', 'gate', 'found', 'drafts', 'forms', 'walkforms', 'measure', 'keyboard'],
};
const isAlone = !process.env.ENGINES || process.env.ENGINES === engine;
const parts = [...both, ...(isAlone ? Object.values(halves).flat() : halves[engine])];

test('every part is seen on an engine', () => {
  const folder = new URL('.', import.meta.url);
  const files = readdirSync(folder).filter((f) => f.endsWith('.mjs') && !f.endsWith('.test.mjs') && f !== 'page.mjs');
  const withTests = files.filter((f) => /^\s*test\(/m.test(readFileSync(new URL(f, folder), 'utf8')));
  const listed = [...both, ...Object.values(halves).flat()].map((part) => `${part}.mjs`);
  assert.deepEqual(withTests.toSorted(), listed.toSorted());
});
for (const part of parts) await import(`./${part}.mjs`);
after(close);
