// A report by somebody without an account, from the QR code on the wall: the same four questions, at most eight taps.
import assert from 'node:assert/strict';
import { api, as, narrow, open, picture, secret, test, url, violations, visit } from './page.mjs';
import { png } from './png.mjs';

const officer = 'safety@north.example';
const phone = { viewport: narrow, hasTouch: true, isMobile: true };
const mostTaps = 8;

// printCode makes a link, and is the address that its code says.
async function printCode(place) {
  const [link] = await api('admin@north.example', '/v1/report_links', {
    method: 'POST',
    body: { name: `Wall ${Date.now()}`, ...place },
    headers: { Prefer: 'return=representation' },
  });
  return `${url}/r/${link.token}`;
}

async function findReport(no) {
  const read =
    'kind,severity,potential_severity,zone_id,description,anonymous,reported_by,incident_photos(width,height)';
  const [made] = await api(officer, `/v1/incidents?incident_no=eq.${no}&select=${read}`);
  return made;
}

// assertThumb holds a page to one thumb: what is tapped is large enough, and nothing is wider than the phone.
async function assertThumb(page) {
  const small = await page
    .locator('button:visible, .pick:visible, summary:visible')
    .evaluateAll((all) => all.filter((e) => e.getBoundingClientRect().height < 44).map((e) => e.textContent));
  assert.deepEqual(small, [], 'targets are 44 px high');
  assert.ok(
    await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
    'nothing is wider than the phone',
  );
}

for (const colorScheme of ['light', 'dark']) {
  test(`who scans the code reports a near miss with a photo in eight taps at most, ${colorScheme}`, async () => {
    const [dock] = await api(officer, '/v1/zones?select=id,site_id&code=eq.DOCK-1');
    const address = await printCode({ site_id: dock.site_id });
    const said = `A pallet slid off the forks ${Date.now()}`;
    let number = '';
    await visit(
      async (page) => {
        let taps = 0;
        const tap = async (where) => {
          taps++;
          await where.tap();
        };
        const look = async (name) => {
          assert.deepEqual(await violations(page, name), []);
          await assertThumb(page);
        };
        await page.goto(address);
        await page.getByText('Step 1 of 4').waitFor();
        await look('step 1');
        await tap(page.getByText('It nearly went wrong'));
        await page.getByText('How bad could it have been?').waitFor();
        await look('step 2');
        await tap(page.getByText('Somebody is off work for days'));
        await page.getByText('Where was it?').waitFor();
        await look('step 3');
        await tap(page.getByLabel('Place'));
        await page.keyboard.type('dock-1');
        await tap(page.getByRole('button', { name: 'Next' }));
        await tap(page.getByLabel('What happened, in your words'));
        await page.keyboard.type(said);
        const chooser = page.waitForEvent('filechooser');
        await tap(page.getByLabel('Photo', { exact: true }));
        await (await chooser).setFiles([{ name: 'forks.png', mimeType: 'image/png', buffer: png(3200, 1600) }]);
        await page.getByRole('img', { name: 'Your photo' }).waitFor();
        await look('step 4');
        await picture(page, `qr-${colorScheme}`);
        await page.reload();
        await page.getByRole('img', { name: 'Your photo' }).waitFor();
        assert.equal(await page.getByLabel('What happened, in your words').inputValue(), said, 'a reload keeps it all');
        await page.goBack();
        assert.equal(await page.getByLabel('Place').inputValue(), 'dock-1', 'the way back of the phone is a step');
        await page.goForward();
        await tap(page.getByRole('button', { name: 'Send the report' }));
        await page.getByText('Thank you. Your report has arrived.').waitFor();
        number = await page.locator('.number').first().innerText();
        assert.ok(taps <= mostTaps, `${taps} taps`);
        await look('receipt');
        await page.getByRole('link', { name: 'Report something else' }).tap();
        await page.getByText('Step 1 of 4').waitFor();
        assert.equal(await page.locator(':checked').count(), 0, 'what was sent is kept no longer');
      },
      { ...phone, colorScheme },
    );
    assert.deepEqual(await findReport(number), {
      kind: 'near_miss',
      severity: 'low',
      potential_severity: 'high',
      zone_id: dock.id,
      description: said,
      anonymous: true,
      reported_by: null,
      incident_photos: [{ width: 1600, height: 800 }],
    });
  });
}

test('who reported follows up with the code of the receipt, and adds to the report', async () => {
  const address = await printCode({});
  const added = `It dripped on the rack, too ${Date.now()}`;
  let number = '';
  await visit(
    async (page) => {
      await page.goto(address);
      await page.getByText('Something leaked or spilled').tap();
      await page.getByText('Somebody needs a doctor').tap();
      await page.getByText('Where was it?').waitFor();
      await page.getByRole('button', { name: 'Next' }).tap();
      await page.getByLabel('What happened, in your words').fill('Oil under the truck');
      await page.getByRole('button', { name: 'Send the report' }).tap();
      const code = await page.locator('.code').innerText();
      secret(code);
      secret(code.replaceAll('-', ''));
      number = await page.locator('.number').first().innerText();
      assert.deepEqual(await violations(page, 'receipt'), []);
      await assertThumb(page);
      await page.getByRole('button', { name: 'See what becomes of it' }).tap();
      await page.getByText('It has arrived and is not looked at yet.').waitFor();
      assert.deepEqual(await violations(page, 'progress'), []);
      assert.ok(!page.url().includes(code), 'the code is in no address');

      await page.goto(address); // another day
      await page.getByRole('link', { name: 'I have a code of an earlier report' }).tap();
      await page.getByLabel('Your code').fill('AAAAA-AAAAA-AAAAA-AAAAA');
      await page.getByRole('button', { name: 'See what becomes of it' }).tap();
      await page.getByText('No report has this code.').waitFor();
      assert.deepEqual(await violations(page, 'no such code'), []);
      await page.getByLabel('Your code').fill(code.toLowerCase());
      await page.keyboard.press('Enter');
      await page.getByText(number).waitFor();
      await page.getByLabel('What happened, in your words').fill(added);
      await page.getByRole('button', { name: 'Add it' }).tap();
      await page.getByText('It is with your report.').waitFor();
      await assertThumb(page);
    },
    { ...phone, colorScheme: 'dark' },
  );
  const [made] = await api(officer, `/v1/incidents?incident_no=eq.${number}&select=id`);
  await as(officer, async (page) => {
    await open(page, `/console/c/incidents/${made.id}`);
    const said = page.getByRole('listitem').filter({ hasText: added });
    await said.getByText('Whoever reported it').waitFor();
  });
});

test('the keyboard alone reports an injury in French, of which it is asked how bad it is', async () => {
  const [dock] = await api(officer, '/v1/zones?select=id&code=eq.DOCK-1');
  const address = await printCode({ zone_id: dock.id });
  let number = '';
  await visit(
    async (page) => {
      const press = (...keys) =>
        keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
      await page.goto(address);
      await page.getByText('Étape 1 sur 3').waitFor(); // the code says where
      await press('Tab', 'Space', 'ArrowDown', 'ArrowDown');
      await page.getByText('Étape 1 sur 3').waitFor(); // the arrows choose and do not go on
      await press('Tab', 'Enter');
      await page.getByText('Est-ce grave ?', { exact: true }).waitFor();
      await press('Tab', 'Space', 'ArrowDown', 'Enter');
      await page.getByText('Étape 3 sur 3').waitFor();
      await press('Tab');
      await page.keyboard.type('Une main coincée');
      await page.getByRole('button', { name: 'Envoyer le signalement' }).focus();
      await press('Enter');
      number = await page.locator('.number').first().innerText();
    },
    { locale: 'fr-FR' },
  );
  const made = await findReport(number);
  assert.deepEqual(
    [made.kind, made.severity, made.potential_severity, made.zone_id],
    ['injury', 'medium', null, dock.id],
  );
});

test('an empty step is not passed, a file that is no picture is refused in words, and what was said stays', async () => {
  const address = await printCode({});
  await visit(
    async (page) => {
      await page.goto(address);
      await page.getByRole('button', { name: 'Weiter' }).tap();
      await page.getByText('Schritt 1 von 4').waitFor();
      await page.getByText('Etwas ist beschädigt').tap();
      await page.getByText('Ein Schreck oder ein Kratzer').tap();
      await page.getByRole('button', { name: 'Weiter' }).tap();
      await page.getByLabel('Was geschehen ist, in Ihren Worten').fill('Ein krummer Ständer');
      const file = page.getByLabel('Foto', { exact: true });
      await file.setInputFiles([{ name: 'x.jpg', mimeType: 'image/jpeg', buffer: Buffer.from('MZ') }]);
      await page.getByText('Diese Datei ist kein Foto.').waitFor();
      assert.equal(await page.getByLabel('Was geschehen ist, in Ihren Worten').inputValue(), 'Ein krummer Ständer');
      await page.getByLabel('Was geschehen ist, in Ihren Worten').fill(' x');
      await page.getByRole('button', { name: 'Meldung senden' }).tap();
      await page.getByText('Sagen Sie, was passiert ist').waitFor(); // the server's words, at the step that they are about
      await page.getByText('Schritt 4 von 4').waitFor();
      assert.deepEqual(await violations(page, 'refused'), []);
    },
    { ...phone, locale: 'de-DE' },
  );
});

test('without a script the page is one form that does the same', async () => {
  const address = await printCode({});
  await visit(
    async (page) => {
      await page.goto(address);
      await page.getByText('Something leaked or spilled').tap();
      await page.getByText('If somebody is hurt: how bad is it?').waitFor();
      await page.getByText('A fright or a scratch').tap();
      await page.getByLabel('Place').fill('by the canteen');
      await page.getByLabel('What happened, in your words').fill('Oil under the truck');
      await page.getByRole('button', { name: 'Send the report' }).tap();
      const made = await findReport(await page.locator('.number').first().innerText());
      assert.equal(made.description, 'Oil under the truck\n\nWhere: by the canteen');
    },
    { ...phone, javaScriptEnabled: false },
  );
});
