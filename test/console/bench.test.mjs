// What bench/README.md tells of the console: first figures on a slow line and a slow processor, and what measure.mjs
// measures, and a list of as many rows as CONSOLE_ROWS says. By itself, on a quiet machine; no part of the suite.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { api, as, close, open, operator, secret, session, settled, stranger, test, url } from './page.mjs';
import { least } from './measure.mjs';

const manager = 'manager@north.example';

// slow is a telephone somewhere: 1.6 Mbit/s, 60 ms, a processor at a quarter of this one.
async function slow(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Network.enable');
  await cdp.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 60,
    downloadThroughput: 1_600_000 / 8,
    uploadThroughput: 1_600_000 / 8,
  });
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: 4 });
}

// shown is how many milliseconds after its start a page of a fresh browser shows what a selector finds, with such a text.
async function shown(path, selector, text) {
  let took = 0;
  await as(manager, async (page) => {
    await slow(page);
    await page.addInitScript(
      ([css, pattern]) => {
        const look = () => {
          const found = [...document.querySelectorAll(css)].some((e) => new RegExp(pattern).test(e.textContent ?? ''));
          if (found) window.shownAt ??= performance.now();
          else requestAnimationFrame(look);
        };
        look();
      },
      [selector, text],
    );
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
  console.log(
    `first figures ${Math.round(least(figures))} ms, empty page ${Math.round(least(empty))} ms, ratio ${ratio.toFixed(2)}`,
  );
  assert.ok(ratio <= 1.5, `${ratio}: ${figures} over ${empty}`);
});

// With CONSOLE_ROWS=1000000 the long list is as long as bench/README.md says.
const long = Number(process.env.CONSOLE_ROWS ?? 10_000);

const sku = (n) => `LONG-${String(n).padStart(7, '0')}`;

// filled is the owner of an organisation of so many items.
async function filled(count) {
  const tenant = await operator('/v1/tenants', {
    name: `Long ${count}`,
    slug: `long-${count}-${Date.now()}`,
    plan: 'custom',
    limits: { write: { minute: 100_000, burst: 50_000 }, api: { minute: 100_000, burst: 50_000 } },
  });
  const email = await stranger();
  await operator('/v1/members', {
    tenant_id: tenant.id,
    user_id: (await session(email)).user.id,
    role: 'owner',
    status: 'active',
  });
  const { refresh_token: refresh } = await session(email);
  const inside = await (
    await fetch(`${url}/auth/v1/token?grant_type=refresh_token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ refresh_token: refresh }),
    })
  ).json();
  secret(inside.access_token);
  secret(inside.refresh_token);
  Object.assign(await session(email), inside);
  for (let from = 0; from < count; from += 1000) {
    await api(email, '/v1/items', {
      method: 'POST',
      body: Array.from({ length: 1000 }, (_, n) => ({ sku: sku(from + n), name: `Item ${from + n}` })),
      headers: { Prefer: 'return=minimal' },
    });
  }
  return email;
}

// paged is how long each of some steps through a list takes from a row on: from the click to the next page's rows.
async function paged(email, steps, from) {
  const took = [];
  await as(email, async (page) => {
    await open(
      page,
      `/console/c/items?order=sku.asc&row=${from}&after=${encodeURIComponent(JSON.stringify([sku(from), '00000000-0000-0000-0000-000000000000']))}`,
    );
    await settled(page);
    for (let n = 1; n <= steps; n++) {
      took.push(
        await page.evaluate(
          ([next, first]) =>
            new Promise((done) => {
              const from = performance.now();
              new MutationObserver((_, o) => {
                if (!document.querySelector('tbody td')?.textContent?.includes(first)) return;
                o.disconnect();
                done(performance.now() - from);
              }).observe(document.body, { childList: true, subtree: true, characterData: true });
              [...document.querySelectorAll('.pager button, .pager a')]
                .find((b) => b.textContent.trim() === next)
                .click();
            }),
          ['Next', sku(from + n * 50)],
        ),
      );
      await settled(page);
    }
  });
  return took;
}

test(
  `measured: a list of ${long} rows pages within 1.5 times the time of one of 1000`,
  async () => {
    const [few, many] = [await filled(1000), await filled(long)];
    // In turns, so that both meet the same machine; the least is what the work takes.
    const [short, deep] = [[], []];
    for (let n = 0; n < 3; n++) {
      short.push(...(await paged(few, 6, 500)));
      deep.push(...(await paged(many, 6, long * 0.9)));
    }
    const ratio = least(deep) / least(short);
    console.log(
      `a page of ${long} rows ${least(deep).toFixed(1)} ms, of 1000 ${least(short).toFixed(1)} ms, ratio ${ratio.toFixed(2)}`,
    );
    assert.ok(ratio <= 1.5, `${ratio}: ${deep} over ${short}`);
  },
  300_000 + long,
);

after(close);
