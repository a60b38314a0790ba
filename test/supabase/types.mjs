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
  // Seconds of a processor: those of a clock are others' too on a busy machine.
  const timed = ['-c', 'TIMEFORMAT=%U; time "$0" -p "$1"', here('node_modules/.bin/tsc'), here('../types')];
  const { stderr } = await promisify(execFile)('bash', timed, { timeout: 300_000 }).catch((error) =>
    assert.fail(error.stdout || error.message),
  );
  const seconds = Number(stderr.trim().split('\n').pop());
  assert.ok(seconds > 0 && seconds < 10, `${seconds} s of a processor to check the types, which usually take two`);
});
