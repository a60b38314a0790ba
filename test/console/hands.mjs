// Somebody who has a keyboard and no pointer. Nothing here clicks, fills or sets
// the focus: it goes where the keys take it, and at every stop it has to be seen.
import assert from 'node:assert/strict';

// stop is where the focus is: whether that is one of those looked for, and
// whether an eye finds it there: drawn around, within the window and not covered.
const stop = (wanted) => {
  const a = document.activeElement;
  const said = a === document.body ? 'nowhere' : a.outerHTML.slice(0, 160);
  const drawn = (e) => {
    const s = getComputedStyle(e);
    return s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2 && !/, 0\)$/.test(s.outlineColor);
  };
  // A field may leave it to what is around it to show the focus.
  const shown = [a, a.closest('label'), a.closest('.scan-box')].find((e) => e && drawn(e));
  // Where a date's calendar has the focus the browser draws that itself.
  const calendar = a.type === 'date' && !a.matches(':focus');
  const r = (shown ?? a).getBoundingClientRect();
  // Some of it is seen: a list may be longer than the window.
  const [left, right, top, bottom] = [
    Math.max(r.left, 0),
    Math.min(r.right, innerWidth),
    Math.max(r.top, 0),
    Math.min(r.bottom, innerHeight),
  ];
  const part = [0.05, 0.3, 0.5, 0.7, 0.95];
  const over =
    right > left && bottom > top
      ? part.flatMap((x) =>
          part.map((y) => document.elementFromPoint(left + (right - left) * x, top + (bottom - top) * y)),
        )
      : [];
  const free = over.some((e) => e && (shown ?? a).contains(e));
  return {
    here: wanted.includes(a),
    said,
    seen: a === document.body || ((!!shown || calendar) && free),
    why:
      shown || calendar ? (free ? '' : `covered by ${over[0]?.outerHTML.slice(0, 120)}`) : 'nothing is drawn around it',
  };
};

export function hands(page) {
  const look = async (place) => {
    const at = await place.evaluateAll(stop);
    assert.ok(at.seen, `the focus cannot be seen on ${at.said}: ${at.why}`);
    return at;
  };
  const press = (...keys) => keys.reduce((before, k) => before.then(() => page.keyboard.press(k)), Promise.resolve());

  // to goes to a place with Tab, or back with Shift+Tab, by at most so many stops.
  async function to(place, { back = false, most = 60 } = {}) {
    await place.first().waitFor();
    for (let n = 0, at = await look(place); !at.here; n++, at = await look(place)) {
      assert.ok(n < most, `${place} was not reached with ${n} stops; the focus is on ${at.said}`);
      await press(back ? 'Shift+Tab' : 'Tab');
    }
  }

  return {
    press,
    to,
    type: (text) => page.keyboard.type(text),
    paste: (text) => page.keyboard.insertText(text),
    // use goes to a place and presses Enter there.
    async use(place, way) {
      await to(place, way);
      await press('Enter');
    },
    // write puts a text where another may stand.
    async write(place, text, way) {
      await to(place, way);
      await press('ControlOrMeta+A');
      await page.keyboard.type(text);
    },
    // choose takes an option of a list by its first letters. A list forgets letters that come slowly, as they do on a busy
    // machine: then they are typed again.
    async choose(place, option, way) {
      await to(place, way);
      const chosen = () => place.evaluate((e) => e.selectedOptions[0].text);
      for (let tries = 3; tries && (await chosen()) !== option; tries--) {
        await page.keyboard.type(option);
        if ((await chosen()) !== option) await page.waitForTimeout(1500);
      }
      assert.equal(await chosen(), option);
    },
    // skip passes over the navigation, from the beginning of a page to its content.
    async skip() {
      await to(page.getByRole('link', { name: 'Skip to the content' }), { most: 3 });
      await press('Enter');
      await page.waitForFunction(() => document.activeElement?.matches('main h1'));
    },
    // go opens a page by the search over pages and records.
    async go(name, title = name) {
      await press('ControlOrMeta+k');
      await page.getByRole('combobox', { name: 'Search or go to' }).waitFor();
      await page.keyboard.type(name);
      await page.getByRole('option', { name }).first().waitFor();
      await press('Enter');
      await page.getByRole('heading', { name: title, level: 1 }).waitFor();
      await page.waitForFunction(() => document.activeElement?.matches('main h1'));
    },
  };
}
