// What is committed as console/dist is what the sources make, byte for byte,
// and it is as small as promised.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

const root = new URL('../../console', import.meta.url).pathname;

function files(dir) {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((f) => f.isFile())
    .map((f) => relative(dir, join(f.parentPath, f.name)))
    .sort();
}

test('the types of the sources hold, with those that the server writes', () => {
  const types = execFileSync(join(root, '../bin/holdfast'), ['gen', 'types', 'ts']);
  writeFileSync(join(root, 'src/database.gen.ts'), types);
  execFileSync('node_modules/.bin/tsc', ['--noEmit'], { cwd: root, stdio: 'inherit' });
});

test('dist rebuilt gives the same bytes: after a change of console/src run make console', () => {
  const out = mkdtempSync(join(tmpdir(), 'holdfast-dist-'));
  try {
    execFileSync('node_modules/.bin/vite', ['build', '--logLevel', 'error', '--outDir', out, '--emptyOutDir'], {
      cwd: root,
      stdio: 'inherit',
    });
    assert.deepEqual(files(join(root, 'dist')), files(out));
    for (const f of files(out))
      assert.ok(readFileSync(join(root, 'dist', f)).equals(readFileSync(join(out, f))), `${f} differs`);
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
});

// spoken are the English texts that stand in the sources, by themselves or in a plural.
function spoken(where = /./) {
  const text = String.raw`'((?:[^'\\]|\\.)*)'`;
  const found = new Map();
  for (const f of files(join(root, 'src'))) {
    if (!/\.tsx?$/.test(f) || f.startsWith('texts/') || f.includes('.gen.') || !where.test(f)) continue;
    const source = readFileSync(join(root, 'src', f), 'utf8');
    for (const [, one] of source.matchAll(new RegExp(`\\b_\\(\\s*${text}`, 'g'))) found.set(one, f);
    for (const [, one, many] of source.matchAll(new RegExp(`\\bplural\\([^']*?${text},\\s*${text}`, 'g')))
      found.set(one, f).set(many, f);
  }
  return found;
}

// wordsOf are the words of a file of texts, by the English text.
function wordsOf(name) {
  const source = readFileSync(join(root, 'src/texts', name), 'utf8');
  return new Function(`return ${source.slice(source.indexOf('= {') + 2).replace(/;\s*$/, '')}`)();
}

test('every text has its words in each language, with the same values in them', () => {
  const all = spoken();
  assert.ok(all.size > 600, `${all.size} texts`);
  const values = (t) => (t.match(/\{\w+\}/g) ?? []).sort().join();
  for (const language of ['de', 'fr']) {
    const table = {
      ...wordsOf(`${language}-catalog.ts`),
      ...wordsOf(`${language}-pages.ts`),
      ...wordsOf(`${language}.ts`),
    };
    const said = { ...wordsOf(`${language}-pages.ts`), ...wordsOf(`${language}.ts`) };
    const wrong = [];
    for (const [text, f] of all) if (said[text.replace(/\\'/g, "'")] === undefined) wrong.push(`${f}: ${text}`);
    for (const [english, words] of Object.entries(table))
      if (values(english) !== values(words)) wrong.push(`${english} -> ${words}`);
    assert.deepEqual(wrong, [], language);
  }
});

test("each of the law's clocks that the documentation lists has a name that says what it asks for", () => {
  const docs = readFileSync(join(root, '../docs/clocks.md'), 'utf8');
  const rows = [...docs.matchAll(/^\| ([A-Z]{2}-[A-Z0-9()]+) \|(.*)$/gm)].filter(
    ([, , rest]) => !rest.includes('recorded, no end'),
  );
  assert.ok(rows.length > 10, `${rows.length} clocks`);
  const names = readFileSync(join(root, 'src/ui/clocknames.ts'), 'utf8');
  assert.deepEqual(
    rows.map(([, code]) => code).filter((code) => !names.includes(`'${code}':`)),
    [],
  );
});

// The console adds up and counts what the reader may see: the server's figures alone are of all.
const ofTheServer = {
  'pages/risk.tsx': 'the terms of a score add up to it, and come with it',
  'pages/setup.tsx': 'says only whether there is any',
};

test('a figure that the console works out itself says where it is of what the reader may see', () => {
  const makes = /\.reduce\(|\.sum\(\)|count: '(exact|estimated)'/;
  const all = files(join(root, 'src')).filter((f) => /^(pages|ui)\/.*\.tsx$/.test(f));
  const making = all.filter((f) => makes.test(readFileSync(join(root, 'src', f), 'utf8')));
  assert.ok(making.length >= 6, making.join());
  const silent = making.filter((f) => !/<OfSeen|readsWhole\(/.test(readFileSync(join(root, 'src', f), 'utf8')));
  assert.deepEqual(silent.sort(), Object.keys(ofTheServer));
});

// What is shown before the words of the other pages are there has its own at once.
test('the sign-in, the overview and the frame find their words in the first file of a language', () => {
  const early =
    /^(main|app|frame|lib\/(?!records|floor|trip|plane|fields)|ui\/(basic|form|icon|overlay|places|tile|door)|pages\/(gate|home))/;
  for (const language of ['de', 'fr']) {
    const said = wordsOf(`${language}.ts`);
    const late = [...spoken(early)]
      .map(([text]) => text.replace(/\\'/g, "'"))
      .filter((text) => said[text] === undefined);
    assert.deepEqual(late, [], language);
  }
});

// What changes something goes through one function, which gives it the key under which its repeats are done once.
test('no page sends a change, or draws an Idempotency-Key, by itself', () => {
  for (const f of files(join(root, 'src'))) {
    if (!/\.tsx?$/.test(f) || f.includes('.gen.') || f.startsWith('texts/') || f === 'lib/client.ts') continue;
    const source = readFileSync(join(root, 'src', f), 'utf8');
    assert.doesNotMatch(source, /Idempotency-Key['"`]/, f);
    for (const [call] of source.matchAll(/\bfetch\((?:[^()]|\([^()]*\))*\)/g))
      assert.doesNotMatch(call, /method/, `${f}: ${call}`);
  }
});

// Where a moment is read off a clock, the clock is the site's or the organisation's, not that of the device.
test('no page reads or writes a time by the clock of the device', () => {
  const ofTheDevice =
    /getTimezoneOffset|datetime-local|\.(?:get|set)(?:FullYear|Month|Date|Hours|Day)\(|toISOString\(\)\.slice\(0, 1[06]\)|toLocale(?:Date|Time)|new Date\([^()]+\)\.toISOString/;
  const places = {
    'lib/zone.ts': 'the zones',
    'ui/form.tsx': 'the control of a moment, which names its zone',
  };
  const all = files(join(root, 'src')).filter((f) => /\.tsx?$/.test(f) && !f.startsWith('texts/'));
  const reading = all.filter((f) => ofTheDevice.test(readFileSync(join(root, 'src', f), 'utf8')));
  assert.deepEqual(reading.sort(), Object.keys(places));
});

const dist = join(root, 'dist');
const packed = (f) => gzipSync(readFileSync(join(dist, f))).length;
const sum = (list) => list.map(packed).reduce((a, b) => a + b, 0);

// The files that a page loads before it shows something: those that the one
// page names, and the page's own with what it imports that is no page.
function first(name) {
  const need = new Set(['index.html', 'icon.svg']);
  for (const [, f] of readFileSync(join(dist, 'index.html'), 'utf8').matchAll(/(?:src|href)="\.\/([^"]+)"/g))
    need.add(f);
  const add = (f) => {
    if (need.has(f)) return;
    need.add(f);
    for (const [, other] of readFileSync(join(dist, f), 'utf8').matchAll(/from"\.\/([^"]+)"/g)) add(`assets/${other}`);
  };
  add(`assets/${name}.js`);
  if (files(dist).includes(`assets/${name}.css`)) need.add(`assets/${name}.css`);
  return [...need];
}

for (const page of ['gate', 'home'])
  for (const language of ['en', 'de', 'fr']) {
    test(`the first load of ${page} in ${language} is at most 90 kB gz`, () => {
      const load = [...first(page), ...(language === 'en' ? [] : [`assets/${language}.js`])];
      console.log(`${page} in ${language}: ${sum(load)} bytes`);
      assert.ok(sum(load) <= 90_000, load.map((f) => `${f} ${packed(f)}`).join(', '));
    });
  }

// 440: the risk register, coded accidents and European rates, in three languages; the design allows 480.
test('the whole of dist is at most 440 kB gz', () => {
  const size = sum(files(dist));
  console.log(`dist: ${size} bytes`);
  assert.ok(size <= 440_000, `${size} bytes`);
});

test('dist names no other host', () => {
  // Namespaces are names, no addresses; the others are in texts of libraries that nobody fetches.
  const known =
    /^(www\.w3\.org|localhost|127\.0\.0\.1|supabase\.(com|io)|[a-z.]*github\.com|openid\.net|datatracker\.ietf\.org|example\.com)/;
  for (const f of files(dist)) {
    for (const [, host] of readFileSync(join(dist, f), 'utf8').matchAll(
      /https?:\/\/([a-z0-9.-]+\.[a-z]+|localhost|127\.0\.0\.1)/g,
    ))
      assert.match(host, known, `${f} names ${host}`);
  }
});
