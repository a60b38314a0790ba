// What one's own work has earned: points, badges and weeks running, each with the records behind it; the boards of teams
// and zones are the administrators'.
import assert from 'node:assert/strict';
import { api, as, narrow, open, person, picture, session, settled, test, violations } from './page.mjs';

const officer = 'safety@north.example';

// newReporter is somebody whose hazard was accepted, and what it was.
async function newReporter() {
  const email = await person('operator');
  const [hazard] = await api(email, '/v1/incidents', {
    method: 'POST',
    body: {
      kind: 'hazard',
      title: `Loose plate ${Date.now()}`,
      occurred_at: new Date(Date.now() - 36e5).toISOString(),
    },
  });
  await api(officer, `/v1/incidents?id=eq.${hazard.id}`, { method: 'PATCH', body: { status: 'triaged' } });
  return { email, hazard };
}

test('a person sees their own points and what earned them, and nobody else', async () => {
  const { email, hazard } = await newReporter();
  await as(email, async (page) => {
    await open(page, '/console/');
    await page.getByRole('link', { name: 'Engagement', exact: true }).click();
    await page.getByRole('heading', { name: 'My engagement' }).waitFor();
    const tile = (name) => page.locator('.tile').filter({ hasText: name });
    await tile('My points').getByText('8', { exact: true }).waitFor();
    await tile('Streak').getByText('1', { exact: true }).waitFor();
    await tile('Score of the month').getByText('8', { exact: true }).waitFor();
    assert.equal(await page.getByText('Teams this month').count(), 0, 'boards are for administrators');
    await settled(page);
    assert.deepEqual(await violations(page, 'engagement'), []);
    const what = page.getByRole('listitem').filter({ hasText: '+8' });
    await what.getByRole('link', { name: new RegExp(hazard.title) }).press('Enter');
    await page.waitForURL((to) => to.pathname.endsWith(`/incidents/${hazard.id}`));
    await page.goBack();
    await tile('My points').click();
    await page.getByText(/of 1 record/).waitFor();
  });
  // Of a report that turns out to be void the points go.
  await api(officer, `/v1/incidents?id=eq.${hazard.id}`, {
    method: 'PATCH',
    body: { status: 'void', void_reason: 'Seen twice' },
  });
  await as(email, async (page) => {
    await open(page, '/console/engagement');
    await page.getByRole('heading', { name: 'No points yet' }).waitFor();
    assert.deepEqual(await violations(page, 'engagement of nobody'), []);
    await page.getByRole('link', { name: 'Make a report' }).last().waitFor();
  });
});

test('administrators see teams and zones, the best first, as the server shows them', async () => {
  const admin = 'admin@north.example';
  const answer = await api(admin, '/functions/v1/safety-engagement', { headers: { 'Cache-Control': 'no-cache' } });
  await as(
    admin,
    async (page) => {
      await open(page, '/console/engagement');
      await page.getByRole('heading', { name: 'Teams this month' }).waitFor();
      await settled(page);
      const teams = await page.getByRole('region', { name: 'Teams this month' }).getByRole('link').allInnerTexts();
      assert.deepEqual(
        teams,
        answer.team_scores.map((t) => `${t.code} ${t.name}`),
      );
      const hidden = page.getByText(/teams? (is|are) not shown/);
      assert.equal(await hidden.count(), answer.suppressed ? 1 : 0);
      const best = [...answer.zone_scores].sort((x, y) => y.score - x.score || x.code.localeCompare(y.code))[0];
      const zones = page.locator('.card').filter({ has: page.getByRole('heading', { name: 'Zones this month' }) });
      assert.equal(await zones.getByRole('link').first().innerText(), `${best.code} ${best.name}`);
      assert.deepEqual(await violations(page, 'boards'), []);
      await picture(page, 'engagement');
    },
    { colorScheme: 'dark' },
  );
});

test('on a phone, in French, it fits and says what can be earned', async () => {
  const { email } = await newReporter();
  await session(email);
  await as(
    email,
    async (page) => {
      await open(page, '/console/engagement');
      await page.getByRole('heading', { name: 'Mon engagement' }).waitFor();
      await settled(page);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
      await page.getByText(/de plus à gagner/).click();
      await page.locator('details .badges li').first().waitFor();
      assert.deepEqual(await violations(page, 'engagement on a phone'), []);
    },
    { viewport: narrow, locale: 'fr-FR', hasTouch: true },
  );
});

test('points that are not read say why, and a streak over a cut list says that it is at least so long', async () => {
  const { email } = await newReporter();
  await as(email, async (page) => {
    const refusal = { status: 422, json: { code: 'HF001', message: 'no points now' } };
    await page.route('**/v1/point_events?*', (route) => route.fulfill(refusal));
    await open(page, '/console/engagement');
    const card = page.locator('.card').filter({ has: page.getByRole('heading', { name: 'What earned them' }) });
    await card.getByText('no points now').waitFor();
    await page.locator('.tile').filter({ hasText: 'My points' }).waitFor();
    assert.equal(await page.locator('main .skeleton').count(), 0, 'nothing is waited for that does not come');
    await page.unroute('**/v1/point_events?*');

    await page.route('**/v1/point_events?*', async (route) => {
      const response = await route.fetch();
      const [event] = await response.json();
      const json = Array.from({ length: 500 }, (_, i) => ({ ...event, id: `${event.id.slice(0, -4)}${1000 + i}` }));
      await route.fulfill({ response, json });
    });
    await card.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.tile').filter({ hasText: 'Streak' }).getByText('at least 1', { exact: true }).waitFor();
  });
});

test('a role that reads no points sees neither an empty list of them nor one that never comes', async () => {
  const { email } = await newReporter();
  await as(email, async (page) => {
    await page.route('**/v1/permissions', async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      delete json.collections.point_events;
      await route.fulfill({ response, json });
    });
    await open(page, '/console/engagement');
    await page.locator('.tile').filter({ hasText: 'My points' }).getByText('8', { exact: true }).waitFor();
    await settled(page);
    assert.equal(await page.getByText('What earned them').count(), 0);
    assert.equal(await page.locator('main .skeleton').count(), 0);
  });
});
