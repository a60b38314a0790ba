// What Supabase has and this server has not: clients are refused in words, and
// once.
import { test, describe } from 'node:test';
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { client } from './client.mjs';

describe('what is absent', () => {
  test('a channel of realtime is closed with its reason, and the client does not come back', async () => {
    const program = fileURLToPath(new URL('./realtime.mjs', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--experimental-websocket', program]);
    const { heard, connections, open } = JSON.parse(stdout);
    assert.deepEqual(
      heard.map(([status]) => status),
      ['CHANNEL_ERROR', 'CLOSED'],
    );
    assert.match(heard[0][1], /\/v1\/events/);
    assert.equal(connections, 1);
    assert.equal(open, false);
  });

  test('storage says what is there instead', async () => {
    const { error } = await client().storage.listBuckets();
    assert.match(error.message, /\/v1\/photos/);
  });
});
