// Every snippet of docs/api.md is run as it stands, in the order of the page:
// all shell blocks are one program, whose requests all succeed and answer what
// the page shows; the TypeScript is compiled against the types it fetched.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { compare, read, snippets } from './page.mjs';
import { makeRoom } from './room.mjs';

const execute = promisify(execFile);
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const mark = '\u001e';

// A reader sees that a request was refused; the program ends there. Whatever is
// not printed for the page to show, it wrote into these files.
const reader = 'curl() { command curl --fail-with-body "$@"; }\n';
const files = [
  ['stock.csv', /^sku,name\n/],
  ['dock-3.svg', /^<svg|^<\?xml/],
  ['database.ts', /\bexport type Database\b/],
  ['holdfast/types.go', /^package holdfast$/m],
  ['holdfast.py', /^class ItemsRow\b/m],
];

let folder;
let blocks;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-api-'));
  await mkdir(join(folder, 'bin'));
  await symlink(here('../../../bin/holdfast'), join(folder, 'bin', 'holdfast'));
  blocks = await read('../api', ['sh', 'ts', 'json', 'text']);
  await makeRoom();
});
after(() => rm(folder, { recursive: true, force: true }));

test('the snippets of the API by example answer what it shows', async () => {
  const shell = snippets(blocks, 'sh');
  assert.ok(shell.filter((s) => s.answer).length >= 12, 'the page shows answers');
  await writeFile(
    join(folder, 'page.sh'),
    reader + shell.map((s, i) => `printf '\\036${i}\\036'\n${s.body}`).join('\n'),
  );
  const env = { ...process.env, U: process.env.HOLDFAST_URL, PATH: join(folder, 'bin') + delimiter + process.env.PATH };
  const { stdout } = await execute('bash', ['-euo', 'pipefail', 'page.sh'], {
    cwd: folder,
    env,
    timeout: 240_000,
    maxBuffer: 1 << 26,
  }).catch((error) => assert.fail(`${error.message}\n${error.stdout.slice(-2000)}\n${error.stderr}`));
  const outputs = stdout
    .split(mark)
    .slice(1)
    .filter((_, i) => i % 2 === 1);
  assert.equal(outputs.length, shell.length, 'every snippet ran');
  outputs.forEach((output, i) => {
    try {
      compare(output, shell[i].answer);
    } catch (error) {
      error.message = `${error.message}\nafter\n${shell[i].body}\nwhich printed\n${output}`;
      throw error;
    }
  });
  for (const [name, begins] of files) assert.match(await readFile(join(folder, name), 'utf8'), begins, name);
  const [log] = (await execute('bash', ['-c', 'ls *.pdf'], { cwd: folder })).stdout.split('\n');
  assert.ok((await stat(join(folder, log))).size > 10_000, `${log} is a form`);
  assert.match(await readFile(join(folder, log), 'latin1'), /^%PDF-/);
});

test('its TypeScript compiles strictly against the types it fetched', async () => {
  const programs = blocks.filter((b) => b.language === 'ts');
  assert.ok(programs.length > 0);
  await symlink(here('../node_modules'), join(folder, 'node_modules'));
  const program = [...programs.map((b) => b.body), "const { data } = await holdfast.from('items').select('sku,name');"];
  await writeFile(
    join(folder, 'page.ts'),
    `${program.join('\n')}\nexport const names: string[] | undefined = data?.map((item) => item.name);\n`,
  );
  const how = [
    '--strict',
    '--noEmit',
    '--target',
    'es2022',
    '--module',
    'esnext',
    '--moduleResolution',
    'bundler',
    '--skipLibCheck',
    '--types',
    '',
  ];
  await execute(here('../node_modules/.bin/tsc'), [...how, 'page.ts'], { cwd: folder, timeout: 120_000 }).catch(
    (error) => assert.fail(error.stdout || error.message),
  );
});

// The look at the log for secrets wants to know some.
after(() => appendFileSync(process.env.SECRETS_FILE, 'holdfast-demo\n'));
