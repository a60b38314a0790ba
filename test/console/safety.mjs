// The safety desk: a score is explained down to the reports that it counts, a verdict down to the records behind it.
import assert from 'node:assert/strict';
import { api, as, narrow, open, picture, settled, test, violations } from './page.mjs';

const officer = 'safety@north.example';
const scores = '/functions/v1/calculate-predictive-safety-scores?run=look&entity_type=zone';

test('a place is ranked by its score, and the score leads to as many reports as it counts', async () => {
  const [first] = (await api(officer, scores)).scores;
  const reports = first.inputs.incident_count + first.inputs.near_miss_count;
  assert.ok(reports > 0, 'the riskiest place of the demonstration has reports');
  const runs = (await api(officer, '/v1/score_runs?select=id')).length;
  await as(officer, async (page) => {
    await open(page, '/console/');
    await page.getByRole('link', { name: 'Risk', exact: true }).click();
    const top = page.locator('.ranking > li').first();
    assert.equal(await top.locator('.score').innerText(), String(first.score));
    await top.getByRole('link').click();
    await page.getByRole('heading', { name: `${first.score} of 100` }).waitFor();
    await page.getByRole('heading', { name: `${reports} reports behind it` }).waitFor();
    await settled(page);
    await picture(page, 'risk');
    const points = await page.locator('.terms > li > span:last-child').allInnerTexts();
    const sum = points.reduce((n, text) => n + Number.parseFloat(text), 0);
    assert.ok(Math.abs(sum - first.score) < 0.3, `${points} add up to ${first.score}`);
    await page.locator('.lines a').first().click();
    await page.waitForURL(/incidents/);
  });
  assert.equal((await api(officer, '/v1/score_runs?select=id')).length, runs, 'looking saves nothing');
});

test('a rule says in words what it looks at, and each verdict leads to the records that made it', async () => {
  // Two people with four and a half hours between two shifts, whatever the demonstration drew for its own.
  const hour = 36e5;
  for (const n of [1, 2]) {
    const [worker] = await api('manager@north.example', '/v1/workers', {
      method: 'POST',
      body: { employee_no: `REST-${n}-${Date.now()}`, name: `Short rest ${n}` },
    });
    for (const [from, to] of [
      [48, 41],
      [36.5, 30],
    ]) {
      await api('manager@north.example', '/v1/shifts', {
        method: 'POST',
        body: {
          worker_id: worker.id,
          started_at: new Date(Date.now() - from * hour).toISOString(),
          ended_at: new Date(Date.now() - to * hour).toISOString(),
          status: 'closed',
        },
      });
    }
  }
  await api(officer, '/functions/v1/check-compliance-rules', { method: 'POST', body: {} });
  const [rule] = await api(officer, '/v1/regulations?code=eq.EU-2003-88-11H&select=id,title');
  const states = await api(
    officer,
    `/v1/compliance_states?regulation_id=eq.${rule.id}&status=eq.breach&select=value,evidence&order=value.asc`,
  );
  assert.ok(states.length >= 2, 'both have too short a rest');
  assert.equal(states[0].value, 4.5);
  await as(
    officer,
    async (page) => {
      await open(page, '/console/compliance');
      await page.getByRole('button', { name: rule.title }).click();
      await page
        .getByText('The shortest rest between two shifts, over the last 14 days. Breach below 11 hours.')
        .waitFor();
      await page.getByText(`${states.length} breaches`).first().waitFor();
      const verdict = page.locator('.rules .stack > li').first();
      await verdict.getByText(`${states[0].value} hours`).waitFor();
      await verdict.getByRole('link', { name: `${states[0].evidence.length} records behind it` }).click();
      await page.getByText(`of ${states[0].evidence.length} record`).waitFor();
      await page.goBack();
      await page.getByRole('button', { name: rule.title, expanded: true }).waitFor();
    },
    { viewport: narrow },
  );
});

test('a breach that is mended turns once the rules are checked, and a page says so', async () => {
  const [rule] = await api(officer, '/v1/regulations?code=eq.GLOBAL-ACTIONS&select=id,title');
  const [state] = await api(officer, `/v1/compliance_states?select=status,evidence&regulation_id=eq.${rule.id}`);
  assert.equal(state.status, 'breach', 'the demonstration has a critical action that is overdue');
  const actions = await api(officer, `/v1/actions?select=id,due_on&id=in.(${state.evidence})`);
  const later = new Date(Date.now() + 864e5).toISOString().slice(0, 10);
  await as(officer, async (page) => {
    await open(page, '/console/compliance');
    const row = page.getByRole('button', { name: rule.title });
    await row.getByText('1 breach').waitFor();
    await row.click();
    await page.locator('.rules .stack > li').first().waitFor();
    await picture(page, 'compliance');
    for (const a of actions)
      await api(officer, `/v1/actions?id=eq.${a.id}`, { method: 'PATCH', body: { due_on: later } });
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.getByText(/verdicts? changed/).waitFor();
    await row.getByText('1 compliant').waitFor();
    for (const a of actions)
      await api(officer, `/v1/actions?id=eq.${a.id}`, { method: 'PATCH', body: { due_on: a.due_on } });
    await page.getByRole('button', { name: 'Check now' }).click();
    await row.getByText('1 breach').waitFor();
  });
});

test('a viewer finds no verdict about a single person, and reads that some are left out', async () => {
  const [rule] = await api(officer, '/v1/regulations?code=eq.EU-2003-88-11H&select=id,title');
  await as('viewer@north.example', async (page) => {
    await open(page, '/console/compliance');
    await page.getByText('Counted are the verdicts that your role may read').waitFor();
    await settled(page);
    await page.getByRole('button', { name: rule.title }).getByText('Nothing that it is about is on record').waitFor();
  });
});

test('lists, filters and records say codes of accidents by name, in the language of the person', async () => {
  const safety = 'safety@north.example';
  const [found] = await api(safety, '/v1/osha_cases?select=id&order=id&limit=1');
  await api(safety, `/v1/osha_cases?id=eq.${found.id}`, {
    method: 'PATCH',
    body: { body_part: '54', oiics_nature: '13', oiics_event: '41' },
  });
  const shown = '/console/c/osha_cases?cols=case_no,body_part,oiics_nature,oiics_event&f=body_part.eq.54';
  for (const [language, names, filter] of [
    ['en', ['54 Fingers', '13 Surface and flesh wounds', '41 Fall to lower level'], 'Part of the body'],
    ['de', ['54 Finger', '13 Surface and flesh wounds', '41 Fall to lower level'], 'Verletzter Körperteil'],
  ]) {
    await as(safety, async (page) => {
      await page.addInitScript((l) => localStorage.setItem('holdfast.language', JSON.stringify(l)), language);
      await open(page, shown);
      for (const name of names) await page.getByRole('cell', { name }).first().waitFor();
      await settled(page);
      await picture(page, `codes-${language}`);
      await page
        .getByText(new RegExp(`${filter} .* ${names[0]}`))
        .first()
        .waitFor();
      await page.setViewportSize({ width: 390, height: 844 });
      await open(page, `/console/c/osha_cases/${found.id}`);
      for (const name of names) await page.getByText(name).first().waitFor();
      await settled(page);
      await picture(page, `codes-record-${language}`);
    });
  }
});

test('the injury log shows the cases of an establishment and hands out its papers, and says why one cannot be made', async () => {
  const officer = 'admin@south.example';
  const [site] = await api(officer, '/v1/sites?select=id,code&country=eq.US&order=code&limit=1');
  const cases = await api(
    officer,
    `/v1/osha_cases?select=id,case_no,year&site_id=eq.${site.id}&recordable=eq.yes&order=year.desc`,
  );
  const year = cases[0].year;
  const ofYear = cases.filter((c) => c.year === year);
  await as(officer, async (page) => {
    await open(page, '/console/');
    await page.getByRole('link', { name: 'Injury log', exact: true }).first().click();
    await page.getByLabel('Establishment').selectOption(site.id);
    await page.getByLabel('Year').selectOption(String(year));
    const list = page.getByRole('region', { name: 'Cases' });
    await list.getByRole('link', { name: new RegExp(`^${ofYear[0].case_no} · `) }).waitFor();
    await settled(page);
    await picture(page, 'injuries');
    for (const [says, file] of [
      ['Form 300, the log', `osha-300-${site.code}-${year}.pdf`],
      ['Form 300A, the summary', `osha-300a-${site.code}-${year}.pdf`],
    ]) {
      const coming = page.waitForEvent('download');
      await page.getByRole('button', { name: `PDF: ${says}` }).click();
      assert.equal((await coming).suggestedFilename(), file);
    }
    await page.route(
      '**/v1/osha/ita-300a.csv**',
      (route) =>
        route.fulfill({
          status: 409,
          json: { code: 'HF012', message: 'the submission breaks a rule: naics: is missing' },
        }),
      { times: 1 },
    );
    await page.getByRole('button', { name: 'CSV: 300A for the Injury Tracking Application' }).click();
    await page.getByRole('alert').getByText('naics: is missing').waitFor();
    assert.deepEqual(await violations(page, 'injuries'), []);
  });
});

test('an establishment outside the United States has the papers of its own law, and a manager no names', async () => {
  await as('safety@north.example', async (page) => {
    await open(page, '/console/injuries');
    await page.getByText('Figures as Germany counts them').waitFor();
    await page.getByText('1000-Mann-Quote').waitFor();
    await page.getByText('ArbSchG § 6(2)').waitFor();
    for (const [says, file] of [
      ['Accidents for ESAW, without names', /^esaw-/],
      ['Accidents with more than three days of absence', /^accidents-/],
    ]) {
      const coming = page.waitForEvent('download');
      await page.getByRole('button', { name: `CSV: ${says}` }).click();
      assert.match((await coming).suggestedFilename(), file);
    }
    assert.equal(await page.getByText('Form 300').count(), 0);
  });
  await as('manager@north.example', async (page) => {
    await open(page, '/console/injuries');
    await page.getByText('The safety officer and administrators have the papers').waitFor();
    assert.equal(await page.getByRole('button', { name: /^CSV/ }).count(), 0);
  });
  // The demonstration's South has no manager: an administrator looks as one who may not read single cases.
  await as('admin@south.example', async (page) => {
    await page.route('**/v1/permissions', async (route) => {
      const r = await route.fetch();
      const p = await r.json();
      delete p.collections.osha_cases;
      await route.fulfill({ response: r, json: p });
    });
    await open(page, '/console/injuries');
    await page.getByText('Single cases are read by the safety officer and administrators.').waitFor();
    await page.getByRole('button', { name: 'PDF: Form 300A, the summary' }).waitFor();
    assert.equal(await page.getByRole('button', { name: /Form 300,/ }).count(), 0);
  });
});

test('an accident at a French site shows its clock, and then that it was met', async () => {
  const [site] = await api('admin@north.example', '/v1/sites', {
    method: 'POST',
    body: { code: `FR-${Date.now()}`, name: 'Lille', country: 'FR', timezone: 'Europe/Paris' },
  });
  const [incident] = await api(officer, '/v1/incidents', {
    method: 'POST',
    body: {
      kind: 'injury',
      title: 'Fall of a test',
      site_id: site.id,
      occurred_at: new Date(Date.now() - 3_600_000).toISOString(),
    },
  });
  await as(officer, async (page) => {
    await open(page, `/console/c/incidents/${incident.id}`);
    const card = page.locator('.card').filter({ has: page.getByRole('heading', { name: 'Legal clocks' }) });
    await card.getByText('Running').waitFor();
    assert.deepEqual(await violations(page, 'clocks'), []);
    await card.getByRole('link', { name: 'Declare the accident to the CPAM within 48 hours' }).click();
    await page.waitForURL(/legal_clocks/);
    await page.getByText('FR-DAT').first().waitFor();
    await page.goBack();
    await card.getByRole('button', { name: 'It is done' }).click();
    const done = page.getByRole('dialog');
    await done.getByText(/^Time in Paris/).waitFor();
    await done.getByLabel('Number of the receipt').fill('LR 2C 123');
    await done.getByLabel('Add the receipt as a file').setInputFiles({
      name: 'receipt.pdf',
      mimeType: 'application/pdf',
      buffer: Buffer.from('%PDF-1.7\n%%EOF\n'),
    });
    await card.getByText('Files (1)').waitFor();
    await done.getByRole('button', { name: 'Save' }).click();
    await card.getByText('Met', { exact: true }).waitFor();
    const [clock] = await api(
      officer,
      `/v1/legal_clocks?select=state,proof_ref&incident_id=eq.${incident.id}&code=eq.FR-DAT`,
    );
    assert.deepEqual(clock, { state: 'met', proof_ref: 'LR 2C 123' });
    // The right to doubt begins when the accident is declared; who has no doubts says so.
    await card
      .getByRole('listitem')
      .filter({ hasText: 'FR-RES' })
      .getByRole('button', { name: 'Does not apply' })
      .click();
    await page.getByRole('dialog').getByLabel('Why does it not apply? *').fill('Nobody doubts it');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await card.getByText(/Nobody doubts it/).waitFor();
  });
});
