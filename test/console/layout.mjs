// No list and no record hides a column beyond an edge, is wider than the window or
// shows an id that a machine made: all collections at the three widths of people.
// A page looks the same whatever the engine: one sees the lists, the other the records.
import assert from 'node:assert/strict';
import { api, as, engine, narrow, open, settled, test, wide } from './page.mjs';

const admin = 'admin@north.example';
const widths = [wide, { width: 1280, height: 800 }, narrow];

// Requests are looked for in the log by their ids, and a delivery shows what was sent as it was sent.
const showsIds = ['audit', 'webhook_deliveries'];

// misfits are what is wrong with the page at hand, at its width.
const misfits = () => {
  const said = [];
  for (const t of document.querySelectorAll('.table')) {
    if (t.scrollWidth > t.clientWidth + 1) said.push(`the table ${t.ariaLabel} hides ${t.scrollWidth - t.clientWidth} pixels`);
  }
  for (const cell of document.querySelectorAll('.table td, .table th')) {
    if (cell.clientWidth && getComputedStyle(cell).overflowX !== 'visible' && cell.scrollWidth > cell.clientWidth + 1) said.push(`cut: ${cell.innerText}`);
  }
  const over = document.documentElement.scrollWidth - innerWidth;
  if (over > 0) said.push(`${over} pixels too wide`);
  const id = document.querySelector('main').innerText.match(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/);
  return id ? [...said, `the id ${id[0]} is shown`] : said;
};

// lastMisfits judges a page as it stays: names and sizes may come a moment after all else on a busy machine.
async function lastMisfits(page) {
  for (let tries = 40; ; tries--) {
    await settled(page);
    const wrong = await page.evaluate(misfits);
    if (!wrong.length || !tries) return wrong;
    await page.waitForTimeout(250);
  }
}

// The widths follow one another on an open page, as when somebody turns a tablet.
async function measure(page, path, idMayShow) {
  const wrong = [];
  await page.setViewportSize(widths[0]);
  await open(page, path);
  for (const size of widths) {
    await page.setViewportSize(size);
    for (const what of await lastMisfits(page)) {
      if (!idMayShow || !what.startsWith('the id')) wrong.push(`${path} at ${size.width}: ${what}`);
    }
  }
  return wrong;
}

async function collections(page) {
  await open(page, '/console/all');
  await settled(page);
  const names = await page.evaluate(() => [...document.querySelectorAll('main a[href*="/console/c/"]')].map((a) => new URL(a.href).pathname.split('/')[3]));
  assert.ok(names.length > 50, `${names.length} collections are listed`);
  return [...new Set(names)];
}

const kind = engine === 'postgresql' ? 'record' : 'list';

test(`no ${kind} hides a column at 1440, 1280 and 390 pixels`, async () => {
  const wrong = [];
  await as(admin, async (page) => {
    for (const name of await collections(page)) {
      let path = `/console/c/${name}`;
      if (kind === 'record') {
        const [row] = await api(admin, `/v1/${name}?select=id&limit=1`);
        if (!row) continue;
        path += `/${row.id}`;
      }
      wrong.push(...(await measure(page, path, showsIds.includes(name))));
    }
  });
  assert.deepEqual(wrong, []);
}, 900_000);
