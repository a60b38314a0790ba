// A report of something unsafe, as a worker makes it on a phone: four questions, at most eight taps, no form.
import assert from 'node:assert/strict';
import { api, as, narrow, open, picture, scanCode, settled, test, violations } from './page.mjs';
import { png } from './png.mjs';

const operator = 'operator@north.example';
const officer = 'safety@north.example';
const phone = { viewport: narrow, hasTouch: true, isMobile: true };
const mostTaps = 8;

// counted taps with a count.
function counted() {
  let taps = 0;
  return {
    tap: async (where) => {
      taps++;
      await where.tap();
    },
    taps: () => taps,
  };
}

test('a worker reports a near miss with a photo in eight taps at most, and sees what becomes of it', async () => {
  const [dock] = await api(officer, '/v1/zones?select=id,code,name&code=eq.DOCK-1');
  const said = `A pallet slid off the forks ${Date.now()}`;
  const { tap, taps } = counted();
  let number = '';
  await as(
    operator,
    async (page) => {
      await open(page, '/console/');
      await tap(page.getByRole('link', { name: 'Report something unsafe' }));
      await page.getByRole('heading', { name: 'What happened?' }).waitFor();
      await settled(page);
      assert.deepEqual(await violations(page, 'step 1'), []);
      await tap(page.getByRole('button', { name: /It nearly went wrong/ }));
      await page.getByRole('heading', { name: 'How bad could it have been?' }).waitFor();
      await tap(page.getByRole('button', { name: 'Somebody is off work for days' }));
      await page.getByRole('heading', { name: 'Where was it?' }).waitFor();
      await tap(page.getByLabel('Scan the place, or type its code or name'));
      await page.keyboard.type('DOCK-1');
      await settled(page);
      assert.deepEqual(await violations(page, 'step 3'), []);
      await tap(page.getByRole('button', { name: new RegExp(`^${dock.code} `) }));
      await page.getByRole('heading', { name: 'What should we know?' }).waitFor();
      await tap(page.getByLabel('What happened, in your words'));
      await page.keyboard.type(said);
      const chooser = page.waitForEvent('filechooser');
      await tap(page.getByLabel('Add a photo'));
      await (await chooser).setFiles([{ name: 'forks.png', mimeType: 'image/png', buffer: png(3200, 1600) }]);
      await page.getByRole('img', { name: 'Your photo' }).waitFor();
      await settled(page);
      assert.deepEqual(await violations(page, 'step 4'), []);
      await picture(page, 'report');
      await page.reload();
      await page.getByRole('img', { name: 'Your photo' }).waitFor();
      assert.equal(
        await page.getByLabel('What happened, in your words').inputValue(),
        said,
        'a reload keeps words and photo',
      );
      await tap(page.getByRole('button', { name: 'Send the report' }));
      await page.getByRole('heading', { name: 'Thank you. It is reported.' }).waitFor();
      number = await page.locator('.receipt').innerText();
      await page.getByText('The photo is on its way.').waitFor({ state: 'detached' });
      assert.ok(taps() <= mostTaps, `${taps()} taps`);
      await settled(page);
      await page.locator('.lines').getByText(said).waitFor();
      assert.deepEqual(await violations(page, 'receipt'), []);
      await page.getByRole('link', { name: 'See what becomes of it' }).tap();
      await page.getByRole('heading', { name: new RegExp(said) }).waitFor();
    },
    phone,
  );
  const read = 'kind,severity,potential_severity,zone_id,description,reported_by,incident_photos(width,height)';
  const [made] = await api(officer, `/v1/incidents?incident_no=eq.${number}&select=id,${read}`);
  assert.deepEqual(
    [made.kind, made.severity, made.potential_severity, made.zone_id, made.description],
    ['near_miss', 'low', 'high', dock.id, said],
  );
  assert.deepEqual(made.incident_photos, [{ width: 1600, height: 800 }], 'the photo was made small on the device');
});

test('the keyboard alone reports something unsafe, at a place of the plan or at none', async () => {
  const said = `A loose grating ${Date.now()}`;
  const press = async (page, name) => {
    const at = page.getByRole('button', { name });
    await at.focus();
    await page.keyboard.press('Enter');
  };
  await as('stefan.kruse@north.example', async (page) => {
    await open(page, '/console/report');
    await press(page, /Something is unsafe/);
    await press(page, 'A fright or a scratch');
    await press(page, 'Show the plan');
    await page.locator('.plan [role=button][tabindex="0"]').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'What should we know?' }).waitFor();
    await page.getByRole('link', { name: 'Back' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Chosen: ').waitFor();
    await press(page, 'I do not know, or somewhere else');
    await page.getByLabel('What happened, in your words').fill(said);
    await press(page, 'Send the report');
    await page.locator('.receipt').waitFor();
  });
  const [made] = await api(officer, `/v1/incidents?title=eq.${encodeURIComponent(said)}&select=kind,zone_id`);
  assert.deepEqual(made, { kind: 'hazard', zone_id: null });
});

test('a file that is no picture is refused in words, and what was said stays', async () => {
  await as(
    operator,
    async (page) => {
      await open(page, '/console/report');
      await page.getByRole('button', { name: /Something is damaged/ }).tap();
      await page.getByRole('button', { name: 'A fright or a scratch' }).tap();
      // A scanner types anywhere on the page: a code that is a place's is offered.
      await page.getByRole('heading', { name: 'Where was it?' }).waitFor();
      await scanCode(page, 'DOCK-1');
      await page.getByRole('button', { name: /^DOCK-1 / }).tap();
      await page.getByLabel('What happened, in your words').fill('A bent upright');
      await page
        .getByLabel('Add a photo')
        .setInputFiles([{ name: 'upright.jpg', mimeType: 'image/jpeg', buffer: Buffer.from('MZ') }]);
      await page.getByText('upright.jpg is no picture that can be read here.').waitFor();
      assert.equal(await page.getByLabel('What happened, in your words').inputValue(), 'A bent upright');
    },
    phone,
  );
});
