// A scanner that is a keyboard is heard wherever the focus is, and never types into an amount.
import assert from 'node:assert/strict';
import { api, as, open, settled, stocked, test } from './page.mjs';

const manager = 'manager@north.example';

// shoot types a code where the focus is, as fast as a scanner however busy the machine is: all keys are made at once,
// and a key's moment is that of its making.
function shoot(page, code) {
  return page.evaluate((text) => {
    const keys = [...text, 'Enter'].map(
      (key) => new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }),
    );
    for (const key of keys) {
      const isTyped = (document.activeElement ?? document.body).dispatchEvent(key);
      if (isTyped && key.key !== 'Enter') document.execCommand('insertText', false, key.key);
    }
  }, code);
}

// typeSlowly types as a person does: what is sent to a busy browser in good time may arrive there in one go.
function typeSlowly(page, text) {
  return page.evaluate(async (text) => {
    for (const key of [...text, 'Enter']) {
      const isTyped = document.activeElement.dispatchEvent(
        new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }),
      );
      if (isTyped && key !== 'Enter') document.execCommand('insertText', false, key);
      await new Promise((done) => setTimeout(done, 90));
    }
  }, text);
}

test('a scan over an amount counts the goods and leaves the amount alone, and slow typing is typing', async () => {
  const [item] = await stocked();
  await as(manager, async (page) => {
    await open(page, `/console/floor/receive?item=${item.id}`);
    const came = page.getByLabel(`Came: ${item.sku}`).getByRole('textbox');
    await came.fill('12');
    await came.focus();
    await shoot(page, item.sku);
    await page.getByText(`${item.sku} +1`).waitFor();
    assert.equal(await came.inputValue(), '13');
    await came.fill('');
    await came.focus();
    await typeSlowly(page, '1500');
    assert.equal(await came.inputValue(), '1500');
  });
});

test('a scan on any page finds what it stands for, and its first letter is no shortcut', async () => {
  const [made] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `nek-${Date.now()}-n`, name: 'Begins with three shortcuts, ends with one' },
  });
  await as(manager, async (page) => {
    for (const path of ['/console/', '/console/c/items', `/console/c/items/${(await stocked())[0].id}`]) {
      await open(page, path);
      await settled(page);
      await page.evaluate(() => document.activeElement?.blur?.());
      await shoot(page, made.sku);
      await page.getByRole('heading', { name: made.sku }).waitFor();
      await page.waitForTimeout(100);
      assert.equal(await page.getByRole('dialog').count(), 0);
      assert.ok(page.url().includes(made.id), page.url());
    }
  });
});

test('a scan over the amount of a dialog is told and not taken', async () => {
  const [item] = await stocked();
  await as(manager, async (page) => {
    await open(page, `/console/c/items/${item.id}`);
    await page.getByRole('button', { name: 'Move goods' }).click();
    const amount = page.getByLabel('How much? *');
    await amount.fill('5');
    await amount.focus();
    await shoot(page, '4006381333931');
    await page.getByText('That was a scan, and nothing here takes one.').waitFor();
    assert.equal(await amount.inputValue(), '5');
    assert.equal(await page.getByRole('dialog').getByRole('alert').count(), 0);
  });
});

test('a scan over a choice counts the goods and leaves the choice alone', async () => {
  const [item] = await stocked();
  await as(manager, async (page) => {
    await open(page, `/console/floor/receive?item=${item.id}`);
    const dock = page.getByLabel('Where do they stand?');
    const chosen = await dock.inputValue();
    await dock.focus();
    await shoot(page, item.sku);
    await page.getByText(`${item.sku} +1`).waitFor();
    assert.equal(await dock.inputValue(), chosen);
  });
});

test('a scan of what is no code opens nothing, and says so', async () => {
  const made = `NEAR-${Date.now()}`;
  await api(manager, '/v1/items', { method: 'POST', body: { sku: `${made}-LONGER`, name: 'Nearly that' } });
  await as(manager, async (page) => {
    await open(page, '/console/');
    await settled(page);
    await page.evaluate(() => document.activeElement?.blur?.());
    await shoot(page, made);
    await page.getByRole('dialog', { name: 'Search or go to' }).getByText(made).first().waitFor();
    await page
      .getByRole('option', { name: /nothing/i })
      .first()
      .waitFor();
    assert.ok(page.url().endsWith('/console/'), page.url());
  });
});
