// What administrators keep: their own sign-in, settings, the state of the server; and how a new organisation begins.
import assert from 'node:assert/strict';
import { metadata } from './metadata.mjs';
import { api, as, founder, open, session, settled, test, url, violations } from './page.mjs';

const admin = 'admin@north.example';

test('a SAML provider is connected with pasted metadata, told our addresses, tried, and does not count before', async () => {
  const id = `https://idp-${Date.now()}.example.com`;
  await as(admin, async (page, context) => {
    await open(page, '/console/admin/sso');
    await page.getByRole('button', { name: 'Connect a provider' }).first().click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Kind').selectOption('saml');
    await form.getByLabel('Name', { exact: true }).fill('Staff sign-in');
    await form.getByLabel(/Paste the provider/).check();
    await form.getByLabel('Metadata (XML) *').fill('<nonsense/>');
    await form.getByRole('button', { name: 'Connect', exact: true }).click();
    await form.getByRole('alert').waitFor();
    await form.getByLabel('Metadata (XML) *').fill(metadata(id));
    await form.getByLabel('Domains').fill(`staff-${Date.now()}.example.com`);
    await form.getByRole('button', { name: 'Connect', exact: true }).click();
    const card = page.locator('.card', { has: page.getByRole('heading', { name: 'Staff sign-in' }) }).last();
    await card.getByText(`${url}/auth/v1/sso/saml/acs`).waitFor();
    await card.getByText('not proved yet').waitFor();
    assert.ok(await card.getByRole('button', { name: 'Only this way' }).isDisabled());
    const [popup] = await Promise.all([
      context.waitForEvent('page'),
      card.getByRole('button', { name: 'Test sign-in' }).click(),
    ]);
    await popup.waitForURL(/idp-\d+\.example\.com|chrome-error/, { waitUntil: 'commit' }).catch(() => undefined);
    await card.getByText('Sign in in the other window').waitFor();
    await popup.close();
    await card.getByRole('button', { name: 'Do not wait' }).click();
    assert.deepEqual(await violations(page, 'sso'), []);
    await card.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await card.waitFor({ state: 'detached' });
  });
});

test('what a test sign-in brought stands beside what is made of it', async () => {
  await as(admin, async (page) => {
    await page.route('**/auth/v1/sso/connections', (route) =>
      route.fulfill({
        json: {
          connections: [
            {
              id: '0190c2a0-0000-7000-8000-000000000001',
              kind: 'oidc',
              name: 'Staff',
              issuer: 'https://idp.example.com',
              disabled: false,
              enforced: false,
              role_map: {},
              scim: false,
              attribute_mapping: { keys: { name: { name: 'displayName' } } },
              domains: [{ domain: 'example.com', verified_at: '2026-01-01T00:00:00Z' }],
              service_provider: { callback_url: `${url}/auth/v1/callback`, scim_url: `${url}/auth/v1/scim/v2` },
              last_test_at: new Date().toISOString(),
              last_test: {
                outcome: 'ok',
                email: 'ann@example.com',
                role: 'operator',
                attributes: { displayName: 'Ann <b>Lee</b>', department: 'Dock' },
              },
            },
          ],
        },
      }),
    );
    await open(page, '/console/admin/sso');
    await page.getByText('It works: ann@example.com would come in as Operator.').waitFor();
    const row = page.getByRole('row', { name: /displayName/ });
    await row.getByText('Ann <b>Lee</b>').waitFor();
    assert.equal(await row.getByLabel('displayName is used as').inputValue(), 'name');
    assert.ok(await page.getByRole('button', { name: 'Only this way' }).isEnabled());
  });
});

test('a setting is found by its meaning, set, and shown with when', async () => {
  const [old] = await api(admin, '/v1/settings?select=id&key=eq.over_receipt_tolerance');
  if (old) await api(admin, `/v1/settings?id=eq.${old.id}`, { method: 'DELETE' });
  await as(admin, async (page) => {
    await open(page, '/console/admin/settings');
    const line = page
      .getByRole('listitem')
      .filter({ hasText: 'Share of an ordered quantity that may come in above it.' });
    await page.getByRole('searchbox', { name: 'Find a setting' }).fill('ordered quantity');
    await line.getByText('0%', { exact: true }).waitFor();
    await line.getByRole('button', { name: 'Set' }).click();
    await page.getByRole('dialog').getByLabel('Value').fill('lots');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText('This is not a number.').waitFor();
    await page.getByRole('dialog').getByLabel('Value').fill('2000');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText('setting over_receipt_tolerance must be a share from 0 to 10').waitFor();
    await page.getByRole('dialog').getByLabel('Value').fill('5');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    const now = page
      .getByRole('listitem')
      .filter({ hasText: 'Share of an ordered quantity that may come in above it.' });
    await now.getByText('5%', { exact: true }).waitFor();
    await now.getByText(/^set /).waitFor();
    assert.deepEqual(await violations(page, 'settings'), []);
  });
  const [set] = await api(admin, '/v1/settings?select=section,value&key=eq.over_receipt_tolerance');
  assert.deepEqual(set, { section: 'stock', value: 0.05 });
});

// What is typed or chosen for a setting, and what is stored, by what its value is made of.
async function setValue(form, s) {
  const box = form.getByLabel(/^Value/);
  const { type, one_of: words, unit, min, parts } = s.value;
  if (s.key === 'default_site') {
    const [site] = await api(admin, '/v1/sites?select=code&archived_at=is.null&order=code&limit=1');
    await box.selectOption(site.code);
    return site.code;
  }
  if (type === 'array') {
    await form.getByLabel('Driver', { exact: true }).check();
    return ['driver'];
  }
  if (type === 'json') {
    const number = form
      .getByRole('group', { name: 'Zone' })
      .getByLabel('Hours low')
      .or(form.getByLabel('Zone', { exact: true }))
      .first();
    await number.fill('12.5');
    return { zone: parts[0].parts ? { hours_low: 12.5 } : 12.5 };
  }
  const held =
    type === 'boolean'
      ? false
      : words
        ? words[0]
        : s.key === 'session_idle_minutes'
          ? 43200
          : Math.max(Number(min ?? 0), 90);
  if (type === 'boolean' || words) await box.selectOption(String(held));
  else await box.fill(String(held));
  return unit === 'share' ? held / 100 : held;
}

test('each setting is chosen or typed by what it is, an amount in the currency of the organisation, none as JSON', async () => {
  const { settings } = await api(admin, '/catalog.json');
  const before = await api(admin, '/v1/settings?select=id,section,key,value');
  assert.ok(settings.length > 40, `${settings.length} settings`);
  const wrong = [];
  try {
    await as(admin, async (page) => {
      await open(page, '/console/admin/settings');
      for (const s of settings) {
        const line = page.getByRole('listitem').filter({ hasText: s.doc });
        await line
          .getByRole('button', { name: /^(Set|Change .*)$/ })
          .first()
          .click();
        const form = page.getByRole('dialog');
        await form.getByRole('button', { name: 'Save' }).waitFor();
        if (s.value.unit === 'currency') await form.getByText('EUR', { exact: true }).waitFor();
        for (const text of await form.locator('input, textarea').evaluateAll((list) => list.map((x) => x.value)))
          if (/[[{"]/.test(text)) wrong.push(`${s.key} shows ${text}`);
        const wanted = await setValue(form, s);
        await form.getByRole('button', { name: 'Save' }).click();
        await form.waitFor({ state: 'detached' });
        const [now] = await api(admin, `/v1/settings?select=value&key=eq.${s.key}`);
        if (JSON.stringify(now?.value) !== JSON.stringify(wanted))
          wrong.push(`${s.key}: ${JSON.stringify(now?.value)}, not ${JSON.stringify(wanted)}`);
      }
    });
  } finally {
    for (const { id } of await api(admin, '/v1/settings?select=id')) {
      const was = before.find((x) => x.id === id);
      await api(
        admin,
        `/v1/settings?id=eq.${id}`,
        was ? { method: 'PATCH', body: { value: was.value } } : { method: 'DELETE' },
      );
    }
  }
  assert.deepEqual(wrong, []);
});

test('the state of the server says its database and how old the last backup is', async () => {
  const backup = await api(admin, '/v1/backup-status');
  await as(admin, async (page) => {
    await open(page, '/console/admin/system');
    await settled(page);
    await page
      .getByText(/SQLite|PostgreSQL/)
      .first()
      .waitFor();
    await page.getByText(backup.scheduled ? /in time|too old/ : 'not scheduled').waitFor();
    assert.deepEqual(await violations(page, 'system'), []);
  });
});

test('backups that are gone from their place are told, and a restore on trial that failed', async () => {
  const status = {
    scheduled: true,
    every_seconds: 86_400,
    last_good_at: new Date().toISOString(),
    age_seconds: 60,
    bytes: 1e6,
  };
  const away = {
    ...status,
    place: { looked_at: status.last_good_at, ok: false, missing: 2 },
    drill: { proved_at: null, problem: 'failed' },
  };
  const sound = { ...away, place: { ...away.place, ok: true, missing: 0 }, drill: { proved_at: status.last_good_at } };
  await as(admin, async (page) => {
    let answer = away;
    await page.route('**/v1/backup-status', (route) => route.fulfill({ json: answer }));
    await open(page, '/console/admin/system');
    await settled(page);
    await page.getByText('Backups are gone from their place').waitFor();
    await page.getByText('The last restore on trial failed').waitFor();
    assert.deepEqual(await violations(page, 'system'), []);
    answer = sound;
    await page.reload();
    await page.getByText('One was restored on trial').waitFor();
    assert.equal(await page.getByText('Backups are gone from their place').count(), 0);
  });
});

test("work that waits or was given up is seen, and tried again; the server's schedule stands beside it", async () => {
  const { jobs } = await api(admin, '/v1/jobs');
  assert.ok(
    jobs.some((j) => j.whose === 'server'),
    JSON.stringify(jobs.slice(0, 3)),
  );
  await as(admin, async (page) => {
    await page.route('**/v1/jobs', (route) =>
      route.fulfill({
        json: {
          jobs: [
            ...jobs,
            {
              kind: 'safety-mail',
              doc: 'mails of the safety programme',
              key: 'digest:1',
              whose: 'tenant',
              status: 'failed',
              tries: 5,
              made_at: new Date().toISOString(),
              due_at: new Date().toISOString(),
              done_at: null,
            },
          ],
        },
      }),
    );
    await open(page, '/console/admin/jobs');
    const row = page
      .getByRole('region', { name: 'For your organisation' })
      .getByRole('row', { name: /Safety mail/ })
      .filter({ hasText: 'Given up' });
    await row.getByText('Given up').waitFor();
    await page
      .getByRole('region', { name: 'The server’s own schedule' })
      .getByText('forget sessions and codes that have run out')
      .waitFor();
    assert.deepEqual(await violations(page, 'jobs'), []);
    // The row stands for one that the server has not got: its words say so.
    await row.getByRole('button', { name: 'Try now' }).click();
    await page.getByText('no such job of the tenant waits or was given up').waitFor();
    await page.unroute('**/v1/jobs');
    await page.getByRole('button', { name: 'Done', exact: true }).click();
    await page.waitForURL(/status=done/);
    const done = (await api(admin, '/v1/jobs?status=done')).jobs.filter((j) => j.whose === 'tenant').length;
    await page
      .getByText(done ? 'Try now' : 'Nothing was done yet')
      .or(page.getByRole('region', { name: 'For your organisation' }))
      .first()
      .waitFor();
  });
});

test('a log that is whole says so after a look at every row', async () => {
  await as(admin, async (page) => {
    await open(page, '/console/admin/audit');
    await page.getByRole('button', { name: 'Check every row' }).click();
    await page.getByText('Whole: no row was changed, removed or put in.').waitFor();
    await page.getByText(/\d rows are sealed/).waitFor();
    assert.deepEqual(await violations(page, 'audit'), []);
  });
});

test('when requests were refused, and by which limit, is seen afterwards', async () => {
  const key = process.env.SERVICE_ROLE_KEY;
  const set = (body) =>
    fetch(`${url}/v1/tenants?slug=eq.south`, {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${key}`, apikey: key, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
  const south = 'admin@south.example';
  const [before] = await api(south, '/v1/tenants?select=plan,limits,slug');
  assert.equal(before.slug, 'south');
  assert.equal((await set({ plan: 'custom', limits: { write: { minute: 3, burst: 3, ceiling: 5000 } } })).status, 204);
  try {
    const { access_token: token } = await session(south);
    for (let n = 0, status = 0; status !== 429; n++) {
      assert.ok(n < 60, 'no limit was reached');
      ({ status } = await fetch(`${url}/v1/items`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ sku: `LIM-${Date.now()}-${n}`, name: 'Limit' }),
      }));
    }
    await as(south, async (page) => {
      await open(page, '/console/admin/limits');
      const row = page
        .getByRole('region', { name: 'Refusals of the last seven days' })
        .getByRole('row', { name: /Writes to the database.*one person or key/ });
      await row.getByRole('cell', { name: '3', exact: true }).waitFor();
      assert.deepEqual(await violations(page, 'limits'), []);
    });
  } finally {
    await set({ plan: before.plan, limits: before.limits });
  }
});

test('a new organisation is led through what comes first, and each step is done when it is', async () => {
  const email = await founder('Brand New');
  await as(email, async (page) => {
    await page.goto(`${url}/console/`);
    await page.getByRole('button', { name: /Brand New/ }).click();
    const card = page.locator('.card', { has: page.getByRole('heading', { name: 'Set up your organisation' }) });
    await card.getByText('0 of 7 done').waitFor();
    assert.deepEqual(await violations(page, 'setup'), []);
    const made = await page.evaluate(async () => {
      const { access_token: token } = JSON.parse(localStorage.getItem('holdfast.session'));
      const r = await fetch('/v1/items', {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ sku: 'FIRST', name: 'The first' }),
      });
      return r.status;
    });
    assert.equal(made, 201);
    await page.reload();
    await card.getByText('1 of 7 done').waitFor();
    for (const [step, target] of [
      ['Draw the places', 'zones'],
      ['Bring in the items', 'items'],
      ['Bring in the stock', 'stock_levels'],
    ]) {
      await card.getByRole('link', { name: step }).click();
      await page.waitForFunction((wanted) => document.querySelector('main select')?.value === wanted, target);
      await page.goBack();
    }
    await card.getByRole('button', { name: 'Put away' }).click();
    await card.waitFor({ state: 'detached' });
  });
});
