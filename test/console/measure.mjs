// What an open page keeps of a day of events.
import assert from 'node:assert/strict';
import { as, open, settled, test } from './page.mjs';

const manager = 'manager@north.example';
export const least = (list) => Math.min(...list);

test('measured: an open overview holds no more after 10,000 events than after 1,000', async () => {
  const events = (from, count) =>
    Array.from({ length: count }, (_, n) => `id: ${from + n}\nevent: stock.moved\ndata: {"n":${from + n}}\n\n`).join(
      '',
    );
  const told = [events(0, 1000), events(1000, 9000)];
  // A stream ends after what it told and is asked for again, as after a break of the line.
  const begin = [];
  const begun = told.map((_, n) => new Promise((go) => (begin[n] = go)));
  let asked = 0;
  await as(manager, async (page) => {
    await page.route('**/v1/events', async (route) => {
      const n = asked++;
      await begun[n];
      if (n < told.length) await route.fulfill({ contentType: 'text/event-stream', body: told[n] });
    });
    const cdp = await page.context().newCDPSession(page);
    // held is what the page holds once it has read again what the events touched.
    const held = async (n) => {
      const again = page.waitForRequest(/site-overview/);
      begin[n]();
      await again;
      await settled(page);
      // What is amid being read is held too: the least of some looks is what stays.
      const looks = [];
      for (let times = 0; times < 8; times++) {
        await cdp.send('HeapProfiler.collectGarbage');
        looks.push((await cdp.send('Runtime.getHeapUsage')).usedSize);
        await page.waitForTimeout(200);
      }
      return least(looks);
    };
    await cdp.send('HeapProfiler.enable');
    await open(page, '/console/');
    await settled(page);
    const [early, late] = [await held(0), await held(1)];
    console.log(
      `held after 1,000 events ${early} bytes, after 10,000 ${late}: ${Math.round((late - early) / 9000)} bytes an event`,
    );
    assert.ok(late - early < 9000 * 40, `${early} grew to ${late}`);
    for (const go of begin) go();
  });
});
