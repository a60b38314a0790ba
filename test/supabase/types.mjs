// The served types are compiled, strictly, with a program that uses them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from 'node:test';
import { url } from './client.mjs';
import { whole } from './whole.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

await test('types: supabase-js is typed by GET /types.ts', async () => {
  const response = await fetch(`${url}/types.ts`);
  assert.equal(response.status, 200);
  await whole(here('../types/database.ts'), await response.text());
  const tsc = promisify(execFile)(here('node_modules/.bin/tsc'), ['-p', here('../types'), '--diagnostics'], { timeout: 60_000 });
  const { stdout } = await tsc.catch((error) => assert.fail(error.stdout || error.message));
  const seconds = Number(/Check time:\s+([\d.]+)s/.exec(stdout)[1]);
  assert.ok(seconds < 10, `${seconds} s to check the types, where an idle machine takes one`);
});
