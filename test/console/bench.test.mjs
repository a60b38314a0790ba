// What bench/README.md tells of the console: first figures on a slow line and a slow processor, and what measure.mjs
// measures, with as many rows as CONSOLE_ROWS says. By itself, on a machine that does nothing else; no part of the suite.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { as, close, test, url } from './page.mjs';
import { least } from './measure.mjs';

const manager = 'manager@north.example';

// slow is a telephone somewhere: 1.6 Mbit/s, 60 ms, a processor at a quarter of this one.
async function slow(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Network.enable');
  await cdp.send('Network.emulateNetworkConditions', { offline: false, latency: 60, downloadThroughput: 1_600_000 / 8, uploadThroughput: 1_600_000 / 8 });
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: 4 });
}

// shown is how many milliseconds after its start a page of a fresh browser shows what a selector finds, with such a text.
async function shown(path, selector, text) {
  let took = 0;
  await as(manager, async (page) => {
    await slow(page);
    await page.addInitScript(([css, pattern]) => {
      const look = () => {
        const found = [...document.querySelectorAll(css)].some((e) => new RegExp(pattern).test(e.textContent ?? ''));
        if (found) window.shownAt ??= performance.now();
        else requestAnimationFrame(look);
      };
      look();
    }, [selector, text]);
    await page.goto(url + path);
    took = await (await page.waitForFunction(() => window.shownAt)).jsonValue();
  });
  return took;
}

test('measured: the overview shows its first figures within 1.5 times what an empty page takes, on a slow line and a slow processor', async () => {
  const [empty, figures] = [[], []];
  for (let n = 0; n < 3; n++) {
    empty.push(await shown('/console/nothing-is-here', 'main h3', 'There is no such page'));
    figures.push(await shown('/console/', 'main .tile .value', '\\d'));
  }
  const ratio = least(figures) / least(empty);
  console.log(`first figures ${Math.round(least(figures))} ms, empty page ${Math.round(least(empty))} ms, ratio ${ratio.toFixed(2)}`);
  assert.ok(ratio <= 1.5, `${ratio}: ${figures} over ${empty}`);
});

after(close);
