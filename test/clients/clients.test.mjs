// Clients of other languages that are published for this grammar make their own
// calls, with the types that `holdfast gen types` writes for their language.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFile, mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { after, before, test } from 'node:test';
import { makeRoom } from '../supabase/guides/room.mjs';
import { whole } from '../supabase/whole.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const run = promisify(execFile);
const holdfast = here('../../bin/holdfast');

async function types(language) {
  const { stdout } = await run(holdfast, ['gen', 'types', language], { maxBuffer: 1 << 24 });
  return stdout;
}

async function passes(program, args, cwd) {
  const options = { cwd: here(cwd), timeout: 240_000, maxBuffer: 1 << 24, env: { ...process.env, GOTOOLCHAIN: 'local' } };
  return run(program, args, options).catch((error) => assert.fail(`${error.stdout}\n${error.stderr}`));
}

before(makeRoom);

test('Go: supabase-go, with gotrue-go and postgrest-go', async () => {
  await mkdir(here('go/holdfast'), { recursive: true });
  const source = await types('go');
  await whole(here('go/holdfast/types.go'), source);
  const rows = [...source.matchAll(/^\/\/ (\w+Row): A row of (\w+),/gm)].map(([, type, name]) => `\tall[${JSON.stringify(name)}] = new([]${type})\n`);
  const all = `package holdfast

// Collections are pointers to rows, by collection.
func Collections() map[string]any {
\tall := map[string]any{}
${rows.join('')}\treturn all
}
`;
  await whole(here('go/holdfast/collections.go'), all);
  assert.ok(rows.length > 60, `${rows.length} collections`);
  const go = process.env.GO ?? 'go';
  await passes(go, ['vet', './...'], 'go');
  const { stdout } = await passes(go, ['test', '-count=1', '-v', './...'], 'go');
  assert.ok(stdout.match(/^--- PASS/gm).length >= 8, stdout);
});

// Debian's python3-pydantic belongs to Debian's Python.
async function python() {
  for (const candidate of ['python3', '/usr/bin/python3']) {
    const there = await run(candidate, ['-c', 'import pydantic']).then(() => true, () => false);
    if (there) return candidate;
  }
  return assert.fail('no Python has pydantic: run "make setup"');
}

test('Python: pydantic models of rows, answers and what is sent', async () => {
  await whole(here('python/holdfast.py'), await types('python'));
  const { stdout } = await passes(await python(), ['-W', 'error', 'check.py'], 'python');
  assert.match(stdout, /^ok: \d+ rows of \d+ collections/m);
});

// The look at the log for secrets wants to know some.
after(() => appendFile(process.env.SECRETS_FILE, 'holdfast-demo\n'));
