// The README's examples, run as a reader pastes them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';

// example is the fenced block that follows the README's marker.
async function example(name) {
  const text = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
  const marker = `<!-- test: ${name} -->`;
  assert.equal(text.split(marker).length, 2, `README.md has one "${marker}"`);
  const block = /^\s*```\w*\n(.*?)\n```/s.exec(text.split(marker)[1]);
  assert.ok(block, `a fenced block follows "${marker}"`);
  return block[1];
}

function run(program, args, input) {
  return new Promise((done, fail) => {
    const options = { cwd: fileURLToPath(new URL('.', import.meta.url)), timeout: 120_000 };
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (error) return fail(new Error(`${error.message}\n${stdout}${stderr}`));
      return done(stdout);
    });
    child.stdin.end(input);
  });
}

await test('README: supabase-js', async () => {
  const out = await run(process.execPath, ['--input-type=module'], await example('supabase-js'));
  for (const word of ['order_no', 'order_lines', 'total_items', 'total_incidents']) assert.match(out, new RegExp(word));
});

await test('README: curl', async () => {
  const out = await run('sh', ['-eu'], await example('curl'));
  assert.match(out, /^\[\s*\{"code":.*"utilization":/s);
  assert.match(out, /"kpis":\s*\{.*"tsr":/s);
  assert.doesNotMatch(out, /"(error|message)":/);
});
