// A guide: its fenced blocks, and what an answer must have in common with the
// one that the page shows.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

const guides = new URL('../../../docs/guides/', import.meta.url);

// read returns the blocks of a guide in order, each in one of the languages. An
// answer belongs to the snippets that stand between it and the answer before.
export async function read(name, languages = ['sh', 'js', 'json', 'text']) {
  const text = await readFile(new URL(`${name}.md`, guides), 'utf8');
  const blocks = [];
  for (const [, info, body] of text.matchAll(/^```(.*)\n([^]*?)^```$/gm)) {
    const [language, ...how] = info.split(' ');
    assert.ok(languages.includes(language), `${name}: a block in "${info}", which nothing runs or compares`);
    assert.ok(!how.length || info === 'json shape', `${name}: "${info}" is compared in no known way`);
    blocks.push({ language, shape: how.length > 0, body });
  }
  assert.equal(
    blocks.length * 2,
    text.match(/^\s*```/gm).length,
    `${name}: a fence that is not closed, or not at the margin`,
  );
  return blocks;
}

// snippets are the blocks of one language, each with the answer that is shown.
export function snippets(blocks, language) {
  const out = [];
  let waiting = [];
  for (const block of blocks) {
    if (block.language === language) {
      waiting.push({ body: block.body });
      out.push(waiting.at(-1));
    } else if (block.language === 'json' || block.language === 'text') {
      if (waiting.length) waiting.at(-1).answer = block;
      waiting = [];
    }
  }
  return out;
}

// compare fails unless an output is the answer that is shown.
export function compare(output, answer) {
  if (!answer) {
    assert.equal(output.trim(), '', 'it prints what the page does not show');
    return;
  }
  if (answer.language === 'text') lines(output, answer.body);
  else {
    const [got, want] = [values(output), values(answer.body)];
    assert.equal(got.length, want.length, 'as many answers as the page shows');
    want.forEach((v, i) => same(got[i], v, answer.shape, 'the answer'));
  }
}

// values reads JSON values that follow each other, each from the beginning of a
// line.
function values(text) {
  const out = [];
  let part = '';
  for (const line of text.split('\n')) {
    part += `${line}\n`;
    try {
      out.push(JSON.parse(part));
      part = '';
    } catch {
      continue; // it goes on on the next line
    }
  }
  assert.equal(part.trim(), '', 'what is no JSON');
  return out;
}

// lines looks for the lines that are shown, in their order; others may stand
// between them.
function lines(output, shown) {
  const got = output.split('\n').map((line) => line.trim());
  let from = 0;
  for (const line of shown.trim().split('\n')) {
    const at = got.findIndex((candidate, i) => i >= from && pattern(line.trim()).test(candidate));
    assert.ok(at >= 0, `no line "${line}" in\n${output}`);
    from = at + 1;
  }
}

// "..." stands for anything, an id for any id and an instant for any instant.
const id = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;

function pattern(text) {
  return new RegExp(
    `^${text
      .split('...')
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
    's',
  );
}

function same(got, want, shape, at) {
  const kind = (v) => (v === null ? 'null' : Array.isArray(v) ? 'array' : typeof v);
  assert.equal(kind(got), kind(want), `${at} is ${JSON.stringify(got)}, and the page has ${JSON.stringify(want)}`);
  if (kind(want) === 'array') return list(got, want, shape, at);
  if (kind(want) === 'object') return members(got, want, shape, at);
  if (typeof want === 'string') {
    for (const form of [id, instant]) if (form.test(want)) return assert.match(got, form, at);
    if (!shape) assert.match(got, pattern(want), `${at} is "${got}", and the page has "${want}"`);
  } else if (!shape) assert.equal(got, want, at);
}

// list compares each element; one "..." at the end stands for more. By shape
// there may be any number of them but none, each like the first that is shown.
function list(got, want, shape, at) {
  if (shape) {
    assert.ok(got.length > 0 === want.length > 0, `${at} has ${got.length} elements, and the page ${want.length}`);
    got.forEach((v, i) => same(v, want[0], shape, `${at}[${i}]`));
    return;
  }
  const more = want.at(-1) === '...';
  const shown = more ? want.slice(0, -1) : want;
  assert.ok(
    more ? got.length >= shown.length : got.length === shown.length,
    `${at} has ${got.length} elements, and the page ${want.length}`,
  );
  shown.forEach((v, i) => same(got[i], v, shape, `${at}[${i}]`));
}

// members compares each member; one called "..." stands for more.
function members(got, want, shape, at) {
  const { '...': more, ...shown } = want;
  const names = Object.keys(got);
  assert.deepEqual(
    more === undefined ? names.sort() : names.filter((n) => n in shown).sort(),
    Object.keys(shown).sort(),
    `members of ${at}`,
  );
  for (const [name, v] of Object.entries(shown)) same(got[name], v, shape, `${at}.${name}`);
}
