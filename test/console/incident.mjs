// The page of an incident, as an officer goes through it: what it waits for, why it happened, what is done about it,
// what was said; and the timeline that other records have too.
import assert from 'node:assert/strict';
import { contentOf } from './sheet.mjs';
import { api, as, chosen, engine, narrow, open, picture, settled, test, wide } from './page.mjs';

const operator = 'operator@north.example';
const officer = 'safety@north.example';
const admin = 'admin@north.example';
const viewport = engine === 'postgresql' ? narrow : wide;
const pdf = { name: 'Shift plan.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7\n%%EOF\n') };
const dueDay = new Date(Date.now() + 7 * 864e5).toISOString().slice(0, 10);

async function report(title) {
  const body = { kind: 'near_miss', severity: 'high', title, occurred_at: new Date(Date.now() - 36e5).toISOString() };
  return (await api(operator, '/v1/incidents', { method: 'POST', body }))[0];
}

const step = (page, state) => page.locator('.steps [aria-current=step]').filter({ hasText: state }).waitFor();
const press = (where, name) => where.getByRole('button', { name, exact: true }).click();

test('an officer leads an incident from the report to its end, and the page says what each step waits for', async () => {
  const { id } = await report('Reach truck close to a picker');
  const path = `/console/c/incidents/${id}`;
  await as(
    officer,
    async (page) => {
      await open(page, path);
      await step(page, 'Reported');
      await press(page, 'Triage');
      await step(page, 'Triaged');
      await page.getByText('It is serious, or could have been: it is investigated before it is closed.').waitFor();
      assert.ok(
        await page.getByRole('button', { name: 'Close', exact: true }).isDisabled(),
        'what is serious cannot be closed yet',
      );

      await press(page, 'Investigate');
      const ask = page.getByRole('dialog');
      await ask.getByLabel('Lead').fill(officer);
      await chosen(page);
      await ask.getByLabel('Done by').fill(dueDay);
      await press(ask, 'Investigate');
      await step(page, 'Investigating');
      await page.getByText('It ends with a root cause: none is on record yet.').waitFor();

      await press(page, 'Ask why');
      await ask.getByLabel('Why did it happen?').fill('The picker did not hear the truck');
      await ask.getByLabel('And why was that? (2)').fill('The aisle is used by both at once');
      await press(ask, 'Keep the cause');
      await page.locator('.whys').getByText('The picker did not hear the truck').waitFor();
      await page.getByText('1 root cause is on record.').waitFor();

      await press(page, 'New action');
      await ask.getByLabel('Title *').fill('A gate at the end of the aisle');
      await ask.getByLabel('Control level').selectOption('engineer');
      await ask.getByLabel('Assignee').fill(operator);
      await chosen(page);
      await ask.getByLabel('Due on').fill(dueDay);
      await ask.getByLabel('Priority').selectOption('medium');
      await press(ask, 'Create');
      await page.getByRole('heading', { name: 'Actions (1)' }).waitFor();
      await page.getByText(/AC-.* · Engineer · /).waitFor();
      assert.ok(
        await page.getByRole('button', { name: 'Close', exact: true }).isDisabled(),
        'an open action keeps it open',
      );
      await press(page, 'Wait for actions');
      await step(page, 'Action pending');
      await page.getByText('It closes when each action is verified or cancelled: 1 action is still open.').waitFor();

      await page.getByLabel('Say something about it').fill('The gate is ordered');
      await press(page, 'Comment');
      await page.locator('.timeline .said').filter({ hasText: 'The gate is ordered' }).waitFor();
      await page.getByLabel('Add files').setInputFiles([pdf]);
      await page.getByText('added the file Shift plan.pdf').waitFor();
      const told = (await page.locator('.timeline > li').allInnerTexts()).reverse().join('\n');
      const inOrder = [
        'reported it',
        'from “Reported” to “Triaged”',
        'from “Triaged” to “Investigating”',
        'changed: Root causes',
        'to “Action pending”',
        'The gate is ordered',
        'Shift plan.pdf',
      ];
      const places = inOrder.map((text) => told.indexOf(text));
      assert.ok(
        places.every((at, i) => at >= 0 && (!i || at > places[i - 1])),
        `${places}: ${told}`,
      );
      await settled(page);
      await picture(page, 'incident');
      await page.getByRole('link', { name: 'A gate at the end of the aisle' }).click();
      await page.waitForURL(/actions/);
      await press(page, 'Mark as done');
      await page.locator('.timeline').getByText('from “Open” to “Done”').waitFor();
    },
    { viewport },
  );
  await as(admin, async (page) => {
    await open(page, path);
    await page.getByRole('link', { name: 'A gate at the end of the aisle' }).click();
    await page.waitForURL(/actions/);
    await press(page, 'Verify');
    await page.locator('.timeline').getByText('from “Done” to “Verified”').waitFor();
  });
  await as(officer, async (page) => {
    await open(page, path);
    await page.getByText('No action is open: it can be closed.').waitFor();
    await press(page, 'Close');
    const ask = page.getByRole('dialog');
    await ask.getByLabel('What was learned?').fill('Keep people and trucks apart');
    await press(ask, 'Close the incident');
    await step(page, 'Closed');
    await page.getByText('Keep people and trucks apart').first().waitFor();
    await page.getByRole('button', { name: 'Reopen' }).waitFor();
  });
  const [end] = await api(officer, `/v1/incidents?id=eq.${id}&select=status,root_causes,lessons`);
  assert.equal(end.status, 'closed');
  assert.deepEqual(end.root_causes[0].whys, ['The picker did not hear the truck', 'The aisle is used by both at once']);
});

// reach presses Tab until the control of that name has the focus.
async function reach(page, name) {
  for (let tries = 150; tries; tries--) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(
      () => document.activeElement?.ariaLabel ?? document.activeElement?.innerText?.trim(),
    );
    if (at === name) return;
  }
  assert.fail(`the keyboard does not reach ${name}`);
}

test('the keyboard alone triages an incident and says something about it', async () => {
  const { id } = await report('A ladder left in the aisle');
  await as(
    officer,
    async (page) => {
      await open(page, `/console/c/incidents/${id}`);
      await settled(page);
      await reach(page, 'Triage');
      await page.keyboard.press('Enter');
      await step(page, 'Triaged');
      for (
        let tries = 150;
        tries && !(await page.evaluate(() => document.activeElement?.tagName === 'TEXTAREA'));
        tries--
      )
        await page.keyboard.press('Tab');
      await page.keyboard.type('Carried away');
      await reach(page, 'Comment');
      await page.keyboard.press('Enter');
      await page.locator('.timeline .said').filter({ hasText: 'Carried away' }).waitFor();
    },
    { viewport },
  );
});

test('who may not move an incident reads it without verbs, and is told what the role does not see', async () => {
  const { id } = await report('Oil under a truck');
  await as(
    operator,
    async (page) => {
      await open(page, `/console/c/incidents/${id}`);
      await step(page, 'Reported');
      await page.getByText('Who was involved is shown to officers and managers alone.').waitFor();
      for (const verb of ['Triage', 'Investigate', 'Close', 'Void', 'Ask why'])
        assert.equal(await page.getByRole('button', { name: verb, exact: true }).count(), 0, verb);
      await page.getByText('It was reported').waitFor();
    },
    { viewport: narrow },
  );
});

test('an order has a timeline in sentences too', async () => {
  const [order] = await api(admin, '/v1/orders?select=id&status=eq.confirmed&type=eq.outbound&limit=1');
  await as(admin, async (page) => {
    await open(page, `/console/c/orders/${order.id}`);
    await press(page, 'Put on hold');
    const ask = page.getByRole('dialog');
    await ask.getByLabel('Why?').fill('The customer asked');
    await press(ask, 'Put on hold');
    await page.locator('.timeline').getByText('admin@north.example set it from “Confirmed” to “On hold”').waitFor();
    await press(page, 'Let it go on');
    await page.locator('.timeline').getByText('admin@north.example set it from “On hold” to “Confirmed”').waitFor();
  });
});

test('an incident is saved as PDF, in the language of whoever saves it', async () => {
  const { id, incident_no } = await report('Regal beschädigt, Öl läuft aus');
  await as(
    officer,
    async (page) => {
      await page.addInitScript(() => localStorage.setItem('holdfast.language', '"de"'));
      await open(page, `/console/c/incidents/${id}`);
      const file = page.waitForEvent('download');
      await press(page, 'PDF');
      const saved = await file;
      assert.match(saved.suggestedFilename(), /\.pdf$/);
      const text = contentOf(await saved.path());
      for (const said of [`Vorfall ${incident_no}`, 'Regal beschädigt, Öl läuft aus', 'Beinaheunfall', 'hat es gemeldet'])
        assert.ok(text.includes(said), `${said} in ${text}`);
    },
    { viewport },
  );
});
