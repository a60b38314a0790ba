// The training matrix: each cell says in words how a person stands, why, and leads to the record behind it.
import assert from 'node:assert/strict';
import { api, as, dayFromNow, narrow, open, picture, settled, test, violations } from './page.mjs';

const officer = 'safety@north.example';

// newCrew makes a course that a job of its own asks for, a second one that nothing asks for, and people with the job:
// one of each state.
async function newCrew() {
  const stamp = `${Date.now()}${Math.round(Math.random() * 1e4)}`;
  const title = `Signal giver ${stamp}`;
  const make = async (name, body) => (await api(officer, `/v1/${name}`, { method: 'POST', body }))[0];
  const course = await make('courses', { code: `SIG-${stamp}`, title: 'Giving signals', required_for: [title] });
  const other = await make('courses', { code: `SIX-${stamp}`, title: 'First aid at sea' });
  const people = {};
  for (const name of ['Missing', 'Valid', 'Ending', 'Ended', 'Waived', 'Assigned']) {
    const [worker] = await api('manager@north.example', '/v1/workers', {
      method: 'POST',
      body: { employee_no: `${name}-${stamp}`, name: `${name} ${stamp}`, job_title: title },
    });
    people[name.toLowerCase()] = { ...worker };
  }
  const certify = (who, until) =>
    make('training_assignments', {
      worker_id: people[who].id,
      course_id: course.id,
      status: 'completed',
      completed_at: new Date(Date.now() - 400 * 864e5).toISOString(),
      expires_on: until,
    });
  const valid = await certify('valid', dayFromNow(200));
  await certify('ending', dayFromNow(10));
  await certify('ended', dayFromNow(-10));
  const waived = await make('training_assignments', { worker_id: people.waived.id, course_id: course.id });
  await api(officer, `/v1/training_assignments?id=eq.${waived.id}`, {
    method: 'PATCH',
    body: { status: 'waived', close_reason: 'Works in the office now' },
  });
  await make('training_assignments', { worker_id: people.assigned.id, course_id: course.id });
  const path = `/console/training?job_title=${encodeURIComponent(title)}`;
  return { title, course, other, people, valid, path };
}

const cellOf = (page, person, course) =>
  page.getByRole('gridcell').getByRole('button', { name: `${person.name}, ${course.code}:` });

test('each cell says how a person stands with a course, why, and leads to the certificate', async () => {
  const { course, other, people, title, valid, path } = await newCrew();
  await as(officer, async (page) => {
    await open(page, '/console/');
    await page.getByRole('link', { name: 'Training', exact: true }).click();
    await page.getByRole('heading', { name: 'Training matrix' }).waitFor();
    await page.getByLabel('Job title').selectOption(title);
    await page.getByText('6 people', { exact: true }).waitFor();
    await settled(page);
    for (const [who, says] of Object.entries({
      missing: 'missing',
      valid: 'valid until',
      ending: 'ends on',
      ended: 'ended on',
      waived: 'waived',
      assigned: 'assigned',
    })) {
      const text = await cellOf(page, people[who], course).innerText();
      assert.ok(text.startsWith(says), `${who}: ${text}`);
    }
    assert.equal(await cellOf(page, people.valid, other).innerText(), '–', 'absence is not shown as held');
    assert.deepEqual(await violations(page, 'training'), []);
    await picture(page, 'training');

    await cellOf(page, people.valid, course).click();
    const dialog = page.getByRole('dialog', { name: `${people.valid.name}: Giving signals` });
    await dialog.getByText(`The job asks for it: ${title}.`).waitFor();
    await dialog.getByRole('link', { name: /^until/ }).click();
    await page.waitForURL((to) => to.pathname.endsWith(`/training_assignments/${valid.id}`));

    await open(page, path);
    await page.getByRole('button', { name: 'With gaps' }).click();
    await page.getByText('3 of 6 people looked at').waitFor();
    for (const who of ['missing', 'ended', 'assigned']) await cellOf(page, people[who], course).waitFor();
    await page.getByRole('button', { name: 'Ending within 30 days' }).click();
    await page.getByText('1 of 6 people looked at').waitFor();
    await cellOf(page, people.ending, course).waitFor();
  });
});

test('the matrix is walked by keys: arrows move, Enter opens, Escape gives the focus back', async () => {
  const { course, people, path } = await newCrew();
  await as(officer, async (page) => {
    await open(page, `${path}&course_id=${course.id}`);
    const order = ['assigned', 'ended', 'ending', 'missing', 'valid', 'waived'].map((who) => people[who]);
    await cellOf(page, order[0], course).focus();
    await page.keyboard.press('ArrowDown');
    await page.waitForFunction((name) => document.activeElement?.ariaLabel?.startsWith(name), order[1].name);
    await page.keyboard.press('PageDown');
    await page.waitForFunction((name) => document.activeElement?.ariaLabel?.startsWith(name), order[5].name);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('waived').first().waitFor();
    assert.deepEqual(await violations(page, 'cell of the matrix'), []);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.waitForFunction((name) => document.activeElement?.ariaLabel?.startsWith(name), order[5].name);
  });
});

test('on a phone the matrix is a list by person with the gaps first, in dark and in German too', async () => {
  const { people, path } = await newCrew();
  await as(
    officer,
    async (page) => {
      await open(page, path);
      await page.locator('.courses').first().waitFor();
      await settled(page);
      const names = await page.locator('.card h2 > a').allInnerTexts();
      const withGaps = [people.assigned, people.ended, people.missing].map((w) => w.name);
      assert.deepEqual(names.slice(0, 3), withGaps);
      assert.equal(await page.getByRole('grid').count(), 0);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
      assert.deepEqual(await violations(page, 'training on a phone'), []);
      await picture(page, 'training-phone');
      await page.getByRole('button', { name: /Giving signals.*fehlt/ }).click();
      await page.getByRole('dialog').getByText('Die Tätigkeit verlangt es').waitFor();
    },
    { viewport: narrow, colorScheme: 'dark', locale: 'de-DE' },
  );
});

test('a picker reads the own trainings, and no matrix of others', async () => {
  await as('operator@north.example', async (page) => {
    await open(page, '/console/');
    await page.getByRole('link', { name: 'Training', exact: true }).click();
    await page.waitForURL(/training_assignments/);
  });
});

const openOf = (path) => api(officer, `/v1/training_assignments?select=id,status,due_on,close_reason&${path}`);

test('cells are chosen by keys and by a thumb, and their courses assigned to all at once', async () => {
  const { course, other, people, path } = await newCrew();
  await as(officer, async (page) => {
    await open(page, path);
    await cellOf(page, people.assigned, other).focus();
    await page.keyboard.press(' ');
    await page.getByText('1 course is chosen').waitFor();
    await page.keyboard.press(' ');
    await page.getByRole('button', { name: /^Choose all 2 open gaps/ }).click();
    await page.getByText('2 courses are chosen').waitFor();
    await page.getByRole('button', { name: 'Assign', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Assign 2 courses' });
    await dialog.getByLabel('Due on').fill(dayFromNow(14));
    assert.deepEqual(await violations(page, 'assign'), []);
    await dialog.getByRole('button', { name: 'Assign', exact: true }).click();
    await page.getByText('2 courses were assigned').waitFor();
    await cellOf(page, people.missing, course).getByText('assigned').waitFor();
    await cellOf(page, people.ended, course).getByText('ended on').waitFor();
  });
  for (const who of ['missing', 'ended']) {
    const [made] = await openOf(`worker_id=eq.${people[who].id}&course_id=eq.${course.id}&status=eq.assigned`);
    assert.equal(made?.due_on, dayFromNow(14), who);
  }
  const crew = await newCrew();
  await as(
    officer,
    async (page) => {
      await open(page, crew.path);
      await page.getByRole('checkbox', { name: `Choose ${crew.people.missing.name}, ${crew.course.code}` }).click();
      await page.getByRole('button', { name: 'Assign', exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Assign', exact: true }).click();
      await page.getByText('1 course was assigned').waitFor();
    },
    { viewport: narrow, hasTouch: true },
  );
  assert.equal((await openOf(`worker_id=eq.${crew.people.missing.id}&status=eq.assigned`)).length, 1);
});

test('retraining that is overdue is named beside the valid certificate, and what another assigned is chosen no more', async () => {
  const { course, people, path } = await newCrew();
  const assign = (who, more) =>
    api(officer, '/v1/training_assignments', {
      method: 'POST',
      body: { worker_id: people[who].id, course_id: course.id, ...more },
    });
  await assign('valid', { due_on: dayFromNow(-5) });
  await as(officer, async (page) => {
    await open(page, path);
    const cell = cellOf(page, people.valid, course);
    assert.match(await cell.innerText(), /valid until .*, overdue since /);
    assert.match(await cell.getAttribute('class'), /\bbad\b/);
    await page.getByRole('button', { name: /^Choose all 2 open gaps/ }).click();
    await page.getByText('2 courses are chosen').waitFor();
    await assign('missing');
    await page.getByText('1 course is chosen').waitFor();
  });
});

test('a retry of a waiver makes no second training, and spaces are no reason', async () => {
  const { course, people, path } = await newCrew();
  const mine = `worker_id=eq.${people.missing.id}&course_id=eq.${course.id}`;
  await as(officer, async (page) => {
    await open(page, path);
    await cellOf(page, people.missing, course).click();
    await page.getByRole('button', { name: 'Waive', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: `Waive ${course.code} for ${people.missing.name}` });
    const waive = dialog.getByRole('button', { name: 'Waive', exact: true });
    await dialog.getByLabel('Why?').fill('   ');
    await waive.click();
    await dialog.getByText('Say why the person need not take the course.').waitFor();
    assert.equal((await openOf(mine)).length, 0, 'nothing is written without a reason');

    await page.route('**/training_assignments?*', (route) =>
      route.request().method() === 'PATCH' ? route.abort() : route.continue(),
    );
    await dialog.getByLabel('Why?').fill('Office');
    await waive.click();
    await dialog.getByRole('alert').waitFor();
    await page.unroute('**/training_assignments?*');
    await waive.click();
    await cellOf(page, people.missing, course).getByText('waived').waitFor();
  });
  assert.deepEqual(
    (await openOf(mine)).map((x) => [x.status, x.close_reason]),
    [['waived', 'Office']],
  );
});

test('a certificate is recorded and a course is waived from the cell, which then says so', async () => {
  const { course, people, path } = await newCrew();
  await as(officer, async (page) => {
    await open(page, path);
    await cellOf(page, people.ended, course).click();
    await page.getByRole('button', { name: 'Record a certificate' }).click();
    await page.getByRole('dialog').getByLabel('Expires on').fill(dayFromNow(300));
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await page.getByText('The certificate is recorded').waitFor();
    await cellOf(page, people.ended, course).getByText('valid until').waitFor();

    await cellOf(page, people.missing, course).click();
    await page.getByRole('button', { name: 'Waive', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: `Waive ${course.code} for ${people.missing.name}` });
    await dialog.getByLabel('Why?').fill('Never near a crane');
    await dialog.getByRole('button', { name: 'Waive', exact: true }).click();
    await cellOf(page, people.missing, course).getByText('waived').waitFor();
  });
  const [waived] = await openOf(`worker_id=eq.${people.missing.id}&course_id=eq.${course.id}`);
  assert.equal(waived.close_reason, 'Never near a crane');
  await as('manager@north.example', async (page) => {
    await open(page, path);
    await cellOf(page, people.assigned, course).click();
    await page.getByRole('link', { name: 'Open the training' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Waive', exact: true }).count(), 0, 'a manager waives nothing');
  });
});

test('the assignment by risk is looked at before it is run, and then assigns what it showed', async () => {
  const asked = await api(officer, '/functions/v1/auto-assign-training', { method: 'POST', body: {} });
  assert.ok(asked.scores_checked > 0, 'the demonstration has scores');
  const stamp = Date.now();
  const [course] = await api(officer, '/v1/courses', {
    method: 'POST',
    body: { code: `RISK-${stamp}`, title: `By risk ${stamp}`, risk_threshold: 0 },
  });
  const dry = await api(officer, '/functions/v1/auto-assign-training', { method: 'POST', body: { dry_run: true } });
  const mine = (list) => list.filter((x) => x.course_id === course.id);
  assert.ok(mine(dry.assignments).length > 0, 'somebody has a score');
  await as(officer, async (page) => {
    await open(page, '/console/training');
    await page.getByRole('button', { name: 'Assign by risk' }).click();
    const dialog = page.getByRole('dialog', { name: 'Assign by risk' });
    await dialog.getByRole('heading', { name: 'Would be assigned' }).waitFor();
    await dialog.getByText(/has [\d.]+ points; the course is due from 0/).first().waitFor();
    await settled(page);
    assert.deepEqual(await violations(page, 'assign by risk'), []);
    assert.equal((await openOf(`course_id=eq.${course.id}`)).length, 0, 'a look assigns nothing');
    const n = dry.assignments.length;
    await dialog.getByRole('button', { name: n === 1 ? 'Assign 1 course' : `Assign ${n} courses` }).click();
    await page.getByText(/courses? (was|were) assigned/).waitFor();
  });
  assert.equal((await openOf(`course_id=eq.${course.id}`)).length, mine(dry.assignments).length);
  await api(officer, `/v1/courses?id=eq.${course.id}`, { method: 'PATCH', body: { status: 'retired' } });
});
