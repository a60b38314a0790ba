// The desk of whoever answers for safety: what waits, how the months went, where it is worst. Each figure leads to as
// many records as it counts.
import assert from 'node:assert/strict';
import { api, as, engine, narrow, open, person, picture, settled, test, violations } from './page.mjs';

const officer = 'safety@north.example';
const fresh = { headers: { 'Cache-Control': 'no-cache' } };
const overview = (who = officer) => api(who, '/functions/v1/safety-overview', fresh);
const look = engine === 'postgresql' ? { colorScheme: 'dark' } : { colorScheme: 'light' };

// counted is how many records a list says there are.
async function counted(page) {
  const text = await page.getByText(/of [\d,]+ records?/).innerText();
  return Number(/of ([\d,]+) record/.exec(text)[1].replace(',', ''));
}

test('what waits stands first, and each figure leads to as many records as it counts', async () => {
  const { user_id: me } = await api(officer, '/v1/permissions');
  await api(officer, '/v1/actions', {
    method: 'POST',
    body: { title: 'Rail of dock 3', due_at: new Date(Date.now() - 36e5).toISOString(), assignee_user_id: me },
  });
  await as(
    officer,
    async (page) => {
      await open(page, '/console/');
      await page.getByRole('link', { name: 'Safety overview', exact: true }).click();
      await page.getByRole('heading', { name: 'What waits for me' }).waitFor();
      await page.getByRole('link', { name: 'Rail of dock 3' }).waitFor();
      await settled(page);
      assert.deepEqual(await violations(page, 'safety overview'), []);
      await picture(page, 'safety-overview');
      const o = await overview();

      const back = async () => {
        await page.goBack();
        await page.getByRole('heading', { name: 'What waits for me' }).waitFor();
      };
      const waits = page.locator('.waits > .card').filter({ hasText: 'My overdue actions' });
      await waits.getByText(String(o.waiting.my_overdue_actions), { exact: true }).waitFor();
      await waits.getByRole('link', { name: 'All of them' }).click();
      assert.equal(await counted(page), o.waiting.my_overdue_actions);
      await back();

      for (const [name, count] of [
        ['Reports', o.window.reports],
        ['Critical reports', o.window.by_severity.critical],
        ['Near misses per injury', o.window.by_category.near_miss + o.window.by_category.injury],
        ['Actions done in time', o.window.actions_due],
        ['Inspections done in time', o.window.inspections_due],
      ]) {
        assert.ok(count > 0, `the demonstration has ${name}`);
        const tile = page.locator('.tile').filter({ has: page.getByText(name, { exact: true }) });
        await tile.press('Enter');
        assert.equal(await counted(page), count, name);
        await back();
      }

      await page.getByText('Month by month, as a table').click();
      const rows = page.getByRole('region', { name: 'Month by month' }).locator('tbody tr');
      assert.equal(await rows.count(), 12);
      const [busiest] = o.months.map((m, i) => [m.reports, 11 - i]).toSorted((x, y) => y[0] - x[0]);
      await rows.nth(busiest[1]).getByRole('link').first().click();
      assert.equal(await counted(page), busiest[0]);
    },
    look,
  );
});

test('rates say what they stand on, and the riskiest are places and machines with the reason', async () => {
  const rates = await api(officer, '/functions/v1/safety-rates', fresh);
  const o = await overview();
  assert.ok(o.riskiest.length > 0, 'the demonstration has scores');
  await as(officer, async (page) => {
    await open(page, '/console/safety');
    const own = page.locator('.card').filter({ has: page.getByRole('heading', { name: 'All sites' }) });
    const trir = own.getByRole('listitem').filter({ hasText: 'TRIR' });
    await trir.getByText(String(rates.trir.value), { exact: true }).waitFor();
    await trir.getByText(`between ${rates.trir.low} and ${rates.trir.high}`).waitFor();
    const { deaths, days_away: away, restricted, other } = rates.cases;
    await trir.getByRole('link').click();
    assert.equal(await counted(page), deaths + away + restricted + other);
    await page.goBack();
    for (const r of rates.regimes)
      for (const f of r.figures) await page.getByText(f.name, { exact: false }).first().waitFor();
    const first = page.locator('.ranking > li').first();
    assert.equal(await first.locator('.score').innerText(), String(o.riskiest[0].score));
    await first.getByText(/in 30 days/).waitFor();
    await first.getByRole('link').click();
    await page.getByRole('heading', { name: /of 100/ }).waitFor();
  });
});

test('on a phone, in German, it fits; a viewer sees no cases, and the floor has no such page', async () => {
  await as(
    officer,
    async (page) => {
      await open(page, '/console/safety');
      await page.getByRole('heading', { name: 'Was auf mich wartet' }).waitFor();
      await page.locator('.ranking').waitFor();
      await page.getByText('Monat für Monat als Tabelle').click();
      await settled(page);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
      assert.deepEqual(await violations(page, 'safety overview on a phone'), []);
      await picture(page, 'safety-overview-phone');
    },
    { viewport: narrow, locale: 'de-DE', hasTouch: true, ...look },
  );
  await as(await person('viewer'), async (page) => {
    await open(page, '/console/safety');
    await page.getByRole('heading', { name: 'How it went' }).waitFor();
    assert.equal(await page.getByText('TRIR').count(), 0, 'hours and cases are for those who lead');
    assert.equal(await page.getByText('Deadlines of the law').count(), 0);
    await settled(page);
    assert.deepEqual(await violations(page, 'safety overview of a viewer'), []);
  });
  await as(await person('operator'), async (page) => {
    await open(page, '/console/');
    await page.getByRole('link', { name: 'Incidents', exact: true }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Safety overview' }).count(), 0);
    await open(page, '/console/safety');
    await page.getByRole('heading', { name: 'This page is for those who lead' }).waitFor();
  });
});

test('of nothing there is no success: an organisation without records says so in words', async () => {
  await as(officer, async (page) => {
    await page.route('**/functions/v1/safety-overview*', async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      for (const m of [json.window, ...json.months]) {
        Object.assign(m, {
          reports: 0,
          by_category: { injury: 0 },
          by_severity: { low: 0 },
          near_misses_per_injury: null,
        });
        Object.assign(m, { actions_due: 0, actions_in_time: 0, actions_in_time_share: null });
        Object.assign(m, { inspections_due: 0, inspections_in_time: 0, inspections_in_time_share: null });
        const none = { value: null, low: null, high: null };
        Object.assign(m.work, { hours_worked: null, recordable_cases: 0, trir: none, dart: none, ltifr: none });
      }
      Object.assign(json, { recent_incidents: [], riskiest: [] });
      await route.fulfill({ response, json });
    });
    await open(page, '/console/safety');
    await page.locator('.tile').filter({ hasText: 'Actions done in time' }).getByText('none was due').waitFor();
    await page.getByText('no injury on record, so there is no ratio').waitFor();
    await page.getByText(/No place or machine has a score/).waitFor();
    assert.ok((await page.getByText('does not say that nothing happened').count()) > 1);
    assert.equal(await page.getByText('100%').count(), 0, 'nothing due is no success');
    await settled(page);
    assert.deepEqual(await violations(page, 'safety overview of nothing'), []);
  });
});
