// An inspection, as a worker does it on a phone: every answer is saved when it is given.
import assert from 'node:assert/strict';
import { api, as, narrow, open, picture, settled, test, violations } from './page.mjs';
import { png } from './png.mjs';
import { contentOf } from './sheet.mjs';

const operator = 'operator@north.example';
const officer = 'safety@north.example';
const phone = { viewport: narrow, hasTouch: true, isMobile: true };

const sections = [
  {
    title: 'Truck',
    items: [
      { key: 'horn', prompt: 'Does the horn work?', type: 'yes_no_na', required: true },
      { key: 'brakes', prompt: 'Do the brakes hold?', type: 'yes_no_na', required: true, critical: true },
      {
        key: 'why',
        prompt: 'What is wrong with the brakes?',
        type: 'text',
        required: true,
        show_when: { item: 'brakes', op: '==', value: 'no' },
      },
      { key: 'hours', prompt: 'Hours on the meter', type: 'number', unit: 'h', required: true },
      { key: 'tyres', prompt: 'State of the tyres', type: 'choice', options: ['good', 'worn'], required: true },
    ],
  },
  {
    title: 'Proof',
    items: [
      { key: 'shot', prompt: 'A picture of the truck', type: 'photo' },
      { key: 'name', prompt: 'Signature of the inspector', type: 'signature', required: true },
    ],
  },
];

// dueInspection makes an inspection that is due to the worker, as an officer plans it.
async function dueInspection(title) {
  const me = (await api(operator, '/v1/permissions')).user_id;
  const [template] = [
    await api(officer, '/v1/checklist_templates', {
      method: 'POST',
      body: { code: `RUN-${Date.now()}`, title, sections },
    }),
  ].flat();
  await api(officer, `/v1/checklist_templates?id=eq.${template.id}`, {
    method: 'PATCH',
    body: { status: 'published' },
  });
  const due_at = new Date(Date.now() + 3_600_000).toISOString();
  const [run] = [
    await api(officer, '/v1/checklist_runs', {
      method: 'POST',
      body: { template_id: template.id, title, due_at, grace_minutes: 0, assignee_user_id: me },
    }),
  ].flat();
  return run;
}

const question = (page, prompt) => page.getByRole('group', { name: prompt });

test('a worker answers an inspection on a phone, is asked why, and comes back after a reload', async () => {
  const title = `Truck check ${Date.now()}`;
  const run = await dueInspection(title);
  await as(
    operator,
    async (page) => {
      await open(page, '/console/');
      await page.getByRole('link', { name: title }).tap();
      await settled(page);
      const finish = page.getByRole('button', { name: 'Finish the inspection' });
      await finish.tap();
      await page.getByText('the inspection lacks answers: horn, brakes, hours, tyres, name').waitFor();
      await question(page, 'Does the horn work?').getByRole('button', { name: 'Yes' }).tap();
      await page.getByText('1 of 6 answered', { exact: false }).waitFor();

      // What is wrong is asked only where something is.
      assert.equal(await question(page, 'What is wrong with the brakes?').count(), 0);
      await question(page, 'Do the brakes hold?').getByRole('button', { name: 'No', exact: true }).tap();
      const why = question(page, 'What is wrong with the brakes?');
      await why.getByLabel('Answer').fill('The pedal gives way');
      await page.reload();
      await settled(page);
      assert.equal(
        await why.getByLabel('Answer').inputValue(),
        'The pedal gives way',
        'what was typed is kept over a reload',
      );
      assert.equal(
        await question(page, 'Does the horn work?').getByRole('button', { name: 'Yes' }).getAttribute('aria-pressed'),
        'true',
      );
      await why.getByRole('button', { name: 'Save the answer' }).tap();
      await page.getByText('3 of 7 answered', { exact: false }).waitFor();

      // An empty answer is none, and what the server did not get stays after a reload.
      const hours = question(page, 'Hours on the meter').getByLabel('Answer');
      await hours.press('Enter');
      await page.route('**/rest/v1/checklist_answers**', (route) =>
        route.request().method() === 'GET' ? route.continue() : route.abort(),
      );
      await hours.fill('1204.5');
      await question(page, 'Hours on the meter').getByRole('button', { name: 'Save the answer' }).tap();
      await question(page, 'Hours on the meter').getByRole('button', { name: 'Save the answer' }).waitFor();
      await page.unroute('**/rest/v1/checklist_answers**');
      await page.reload();
      await settled(page);
      assert.equal(await hours.inputValue(), '1204.5', 'what was not saved is kept');
      await page.getByText('3 of 7 answered', { exact: false }).waitFor();
      await question(page, 'Hours on the meter').getByRole('button', { name: 'Save the answer' }).tap();
      await page.getByText('4 of 7 answered', { exact: false }).waitFor();
      // A tap that is corrected at once: the last one stands.
      await question(page, 'State of the tyres').getByRole('button', { name: 'Good' }).tap();
      await question(page, 'State of the tyres').getByRole('button', { name: 'Worn' }).tap();
      await page.getByText('5 of 7 answered', { exact: false }).waitFor();
      const tyres = question(page, 'State of the tyres');
      await tyres.getByRole('button', { name: 'Worn', pressed: true }).waitFor();
      await tyres.getByRole('button', { name: 'Add a note' }).tap();
      await tyres.getByLabel('Note').fill('Front left');
      await tyres.getByRole('button', { name: 'Save the note' }).tap();
      await tyres.getByRole('button', { name: 'Save the note' }).waitFor({ state: 'detached' });
      await question(page, 'A picture of the truck')
        .locator('input[type=file]')
        .setInputFiles({ name: 'truck.png', mimeType: 'image/png', buffer: png(60, 40) });
      await page.getByText('Photos: 1').waitFor();
      await page.getByText('1 question still needs an answer: Signature of the inspector').waitFor();
      assert.deepEqual(await violations(page), []);
      await question(page, 'Signature of the inspector').getByLabel('Your name, as a signature').fill('Otto Operator');
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.equal(overflow, 0, 'the page is wider than the phone');
      await question(page, 'Signature of the inspector').getByRole('button', { name: 'Save the answer' }).tap();
      await page.getByText('7 of 7 answered', { exact: false }).waitFor();
      await finish.tap();
      await page.getByText(/^Score \d/).waitFor();
      await picture(page, 'inspection');
      assert.deepEqual(await violations(page), []);
    },
    phone,
  );
  const [done] = await api(officer, `/v1/checklist_runs?select=status,failed_critical&id=eq.${run.id}`);
  assert.deepEqual(done, { status: 'completed', failed_critical: 1 });
  const answers = await api(
    officer,
    `/v1/checklist_answers?select=item_key,value,note&run_id=eq.${run.id}&order=item_key`,
  );
  assert.equal(answers.find((a) => a.item_key === 'hours').value, 1204.5);
  assert.equal(answers.find((a) => a.item_key === 'tyres').note, 'Front left');
  assert.equal(answers.find((a) => a.item_key === 'shot').value.length, 1);

  // The officer finds what the failed brakes made.
  await as(officer, async (page) => {
    await open(page, `/console/c/checklist_runs/${run.id}`);
    await page.getByRole('link', { name: 'How it went' }).click();
    await page.getByRole('heading', { name: 'Actions that came of it' }).waitFor();
  });
});

test('the keyboard alone answers an inspection to its end', async () => {
  const run = await dueInspection(`By keys ${Date.now()}`);
  await as(operator, async (page) => {
    await open(page, `/console/inspections/${run.id}`);
    await settled(page);
    const pressKey = async (where, key = 'Enter') => {
      await where.focus();
      await page.keyboard.press(key);
    };
    await pressKey(question(page, 'Does the horn work?').getByRole('button', { name: 'Does not apply' }));
    await page.getByText('1 of 6 answered', { exact: false }).waitFor();
    await pressKey(question(page, 'Do the brakes hold?').getByRole('button', { name: 'Yes' }), 'Space');
    await page.getByText('2 of 6 answered', { exact: false }).waitFor();
    const hours = question(page, 'Hours on the meter').getByLabel('Answer');
    await hours.focus();
    await page.keyboard.type('7');
    await page.keyboard.press('Enter');
    await page.getByText('3 of 6 answered', { exact: false }).waitFor();
    await pressKey(question(page, 'State of the tyres').getByRole('button', { name: 'Good' }));
    await page.getByText('4 of 6 answered', { exact: false }).waitFor();
    await question(page, 'Signature of the inspector').getByLabel('Your name, as a signature').focus();
    await page.keyboard.type('Otto');
    await page.keyboard.press('Enter');
    await page.getByText('5 of 6 answered', { exact: false }).waitFor();
    await pressKey(page.getByRole('button', { name: 'Finish the inspection' }));
    await page.getByText(/^Score 100 %/).waitFor();
  });
});

test('an inspection is saved as PDF, in the language of whoever saves it', async () => {
  const title = `Prüfung ${Date.now()}`;
  const run = await dueInspection(title);
  await api(operator, '/v1/checklist_answers', {
    method: 'POST',
    body: { run_id: run.id, item_key: 'brakes', value: 'no', note: 'Sie greifen spät' },
  });
  await as(officer, async (page) => {
    await page.addInitScript(() => localStorage.setItem('holdfast.language', '"fr"'));
    await open(page, `/console/inspections/${run.id}`);
    const file = page.waitForEvent('download');
    await page.getByRole('button', { name: 'PDF', exact: true }).click();
    const saved = await file;
    assert.match(saved.suggestedFilename(), /\.pdf$/);
    const text = contentOf(await saved.path());
    for (const said of [title, 'Do the brakes hold?', 'Non · Non conforme', 'Sie greifen spät', 'Sans réponse'])
      assert.ok(text.includes(said), `${said} in ${text}`);
  });
});
