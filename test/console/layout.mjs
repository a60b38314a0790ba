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
export const misfits = (amounts) => {
  const said = [];
  for (const t of document.querySelectorAll('.table')) {
    if (t.scrollWidth > t.clientWidth + 1)
      said.push(`the table ${t.ariaLabel} hides ${t.scrollWidth - t.clientWidth} pixels`);
  }
  for (const cell of document.querySelectorAll('.table td, .table th')) {
    if (cell.clientWidth && getComputedStyle(cell).overflowX !== 'visible' && cell.scrollWidth > cell.clientWidth + 1)
      said.push(`cut: ${cell.innerText}`);
  }
  // What may be wider than its frame: tabs and the plan are moved by hand.
  const mayScroll = '.tabs, .plan, input, textarea, select, .sr, .toasts';
  for (const part of document.querySelectorAll('main *')) {
    const cut = part.scrollWidth - part.clientWidth;
    if (
      !part.clientWidth ||
      cut <= 1 ||
      part.closest('svg') ||
      part.matches(mayScroll) ||
      part.querySelector('.plan, .tabs')
    )
      continue;
    const name = `${part.tagName.toLowerCase()}.${part.className}`;
    if (!part.closest('.table')) said.push(`${name} is ${cut} pixels too narrow for: ${part.innerText?.slice(0, 60)}`);
  }
  for (const split of document.querySelectorAll('.split')) {
    for (const column of split.children) {
      const bare =
        column.innerText.replace(column.querySelector('h2')?.innerText ?? '', '').trim() === '' &&
        !column.querySelector('input, button, img, svg:not(.icon)');
      if (bare) said.push(`a column is empty: ${column.innerText || column.className}`);
    }
    if (split.children.length < 2 && getComputedStyle(split).gridTemplateColumns.includes(' '))
      said.push('the side column is empty');
  }
  // An amount says its currency: the demonstration's organisation counts in euros.
  for (const cell of document.querySelectorAll('main td[data-label], main .facts dd')) {
    const label = cell.dataset.label ?? cell.previousElementSibling.innerText;
    if (amounts.includes(label) && !/^–?$|€/.test(cell.innerText.trim()))
      said.push(`no currency: ${label} ${cell.innerText}`);
  }
  const over = document.documentElement.scrollWidth - innerWidth;
  if (over > 0) said.push(`${over} pixels too wide`);
  const id = document
    .querySelector('main')
    .innerText.match(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/);
  return id ? [...said, `the id ${id[0]} is shown`] : said;
};

// lastMisfits judges a page as it stays: names and sizes may come a moment after all else on a busy machine.
async function lastMisfits(page, amounts) {
  for (let tries = 40; ; tries--) {
    await settled(page);
    const wrong = await page.evaluate(misfits, amounts);
    if (!wrong.length || !tries) return wrong;
    await page.waitForTimeout(250);
  }
}

// The widths follow one another on an open page, as when somebody turns a tablet.
async function measure(page, path, idMayShow, amounts = []) {
  const wrong = [];
  await page.setViewportSize(widths[0]);
  await open(page, path);
  for (const size of widths) {
    await page.setViewportSize(size);
    for (const what of await lastMisfits(page, amounts)) {
      if (!idMayShow || !what.startsWith('the id')) wrong.push(`${path} at ${size.width}: ${what}`);
    }
  }
  return wrong;
}

async function collections(page) {
  await open(page, '/console/all');
  await settled(page);
  const names = await page.evaluate(() =>
    [...document.querySelectorAll('main a[href*="/console/c/"]')].map((a) => new URL(a.href).pathname.split('/')[3]),
  );
  assert.ok(names.length > 50, `${names.length} collections are listed`);
  return [...new Set(names)];
}

// amountsOf is by collection what its columns of money are called.
async function amountsOf() {
  const { collections: all } = await api(admin, '/catalog.json');
  const out = new Map(all.map((c) => [c.name, c.fields.filter((f) => f.unit === 'currency').map((f) => f.label)]));
  assert.deepEqual(
    [...out]
      .flatMap(([name, labels]) => labels.map(() => name))
      .filter((n, i, list) => list.indexOf(n) === i)
      .sort(),
    [
      'count_tasks',
      'item_costs',
      'items',
      'order_lines',
      'orders',
      'shipments',
      'stock_adjustments',
      'stock_movements',
    ],
  );
  return out;
}

const kind = engine === 'postgresql' ? 'record' : 'list';

test(`no ${kind} hides a column at 1440, 1280 and 390 pixels`, async () => {
  const wrong = [];
  const amounts = await amountsOf();
  await as(admin, async (page) => {
    for (const name of await collections(page)) {
      let path = `/console/c/${name}`;
      if (kind === 'record') {
        const [row] = await api(admin, `/v1/${name}?select=id&limit=1`);
        if (!row) continue;
        path += `/${row.id}`;
      }
      wrong.push(...(await measure(page, path, showsIds.includes(name), amounts.get(name) ?? [])));
    }
  });
  assert.deepEqual(wrong, []);
}, 900_000);

// fingers spreads two fingers from the middle of an element, as a phone has it.
async function fingers(page, context, box, from, to) {
  const cdp = await context.newCDPSession(page);
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const points = (d) => [
    { x: x - d, y, id: 1 },
    { x: x + d, y, id: 2 },
  ];
  await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: points(from) });
  for (let i = 1; i <= 5; i++)
    await cdp.send('Input.dispatchTouchEvent', {
      type: 'touchMove',
      touchPoints: points(from + ((to - from) * i) / 5),
    });
  await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
}

test('the map is made larger on a phone by buttons, two fingers and the keyboard, and no place leaves its frame', async () => {
  const size = (page) => page.locator('.plan svg').evaluate((svg) => Math.round(svg.getBoundingClientRect().width));
  await as(
    admin,
    async (page, context) => {
      await open(page, '/console/map');
      await page.locator('.plan rect.cell').first().waitFor();
      const whole = await size(page);
      const larger = page.getByRole('button', { name: 'Larger' });
      for (const button of [larger, page.getByRole('button', { name: 'Smaller' })]) {
        const box = await button.boundingBox();
        assert.ok(box.width >= 44 && box.height >= 44, JSON.stringify(box));
      }
      await larger.tap();
      await page.waitForFunction(
        (w) => document.querySelector('.plan svg').getBoundingClientRect().width > 1.4 * w,
        whole,
      );
      await page.getByRole('button', { name: 'All of it' }).tap();
      await page.waitForFunction(
        (w) => Math.abs(document.querySelector('.plan svg').getBoundingClientRect().width - w) < 2,
        whole,
      );

      await page.locator('.plan').scrollIntoViewIfNeeded();
      await fingers(page, context, await page.locator('.plan').boundingBox(), 20, 90);
      await page.waitForFunction(
        (w) => document.querySelector('.plan svg').getBoundingClientRect().width > 3 * w,
        whole,
      );
      assert.deepEqual(await page.evaluate(misfits, []), []);

      // By the keyboard a place stays in sight whatever the size is.
      await page.locator('.plan rect.cell[tabindex="0"]').focus();
      await page.keyboard.press('0');
      await page.waitForFunction(
        (w) => Math.abs(document.querySelector('.plan svg').getBoundingClientRect().width - w) < 2,
        whole,
      );
      for (let i = 0; i < 3; i++) await page.keyboard.press('+');
      await page.waitForFunction(
        (w) => document.querySelector('.plan svg').getBoundingClientRect().width > 3 * w,
        whole,
      );
      for (let i = 0; i < 6; i++) await page.keyboard.press('ArrowRight');
      const isSeen = await page.evaluate(() => {
        const at = document.activeElement.getBoundingClientRect();
        const frame = document.querySelector('.plan').getBoundingClientRect();
        return (
          document.activeElement.matches('rect.cell') &&
          at.right <= frame.right + 1 &&
          at.left >= frame.left - 1 &&
          at.bottom <= frame.bottom + 1
        );
      });
      assert.ok(isSeen, 'the place at hand has left the frame');
    },
    { viewport: narrow, hasTouch: true, isMobile: true },
  );
});
