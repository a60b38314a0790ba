// The register of risks: units and risks are entered by pressing, counted by how large they are, published and printed.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { api, as, dayFromNow, narrow, open, picture, settled, test, violations } from './page.mjs';

const officer = 'safety@north.example';
const make = async (name, body) => (await api(officer, `/v1/${name}`, { method: 'POST', body }))[0];

// newSite is a site of its own, so that what others enter is not counted.
async function newSite() {
  const stamp = `${Date.now()}${Math.round(Math.random() * 1e4)}`;
  const body = { code: `REG-${stamp}`, name: `Hall ${stamp}` };
  const [site] = await api('admin@north.example', '/v1/sites', { method: 'POST', body });
  return { ...site, stamp, path: `/console/register?site=${site.id}` };
}

const choose = async (page, form, label, text) => {
  const box = form.getByLabel(label, { exact: true });
  await box.fill(text);
  const found = page.locator(`datalist option[value*="${text}"]`).first();
  await found.waitFor({ state: 'attached' });
  await box.fill(await found.getAttribute('value'));
};

test('a unit and a risk are entered by pressing, published with the gaps named, and saved as PDF', async () => {
  const site = await newSite();
  await as(officer, async (page) => {
    await open(page, '/console/');
    await page.getByRole('link', { name: 'Risk register', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Risk register' }).waitFor();
    await page.getByLabel('Site', { exact: true }).selectOption(site.id);
    await page.getByText('No work unit is in the register').waitFor();
    assert.deepEqual(await violations(page, 'an empty register'), []);

    await page.getByRole('button', { name: 'New work unit' }).first().click();
    const unit = page.getByRole('dialog');
    await unit.getByLabel('Code *').fill(`U-${site.stamp}`);
    await unit.getByLabel('Name *').fill('Loading dock');
    await unit.getByLabel('People exposed').fill('14');
    assert.deepEqual(await violations(page, 'a new unit'), []);
    await unit.getByRole('button', { name: 'Create' }).click();
    await unit.waitFor({ state: 'detached' });
    await page.getByText('14 people').waitFor();

    await page.getByRole('button', { name: 'New risk entry' }).click();
    const form = page.getByRole('dialog');
    await choose(page, form, 'Work unit *', `U-${site.stamp}`);
    await form.getByLabel('Hazard family *').selectOption('powered_truck');
    await form.getByLabel('Situation *').fill('People walk where trucks turn');
    await form.getByLabel('Severity before').selectOption('critical');
    await form.getByLabel('Likelihood before').fill('4');
    await form.getByLabel('Measure', { exact: true }).fill('Barriers between lanes');
    await form.getByLabel('Control level').selectOption('engineer');
    await form.getByLabel('Severity after').selectOption('critical');
    await form.getByLabel('Likelihood after').fill('5');
    assert.deepEqual(await violations(page, 'a new risk'), []);
    await picture(page, 'register-new');
    await form.getByRole('button', { name: 'Create' }).click();
    await form
      .getByText(/likelihood_after lies above/)
      .first()
      .waitFor();
    await form.getByLabel('Likelihood after').fill('1');
    await form.getByRole('button', { name: 'Create' }).click();
    await form.waitFor({ state: 'detached' });
    await page.getByText('People walk where trucks turn').waitFor();
    await page.getByRole('link', { name: '1 risk: Critical × 4' }).waitFor();

    await page.getByRole('button', { name: 'Publish' }).click();
    const ask = page.getByRole('dialog');
    await ask.getByText('The register has 1 gap').waitFor();
    await ask.getByText('nobody is responsible').waitFor();
    const publish = ask.getByRole('button', { name: 'Publish' });
    assert.ok(await publish.isDisabled(), 'published without a word about the gaps');
    await ask.getByLabel('Reason').selectOption('important_change');
    await ask.getByLabel('Publish all the same: the version lists them').check();
    assert.deepEqual(await violations(page, 'publishing'), []);
    await publish.click();
    await ask.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: `Version 1 · ${site.code} · ${site.name}` }).waitFor();
    await settled(page);
    assert.deepEqual(await violations(page, 'the register'), []);
    await picture(page, 'register-published');

    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'PDF' }).click();
    const file = await saved;
    const body = await readFile(await file.path());
    assert.match(file.suggestedFilename(), /^Risk-register-.*\.pdf$/);
    assert.equal(body.subarray(0, 5).toString(), '%PDF-');
    const [version] = await api(officer, `/v1/risk_register_versions?site_id=eq.${site.id}`);
    assert.deepEqual([version.number, version.gaps, version.reason], [1, 1, 'important_change']);

    await page.getByRole('link', { name: /^Version 1/ }).click();
    await page.getByText(version.sha256).waitFor();
    assert.doesNotMatch(await page.locator('main').innerText(), /entry_no|Owner user|[0-9a-f]{8}-[0-9a-f]{4}-/i);
  });
});

// filled is a site with two units and risks of several sizes, one of them overdue for review.
async function filled() {
  const site = await newSite();
  const unit = await make('work_units', { code: `D-${site.stamp}`, name: 'Dock', site_id: site.id, headcount: 12 });
  const other = await make('work_units', { code: `O-${site.stamp}`, name: 'Office', site_id: site.id });
  const risk = (more) => make('risk_entries', { unit_id: unit.id, hazard_family: 'noise', ...more });
  await risk({ situation: 'Loud fans', severity_before: 'medium', likelihood_before: 5 });
  await risk({
    situation: 'Falls from the ramp',
    hazard_family: 'fall_height',
    severity_before: 'critical',
    likelihood_before: 4,
    measure: 'Rails',
    severity_after: 'critical',
    likelihood_after: 1,
  });
  await risk({ situation: 'Nobody has looked', hazard_family: 'thermal' });
  const due = await risk({
    situation: 'Pace of work',
    hazard_family: 'psychosocial',
    unit_id: other.id,
    severity_before: 'low',
    likelihood_before: 2,
    review_on: dayFromNow(1),
  });
  return { site, unit, other, due };
}

test('counts lead to the risks, what nobody rated stands first, and it reads at 390 px by keyboard', async () => {
  const { site, other } = await filled();
  await as(
    officer,
    async (page) => {
      await open(page, site.path);
      await settled(page);
      const said = await page.locator('.register-entries').first().locator('li').allTextContents();
      const order = ['Nobody has looked', 'Falls from the ramp', 'Loud fans', 'Pace of work'];
      assert.deepEqual(
        said.map((text) => order.find((o) => text.includes(o))),
        order,
      );
      assert.deepEqual(await violations(page, 'the register on a phone'), []);
      await picture(page, 'register-phone');
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 390, `${wide} px wide`);

      const cell = page.getByRole('link', { name: '1 risk: Critical × 4' });
      await cell.focus();
      await page.keyboard.press('Enter');
      await page.getByText('Loud fans').waitFor({ state: 'detached' });
      await page.getByText('Falls from the ramp').waitFor();
      await page.getByRole('link', { name: 'Show everything' }).click();
      await page.getByText('Loud fans').waitFor();

      await page.getByRole('link', { name: /^Office/ }).click();
      await page.getByText('Loud fans').waitFor({ state: 'detached' });
      assert.ok(page.url().includes(other.id));
      await page.reload();
      await page.getByText('Pace of work').waitFor();
    },
    { viewport: narrow },
  );
});

test('a viewer reads the register and its versions, and is offered nothing to write', async () => {
  const { site } = await filled();
  await as('viewer@north.example', async (page) => {
    await open(page, site.path);
    await page.getByText('Loud fans').waitFor();
    for (const name of ['New work unit', 'New risk entry', 'Publish'])
      assert.equal(await page.getByRole('button', { name }).count(), 0, name);
  });
});
