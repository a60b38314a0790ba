// Every snippet of docs/guides is run as a reader pastes it, and answers what
// its page shows. The blocks of one language are one program; each page begins
// with the client and the token of the first.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';
import { compare, read, snippets } from './page.mjs';
import { makeRoom } from './room.mjs';

const names = [
  'sign-in',
  'list',
  'embed',
  'write-safely',
  'import',
  'events',
  'verbs',
  'act-for-a-tenant',
  'demonstration',
  'go-live',
];
const mark = '\u001e';
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

// What stands for the reader: who reads six digits from an app, and a console
// that prints JSON.
const reader = {
  sh: `code_from_app() { node ${here('code.mjs')} "$1"; }\n`,
  js: `import { totp as codeFromApp } from ${JSON.stringify(here('../totp.mjs'))};
globalThis.WebSocket ??= class {};
const print = console.log;
console.log = (...values) => print(values.map((v) => (typeof v === 'string' ? v : JSON.stringify(v))).join(' '));
`,
};
const between = { sh: (i) => `printf '\\036${i}\\036'\n`, js: (i) => `process.stdout.write('\\u001e${i}\\u001e');\n` };
const programs = { sh: ['bash', '-euo', 'pipefail', 'page.sh'], js: [process.execPath, 'page.mjs'] };

let folder;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-guides-'));
  await symlink(here('../node_modules'), join(folder, 'node_modules'));
  await makeRoom();
});
after(() => rm(folder, { recursive: true, force: true }));

function run([program, ...args], cwd) {
  const env = {
    ...process.env,
    U: process.env.HOLDFAST_URL,
    KEY: process.env.PUBLISHABLE_KEY,
    SERVICE_KEY: process.env.SECRET_KEY,
  };
  return new Promise((done, fail) => {
    const child = execFile(
      program,
      args,
      { cwd, env, timeout: 120_000, maxBuffer: 1 << 24 },
      (error, stdout, stderr) => {
        if (error) return fail(new Error(`${error.message}\n${stdout}\n${stderr}`));
        return done(stdout);
      },
    );
    child.stdin.end();
  });
}

// play runs the snippets of one language and returns what each printed.
async function play(name, language, blocks) {
  const [first] = snippets(await read('sign-in'), language);
  const parts = name === 'sign-in' ? blocks : [first, ...blocks];
  const text = reader[language] + parts.map((s, i) => between[language](i) + s.body).join('\n');
  const cwd = await mkdtemp(join(folder, `${name}-`));
  await writeFile(join(cwd, programs[language].at(-1)), text);
  const printed = (await run(programs[language], cwd)).split(mark).slice(1);
  const outputs = printed.filter((_, i) => i % 2 === 1);
  assert.equal(outputs.length, parts.length, 'every snippet ran');
  return name === 'sign-in' ? outputs : outputs.slice(1);
}

describe('guides', { concurrency: 2 }, () => {
  test('are the ten, each on the page that lists them', async () => {
    const there = (await readdir(new URL('../../../docs/guides/', import.meta.url))).filter((f) => f.endsWith('.md'));
    assert.deepEqual(there.sort(), [...names, 'README'].map((n) => `${n}.md`).sort());
    const list = await (await fetch(`${process.env.HOLDFAST_URL}/docs/guides`)).text();
    for (const name of names) {
      assert.ok(list.includes(`href="/docs/guides/${name}"`), `/docs/guides leads to ${name}`);
      const response = await fetch(`${process.env.HOLDFAST_URL}/docs/guides/${name}`);
      assert.equal(response.status, 200);
      assert.match(await response.text(), /<h1 .*<figure class="code sh">.*<figure class="code js">/s);
    }
  });

  for (const name of names) {
    for (const language of ['sh', 'js']) {
      test(`${name}, ${language}`, async () => {
        const blocks = snippets(await read(name), language);
        assert.ok(
          blocks.some((s) => s.answer),
          'the page shows an answer',
        );
        const outputs = await play(name, language, blocks);
        outputs.forEach((output, i) => {
          try {
            compare(output, blocks[i].answer);
          } catch (error) {
            error.message = `${error.message}\nafter\n${blocks[i].body}\nwhich printed\n${output}`;
            throw error;
          }
        });
      });
    }
  }
});

test('a comparison fails where it should', () => {
  const json = (body, shape = false) => ({ language: 'json', shape, body });
  const id = '"0190c000-0000-7000-8000-000000000001"';
  compare(`{"a":1,"id":${id}}`, json('{"a":1,"id":"00000000-0000-4000-8000-000000000000"}'));
  compare('{"a":1,"b":2}', json('{"a":1,"...":"..."}'));
  compare('["eyJx"]', json('["eyJ..."]'));
  compare('[{"n":5},{"n":6}]', json('[{"n":1}]', true));
  const text = { language: 'text', body: 'HTTP/1.1 200 OK\nETag: "..."\n' };
  compare('HTTP/1.1 200 OK\nDate: x\nETag: "3-a"\n', text);
  for (const [output, answer] of [
    ['{"a":2}', json('{"a":1}')],
    ['{"a":1,"b":2}', json('{"a":1}')],
    ['{}', json('{"a":1}')],
    ['{"a":"1"}', json('{"a":1}')],
    ['{"id":"x"}', json(`{"id":${id}}`)],
    ['["a","b"]', json('["a"]')],
    ['["b"]', json('["a..."]')],
    ['[]', json('["a","..."]')],
    ['[{"n":"5"}]', json('[{"n":1}]', true)],
    ['[]', json('[{"n":1}]', true)],
    ['{"error":"x"}', json('{"n":1}', true)],
    ['null', json('{}')],
    ['HTTP/1.1 200 OK\n', text],
    ['ETag: "3"\nHTTP/1.1 200 OK\n', text],
    ['anything', undefined],
  ])
    assert.throws(() => compare(output, answer), { code: 'ERR_ASSERTION' }, `${output} for ${answer?.body}`);
});

// The look at the log for secrets wants to know some.
after(() => appendFileSync(process.env.SECRETS_FILE, 'holdfast-demo\n'));
