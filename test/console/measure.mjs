// What the console costs, as ratios within one run: a long list, and a day of events.
import assert from 'node:assert/strict';
import { api, as, open, operator, secret, session, settled, stranger, test, url } from './page.mjs';

const manager = 'manager@north.example';
export const least = (list) => Math.min(...list);

// With CONSOLE_ROWS=1000000 the long list is as long as bench/README.md says.
const long = Number(process.env.CONSOLE_ROWS ?? 10_000);

const sku = (n) => `LONG-${String(n).padStart(7, '0')}`;

// filled is the owner of an organisation of so many items.
async function filled(count) {
  const tenant = await operator('/v1/tenants', { name: `Long ${count}`, slug: `long-${count}-${Date.now()}`, plan: 'custom', limits: { write: { minute: 100_000, burst: 50_000 }, api: { minute: 100_000, burst: 50_000 } } });
  const email = await stranger();
  await operator('/v1/members', { tenant_id: tenant.id, user_id: (await session(email)).user.id, role: 'owner', status: 'active' });
  const { refresh_token: refresh } = await session(email);
  const inside = await (await fetch(`${url}/auth/v1/token?grant_type=refresh_token`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ refresh_token: refresh }) })).json();
  secret(inside.access_token);
  secret(inside.refresh_token);
  Object.assign(await session(email), inside);
  for (let from = 0; from < count; from += 1000) {
    await api(email, '/v1/items', { method: 'POST', body: Array.from({ length: 1000 }, (_, n) => ({ sku: sku(from + n), name: `Item ${from + n}` })), headers: { Prefer: 'return=minimal' } });
  }
  return email;
}

// paged is how long each of some steps through a list takes from a row on: from the click to the next page's rows.
async function paged(email, steps, from) {
  const took = [];
  await as(email, async (page) => {
    await open(page, `/console/c/items?order=sku.asc&row=${from}&after=${encodeURIComponent(JSON.stringify([sku(from), '00000000-0000-0000-0000-000000000000']))}`);
    await settled(page);
    for (let n = 1; n <= steps; n++) {
      took.push(await page.evaluate(([next, first]) => new Promise((done) => {
        const from = performance.now();
        new MutationObserver((_, o) => {
          if (!document.querySelector('tbody td')?.textContent?.includes(first)) return;
          o.disconnect();
          done(performance.now() - from);
        }).observe(document.body, { childList: true, subtree: true, characterData: true });
        [...document.querySelectorAll('.pager button, .pager a')].find((b) => b.textContent.trim() === next).click();
      }), ['Next', sku(from + n * 50)]));
      await settled(page);
    }
  });
  return took;
}

test(`measured: a list of ${long} rows pages within 1.5 times the time of one of 1000`, async () => {
  const [few, many] = [await filled(1000), await filled(long)];
  // In turns, so that both meet the same machine; the least is what the work takes.
  const [short, deep] = [[], []];
  for (let n = 0; n < 3; n++) {
    short.push(...(await paged(few, 6, 500)));
    deep.push(...(await paged(many, 6, long * 0.9)));
  }
  const ratio = least(deep) / least(short);
  console.log(`a page of ${long} rows ${least(deep).toFixed(1)} ms, of 1000 ${least(short).toFixed(1)} ms, ratio ${ratio.toFixed(2)}`);
  assert.ok(ratio <= 1.5, `${ratio}: ${deep} over ${short}`);
}, 300_000 + long);

test('measured: an open overview holds no more after 10,000 events than after 1,000', async () => {
  const events = (from, count) => Array.from({ length: count }, (_, n) => `id: ${from + n}\nevent: stock.moved\ndata: {"n":${from + n}}\n\n`).join('');
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
      const again = page.waitForRequest(/get-dashboard-snapshot-v2/);
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
    console.log(`held after 1,000 events ${early} bytes, after 10,000 ${late}: ${Math.round((late - early) / 9000)} bytes an event`);
    assert.ok(late - early < 9000 * 40, `${early} grew to ${late}`);
    for (const go of begin) go();
  });
});
