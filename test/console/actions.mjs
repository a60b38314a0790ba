// The board of actions: by state, what is overdue first; who did it shows it, and a second person verifies.
import assert from 'node:assert/strict';
import { contentOf } from './sheet.mjs';
import {
  api,
  as,
  dayFromNow,
  founder,
  narrow,
  open,
  picture,
  session,
  settled,
  signInAgain,
  test,
  violations,
} from './page.mjs';

const officer = 'safety@north.example';
const manager = 'manager@north.example';
const admin = 'admin@north.example';

const userOf = async (email) => (await session(email)).user.id;

// addAction makes an action of a level of control, so that a board may show it with few others.
async function addAction(title, more = {}) {
  const [made] = await api(officer, '/v1/actions', {
    method: 'POST',
    body: { title: `${title} ${Date.now()}${Math.round(Math.random() * 1e4)}`, ...more },
  });
  return made;
}

const changeAction = (id, set, who = officer) => api(who, `/v1/actions?id=eq.${id}`, { method: 'PATCH', body: set });

const readAction = async (id) => (await api(officer, `/v1/actions?id=eq.${id}`))[0];

const columnOf = (page, name) => page.getByRole('region', { name, exact: true });
const cardOf = (page, x) => page.getByRole('listitem').filter({ hasText: x.action_no });

test('the board has the states in order, what is overdue first, and its figures lead to their records', async () => {
  const [incident] = await api(officer, '/v1/incidents?select=id,incident_no&status=neq.void&limit=1');
  const later = await addAction('Later', { control_level: 'substitute', due_on: dayFromNow(3) });
  const late = await addAction('Late', {
    control_level: 'substitute',
    due_on: dayFromNow(-4),
    source: 'incident',
    incident_id: incident.id,
    assignee_user_id: await userOf(manager),
  });
  await as(officer, async (page) => {
    await open(page, '/console/');
    await page.getByRole('link', { name: 'Actions', exact: true }).click();
    await page.getByRole('heading', { name: 'Actions', exact: true }).waitFor();
    await page.getByLabel('Level of control').selectOption('substitute');
    await page.waitForURL(/level=substitute/);
    await cardOf(page, late).waitFor();
    const names = await page.locator('.board > section').evaluateAll((list) => list.map((s) => s.ariaLabel));
    assert.deepEqual(names, ['Open', 'In progress', 'Done', 'Verified', 'Cancelled']);
    const open_ = columnOf(page, 'Open');
    const titles = await open_.locator('.action-title').allInnerTexts();
    assert.ok(titles.indexOf(late.title) >= 0 && titles.indexOf(late.title) < titles.indexOf(later.title), titles);
    const card = cardOf(page, late);
    await card.getByText('4 days overdue').waitFor();
    await card.getByText('Substitute', { exact: true }).waitFor();
    await card.getByRole('link', { name: incident.incident_no }).waitFor();
    await cardOf(page, later).getByText('due in 3 days').waitFor();
    assert.deepEqual(await violations(page, 'actions'), []);
    await picture(page, 'actions');

    await page.getByRole('button', { name: 'Overdue' }).click();
    await page.waitForURL(/late=1/);
    await cardOf(page, later).waitFor({ state: 'detached' });
    await cardOf(page, late).waitFor();
    await page.getByRole('button', { name: 'Table' }).click();
    await page
      .getByRole('row', { name: new RegExp(late.title) })
      .getByText('4 days overdue')
      .waitFor();
    await page.reload();
    await page.getByRole('row', { name: new RegExp(late.title) }).waitFor();
    assert.deepEqual(await violations(page, 'actions as a table'), []);

    await open(page, '/console/actions?level=substitute');
    const counted = await columnOf(page, 'Open').locator('h2 a').innerText();
    await columnOf(page, 'Open').locator('h2 a').click();
    await page.getByText(new RegExp(`of ${counted} records?$`)).waitFor();
  });
});

test('the board is led by keys: begun, done with a note, and verified by another person alone', async () => {
  const x = await addAction('Rail', { control_level: 'engineer', priority: 'high' });
  const path = '/console/actions?level=engineer';
  await as(officer, async (page) => {
    await open(page, path);
    await cardOf(page, x).locator('.action-title').focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await columnOf(page, 'In progress').getByText(x.action_no).first().waitFor();
    await page.waitForFunction((id) => document.activeElement?.id === `action-${id}`, x.id);

    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: `Done: ${x.title}` });
    await dialog.getByRole('button', { name: 'Mark as done' }).click();
    await dialog.getByText('What is urgent is done once something shows it').waitFor();
    await dialog.getByLabel('What was done').fill('New rail, bolted');
    await page.reload();
    await cardOf(page, x).getByRole('button', { name: 'Mark as done' }).press('Enter');
    assert.equal(await dialog.getByLabel('What was done').inputValue(), 'New rail, bolted', 'nothing typed is lost');
    assert.deepEqual(await violations(page, 'done'), []);
    await dialog.getByRole('button', { name: 'Mark as done' }).press('Enter');
    await columnOf(page, 'Done').getByText(x.action_no).first().waitFor();

    await cardOf(page, x).getByRole('button', { name: 'Verify' }).click();
    const own = page.getByRole('dialog', { name: `Verify: ${x.title}` });
    await own.getByText('a second person verifies it').waitFor();
    assert.equal(await own.getByRole('button', { name: 'Verify' }).count(), 0);
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => document.activeElement?.textContent?.startsWith('Verify'));
  });
  await as(manager, async (page) => {
    await open(page, path);
    await cardOf(page, x)
      .getByRole('button', { name: /^More for/ })
      .click();
    await page.getByRole('button', { name: 'Send back' }).click();
    const back = page.getByRole('dialog', { name: `Send back: ${x.title}` });
    await back.getByLabel('What is still to be done?').fill('Paint');
    // The comment is refused: the action is back at work, and what is said is sent once more, as it is by then.
    const refusal = { status: 422, json: { code: 'HF001', message: 'not now' } };
    await page.route('**/v1/comments?*', (route) => route.fulfill(refusal), { times: 1 });
    await back.getByRole('button', { name: 'Send back' }).click();
    await back.getByText('What you say is not beside it yet').waitFor();
    assert.equal((await readAction(x.id)).status, 'in_progress');
    await back.getByLabel('What is still to be done?').fill('Paint it');
    await back.getByRole('button', { name: 'Send the comment' }).click();
    await back.waitFor({ state: 'hidden' });
    await columnOf(page, 'In progress').getByText(x.action_no).first().waitFor();
    assert.deepEqual(await api(officer, `/v1/comments?action_id=eq.${x.id}&select=text`), [{ text: 'Paint it' }]);

    await changeAction(x.id, { status: 'done' });
    await page.reload();
    await cardOf(page, x).getByRole('button', { name: 'Verify' }).click();
    const dialog = page.getByRole('dialog', { name: `Verify: ${x.title}` });
    await dialog.getByText('New rail, bolted').waitFor();
    await dialog.getByLabel('Look again on').fill(dayFromNow(60));
    assert.deepEqual(await violations(page, 'verify'), []);
    // Somebody changes it first: the next try is about the action as it is by then.
    let isChanged = false;
    await page.route('**/v1/actions?*', async (route) => {
      if (route.request().method() === 'PATCH' && !isChanged) {
        isChanged = true;
        await changeAction(x.id, { description: 'Along the ramp' });
      }
      await route.continue();
    });
    await dialog.getByRole('button', { name: 'Verify' }).click();
    await dialog.getByText('Load the record again').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await dialog.getByRole('button', { name: 'Verify' }).click();
    await columnOf(page, 'Verified').getByText(x.action_no).first().waitFor();
  });
  const done = await readAction(x.id);
  assert.equal(done.status, 'verified');
  assert.equal(done.review_on, dayFromNow(60));
  assert.equal(done.verifier_user_id, await userOf(manager));
});

test('on a phone one state is shown at a time, and a photo shows what is done', async () => {
  const x = await addAction('Cable', { control_level: 'eliminate', priority: 'critical', due_on: dayFromNow(0) });
  await changeAction(x.id, { status: 'in_progress' });
  await as(
    officer,
    async (page) => {
      await open(page, '/console/actions?level=eliminate');
      await settled(page);
      assert.equal(await page.locator('.board > section').count(), 1);
      await page.getByRole('tab', { name: /^In Arbeit/ }).click();
      await page.waitForURL(/state=in_progress/);
      await cardOf(page, x).getByText('heute fällig').waitFor();
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
      assert.deepEqual(await violations(page, 'actions on a phone'), []);
      await picture(page, 'actions-phone');
      await cardOf(page, x).getByRole('button', { name: 'Als fertig melden' }).click();
      const dialog = page.getByRole('dialog', { name: `Fertig: ${x.title}` });
      const [chooser] = await Promise.all([page.waitForEvent('filechooser'), dialog.getByText('Foto').first().click()]);
      await chooser.setFiles({
        name: 'cable.pdf',
        mimeType: 'application/pdf',
        buffer: Buffer.from('%PDF-1.7\n%%EOF\n'),
      });
      await dialog.getByRole('button', { name: 'cable.pdf', exact: true }).waitFor();
      await dialog.getByRole('button', { name: 'Als fertig melden' }).click();
      await cardOf(page, x).waitFor({ state: 'detached' });
      await page.getByRole('tab').nth(2).click();
      await cardOf(page, x).waitFor();
    },
    { viewport: narrow, colorScheme: 'dark', locale: 'de-DE', hasTouch: true },
  );
  assert.equal((await readAction(x.id)).status, 'done');
});

test('many are handed to somebody in one request; what was decided meanwhile stays and is said', async () => {
  const mine = { control_level: 'administrate', assignee_user_id: await userOf(officer) };
  const titles = ['Sign A', 'Sign B', 'Sign C', 'Sign D', 'Sign E'];
  const list = await Promise.all(titles.map((title) => addAction(title, mine)));
  const [a, , over, dropped, taken] = list;
  const to = await userOf(manager);
  const other = await userOf(admin);
  await as(officer, async (page) => {
    await open(page, '/console/actions?level=administrate');
    const status = page.locator('main span[role=status]'); // a board that is read says so in another one
    await status.waitFor({ state: 'attached' });
    for (const x of list) await page.getByRole('checkbox', { name: `Choose ${x.action_no}` }).press('Space');
    await status.getByText('5 actions are chosen').waitFor();
    assert.equal(await status.getByRole('button').count(), 0, 'a status is read out, buttons are not');
    await page.getByRole('button', { name: 'Reassign' }).click();
    const dialog = page.getByRole('dialog', { name: /^Reassign/ });
    await dialog.getByLabel('Who takes them over?').selectOption(to);
    await dialog.getByText(/^So far: \S.*: 5$/).waitFor();
    assert.deepEqual(await violations(page, 'reassign'), []);

    // Somebody decides about three of them before the page hears of it.
    const asked = [];
    await page.route(/\/v1\/actions\?/, async (route) => {
      if (route.request().method() !== 'PATCH') return route.continue();
      asked.push(new URL(route.request().url()).search);
      if (asked.length === 1) {
        await changeAction(over.id, { status: 'done' });
        await changeAction(dropped.id, { status: 'cancelled', cancel_reason: 'Not needed' });
        await changeAction(taken.id, { assignee_user_id: other });
      }
      return route.continue();
    });
    await dialog.getByRole('button', { name: 'Reassign 5 actions' }).click();
    await dialog.getByText('not to be done any more: ').waitFor();
    await dialog.getByText(`${over.action_no} ${over.title} (Done)`).waitFor();
    await dialog.getByText(`${dropped.action_no} ${dropped.title} (Cancelled)`).waitFor();
    await dialog.getByText(new RegExp(`given to somebody else meanwhile: ${taken.action_no}`)).waitFor();
    assert.equal(asked.length, 1, 'one request');
    assert.equal((await readAction(taken.id)).assignee_user_id, other, "nobody's newer decision is overwritten");

    // Shown whose it is by now, the reader may still hand it over; what was handed over is asked no more.
    await dialog.getByRole('button', { name: 'Reassign 1 action' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.ok(!asked[1].includes(a.id), asked[1]);
    await page.waitForFunction((id) => document.activeElement?.id === `action-${id}`, taken.id);
  });
  for (const x of [...list.slice(0, 2), taken]) assert.equal((await readAction(x.id)).assignee_user_id, to, x.title);
  for (const x of [over, dropped]) assert.notEqual((await readAction(x.id)).assignee_user_id, to, x.title);
});

test('what waits is shown however much is done, and counted by the server', async () => {
  const owner = await founder('Busy');
  await signInAgain(owner);
  const post = (path, body) => api(owner, path, { method: 'POST', body });
  const [site] = await post('/v1/sites', { code: 'BUSY', name: 'Busy', country: 'DE', timezone: 'Europe/Berlin' });
  const occurred_at = new Date(Date.now() - 36e5).toISOString();
  const [incident] = await post('/v1/incidents', { kind: 'hazard', title: 'Ramp', site_id: site.id, occurred_at });
  const bulk = Array.from({ length: 1001 }, (_, i) => ({
    title: `Swept ${i}`,
    source: 'incident',
    incident_id: incident.id,
  }));
  for (let i = 0; i < bulk.length; i += 500) await post('/v1/actions', bulk.slice(i, i + 500));
  for (const status of ['in_progress', 'done'])
    for (let left = bulk.length; left > 0; left -= 500) {
      const from = status === 'done' ? 'in_progress' : 'open';
      const rows = await api(owner, `/v1/actions?status=eq.${from}&select=id&limit=500`);
      if (!rows.length) break;
      const ids = rows.map((x) => x.id).join();
      await api(owner, `/v1/actions?id=in.(${ids})&select=id`, { method: 'PATCH', body: { status } });
    }
  const [late] = await post('/v1/actions', { title: 'Still open', due_on: dayFromNow(-2) });
  await as(owner, async (page) => {
    await open(page, '/console/actions');
    await cardOf(page, late).waitFor();
    await page.getByText('1 to be done, 1 of them overdue').waitFor();
    await columnOf(page, 'Done')
      .getByRole('heading', { name: /1[.,]?001/ })
      .waitFor();
    assert.equal(await page.getByText('Nothing waits to be begun').count(), 0);
    // Under a site the incident is joined, and is no part of what is counted.
    await open(page, `/console/actions?site=${site.id}`);
    await columnOf(page, 'Done')
      .getByRole('heading', { name: /1[.,]?001/ })
      .waitFor();
    await columnOf(page, 'Open').getByText('No action matches').waitFor();
  });
});

test('a picker sees their own actions, and cancelling asks for the reason', async () => {
  const picker = 'operator@north.example';
  const own = await addAction('Mop', { assignee_user_id: await userOf(picker), control_level: 'ppe' });
  const other = await addAction('Other', { control_level: 'ppe' });
  await as(picker, async (page) => {
    await open(page, '/console/actions?level=ppe');
    await cardOf(page, own).waitFor();
    assert.equal(await cardOf(page, other).count(), 0);
    assert.equal(await page.getByRole('checkbox', { name: /^Choose/ }).count(), 0, 'a picker reassigns nothing');
    await page.getByText('of what you may see').waitFor();
  });
  await as(officer, async (page) => {
    await open(page, '/console/actions?level=ppe');
    await cardOf(page, other)
      .getByRole('button', { name: /^More for/ })
      .click();
    await page.getByRole('button', { name: 'Cancel the action', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: `Cancel: ${other.title}` });
    await dialog.getByLabel('Why?').fill('  ');
    await dialog.getByRole('button', { name: 'Cancel the action' }).click();
    await dialog.getByText('Say why it is not done.').waitFor();
    await dialog.getByLabel('Why?').fill('Not needed');
    await dialog.getByRole('button', { name: 'Cancel the action' }).click();
    await columnOf(page, 'Cancelled').getByText(other.action_no).first().waitFor();

    await open(page, '/console/actions?person=none&late=1&level=substitute&who=mine');
    await page.getByRole('heading', { name: 'No action matches' }).waitFor();
    assert.deepEqual(await violations(page, 'no action'), []);

    // Under a filter a column says that nothing matches, not that nothing was verified.
    await addAction('Late cap', { control_level: 'ppe', due_on: dayFromNow(-1) });
    await open(page, '/console/actions?late=1&level=ppe');
    await columnOf(page, 'Verified').getByText('No action matches').waitFor();
  });
});

test('the actions of the board are saved as PDF, narrowed as the board is', async () => {
  const shown = await addAction('On paper', { control_level: 'eliminate', due_on: dayFromNow(2) });
  const other = await addAction('Not on paper', { control_level: 'ppe', due_on: dayFromNow(2) });
  await as(officer, async (page) => {
    await open(page, '/console/actions?level=eliminate');
    await settled(page);
    const file = page.waitForEvent('download');
    await page.getByRole('button', { name: 'PDF', exact: true }).click();
    const text = contentOf(await (await file).path());
    assert.ok(text.includes(shown.title) && text.includes('Control level: Eliminate'), text);
    assert.ok(!text.includes(other.title), text);
  });
});
