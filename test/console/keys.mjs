// Keys of machines: made with a snippet that works, renewed with an overlap, bounded, ended.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { api, as, narrow, open, person, raised, secret, settled, test, url, violations } from './page.mjs';

// An account that is used here; test lastuse looks at it once the server has written that.
export const used = `Scale ${Date.now()}`;

const accounts = '/auth/v1/tenant/service-accounts';
// supabase-js is found from where it is installed.
const packages = new URL('../supabase', import.meta.url).pathname;

const asks = async (key, path) => (await fetch(url + path, { headers: { Authorization: `Bearer ${key}` } })).status;

// handed reads the key and the snippets of the window that shows them once.
async function handed(page) {
  const shown = page.getByRole('dialog', { name: /^Key of/ });
  const key = await shown.getByLabel('Key', { exact: true }).inputValue();
  secret(key);
  const said = {};
  for (const way of ['curl', 'supabase-js', 'OAuth']) {
    await shown.getByRole('button', { name: way, exact: true }).click();
    said[way] = await shown.getByLabel('Snippet').innerText();
  }
  assert.match(key, /^hf_tenant_[0-9a-zA-Z_-]{32,}$/);
  return { shown, key, said };
}

test('a machine gets a key with snippets that work when pasted, a new one beside it, fewer places, and is removed', async () => {
  const email = await person('admin');
  await raised(email);
  const name = `ERP ${Date.now()}`;
  await as(email, async (page) => {
    await open(page, '/console/admin/keys');
    await page.getByRole('button', { name: 'New service account' }).click();
    const form = page.getByRole('dialog', { name: 'New service account' });
    await form.getByLabel('Name *').fill(name);
    await form.getByLabel('Role').selectOption('manager');
    await form.getByLabel('Addresses').fill('home');
    await form.getByRole('searchbox', { name: 'Find a scope' }).fill('orders');
    await form.getByRole('checkbox', { name: 'Orders: read', exact: true }).check();
    assert.deepEqual(await violations(page, 'new key'), []);
    await form.getByRole('button', { name: 'Make it and its key' }).click();
    await form.getByText(/"home" is no address/).waitFor();
    await form.getByLabel('Addresses').fill('');
    await form.getByRole('button', { name: 'Make it and its key' }).click();

    const { shown, key, said } = await handed(page);
    assert.deepEqual(await violations(page, 'key'), []);
    const curl = JSON.parse(
      execFileSync('sh', ['-c', said.curl], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    );
    assert.equal(curl.length, 5);
    assert.ok(curl[0].order_no, JSON.stringify(curl[0]));
    // supabase-js is for Node 22, which has WebSocket unasked.
    const js = execFileSync(
      process.execPath,
      ['--experimental-websocket', '--input-type=module', '--eval', said['supabase-js']],
      { cwd: packages, encoding: 'utf8' },
    );
    assert.ok(js.includes(curl[0].order_no), js);
    const token = JSON.parse(
      execFileSync('sh', ['-c', said.OAuth], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    );
    secret(token.access_token);
    assert.equal(await asks(token.access_token, '/v1/orders?limit=1'), 200);
    assert.equal(await asks(key, '/v1/items?limit=1'), 403);
    await shown.getByRole('button', { name: 'I have kept it' }).click();
    assert.ok(!(await page.content()).includes(key));

    await page.reload();
    const card = page.getByRole('region', { name, exact: true });
    await card.getByText('Orders: read').waitFor();

    await card.getByRole('button', { name: 'New key' }).click();
    await page.getByRole('dialog').getByLabel('The key until now').selectOption('3600');
    await page.getByRole('dialog').getByRole('button', { name: 'Make the key' }).click();
    const second = await handed(page);
    await second.shown.getByRole('button', { name: 'I have kept it' }).click();
    await card.getByText('Retiring').waitFor();
    assert.deepEqual([await asks(key, '/v1/orders?limit=1'), await asks(second.key, '/v1/orders?limit=1')], [200, 200]);
    await card
      .getByRole('row', { name: /Retiring/ })
      .getByRole('button', { name: 'End now' })
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'End the key' }).click();
    await page.getByText('The key holds no longer').waitFor();
    assert.deepEqual([await asks(key, '/v1/orders?limit=1'), await asks(second.key, '/v1/orders?limit=1')], [401, 200]);

    await card.getByRole('button', { name: 'Change' }).click();
    const change = page.getByRole('dialog', { name: `Change ${name}` });
    await change.getByLabel('Addresses').fill('192.0.2.0/24');
    await change.getByLabel('Until').fill('2040-01-31');
    await change.getByRole('checkbox', { name: 'Items: read', exact: true }).check();
    await change.getByRole('button', { name: 'Save' }).click();
    await card.getByText('192.0.2.0/24').waitFor();
    await card.getByText(/31 Jan 2040/).waitFor();
    assert.equal(await asks(second.key, '/v1/orders?limit=1'), 403);
    const [kept] = (await api(email, accounts)).service_accounts.filter((a) => a.name === name);
    assert.deepEqual(kept.scopes, ['items:read', 'orders:read']);

    await page.setViewportSize(narrow);
    await settled(page);
    assert.deepEqual(await violations(page, 'keys'), []);
    await card.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await card.waitFor({ state: 'detached' });
    assert.equal(await asks(second.key, '/v1/orders?limit=1'), 401);
  });
});

test('without a second factor nothing of a key can be changed, and the page says what to do', async () => {
  await as('admin@north.example', async (page) => {
    await open(page, '/console/admin/keys');
    await settled(page);
    assert.ok(await page.getByRole('button', { name: 'New service account' }).isDisabled());
    await page.getByText('by who showed a second factor').waitFor();
    await page.getByRole('link', { name: 'Set up a second factor' }).click();
    await page.getByRole('heading', { name: 'Your account' }).waitFor();
  });
});

test('what a machine may do bounds what it does, and it is seen in the list', async () => {
  const email = await person('admin');
  await raised(email);
  const account = await api(email, accounts, {
    method: 'POST',
    body: { name: used, role: 'operator', scopes: ['stock_levels:read'] },
  });
  const made = await api(email, `${accounts}/${account.id}/keys`, { method: 'POST', body: {} });
  secret(made.secret);
  assert.equal(await asks(made.secret, '/v1/stock_levels?limit=1'), 200);
  await as(email, async (page) => {
    await open(page, '/console/admin/keys');
    await page.getByRole('region', { name: used, exact: true }).getByText('Stock levels: read').waitFor();
  });
});
