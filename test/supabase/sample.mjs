// The sample application, compiled strictly against the served types and run.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from 'node:test';
import './types.mjs';
import { anonKey, password, url } from './client.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const run = promisify(execFile);

await test('the sample application', async () => {
  const built = here(`built/${process.env.HOLDFAST_ENGINE}`); // below the packages that it imports
  await run(here('node_modules/.bin/tsc'), ['-p', here('../sample'), '--outDir', built], { timeout: 300_000 }).catch(
    (error) => assert.fail(error.stdout || error.message),
  );
  const env = {
    ...process.env,
    HOLDFAST_URL: url,
    ANON_KEY: anonKey,
    EMAIL: 'admin@north.example',
    PASSWORD: password,
  };
  const { stdout } = await run(process.execPath, [`${built}/sample/app.js`], { env, timeout: 120_000 });
  const saw = JSON.parse(stdout);
  assert.equal(saw.waiting, 20);
  assert.equal(saw.lines, true, 'every order has lines, units and items');
  assert.equal(saw.items.items, saw.dashboard.items, 'the pages have every item that the dashboard counts');
  assert.equal(saw.items.ordered, true);
  assert.equal(saw.items.pages, Math.ceil(saw.items.items / 25));
  assert.ok(saw.items.pages > 5 && saw.dashboard.zones > 0 && saw.safety.days === 30);
  assert.deepEqual(saw.states, ['draft', 'confirmed?', 'confirmed', 'repeated', 'on_hold', 'confirmed', 'cancelled']);
  assert.deepEqual(saw.supplier, { valid: 2, wrong: ['4 unit_cost'], imported: 2, found: 2, rolledBack: 2, left: 0 });
  assert.deepEqual(saw.refused, ['23505', 'PGRST116']);
});
