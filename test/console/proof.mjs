// Getting in by every way, and showing again that it is you.
import assert from 'node:assert/strict';
import {
  api,
  as,
  calm,
  digits,
  founder,
  mail,
  named,
  open,
  password,
  person,
  session,
  settled,
  test,
  url,
  violations,
  visit,
} from './page.mjs';

// stale answers the first request to a path as the server does to a session that
// showed no credential for ten minutes; everything else is the server's own.
async function stale(page, path) {
  let first = true;
  await page.route(`**${path}`, (route) => {
    if (!first || route.request().method() !== 'POST') return route.continue();
    first = false;
    return route.fulfill({
      status: 400,
      contentType: 'application/json',
      body: JSON.stringify({ code: 400, error_code: 'reauthentication_needed', msg: 'This requires reauthentication' }),
    });
  });
}

async function signIn(page, email, at = url) {
  await page.goto(`${at}/console/`);
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

test('a change that needs a fresh sign-in asks for the password, and goes on by itself', async () => {
  const email = await person('viewer');
  await as(email, async (page) => {
    await stale(page, '/auth/v1/factors');
    await open(page, '/console/account');
    await page.getByRole('button', { name: 'Add an app' }).click();
    const ask = page.getByRole('dialog', { name: 'Is it you?' });
    await ask.getByLabel('Password *').fill('not this one');
    await ask.getByRole('button', { name: 'Go on' }).click();
    await ask.getByText('Current password is not correct').waitFor();
    await ask.getByLabel('Password *').fill(password);
    await ask.getByRole('button', { name: 'Go on' }).click();
    await page.getByRole('dialog', { name: 'Add an authenticator app' }).waitFor();
  });
});

test('whoever has no password at hand shows a mailed code', async () => {
  const email = await person('viewer');
  await as(email, async (page) => {
    await stale(page, '/auth/v1/factors');
    await open(page, '/console/account');
    await page.getByRole('button', { name: 'Add an app' }).click();
    const ask = page.getByRole('dialog', { name: 'Is it you?' });
    await ask.getByRole('button', { name: 'Mail me a code' }).click();
    const code = /\b\d{6}\b/.exec((await mail(email, 'reauthentication')).text)[0];
    await ask.getByLabel('Code from the mail *').fill(code);
    await ask.getByRole('button', { name: 'Go on' }).click();
    await page.getByRole('dialog', { name: 'Add an authenticator app' }).waitFor();
  });
});

test('who does not show it is told so, and nothing was done', async () => {
  const email = await person('viewer');
  await as(email, async (page) => {
    await stale(page, '/auth/v1/factors');
    await open(page, '/console/account');
    await page.getByRole('button', { name: 'Add an app' }).click();
    await page.getByRole('dialog', { name: 'Is it you?' }).getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('This requires reauthentication').waitFor();
    assert.equal((await api(email, '/auth/v1/factors')).factors?.length ?? 0, 0);
  });
});

test('a passkey is made, signs in, and shows again that it is you', async () => {
  await calm();
  const email = await person('viewer');
  await visit(async (page) => {
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('WebAuthn.enable');
    await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    await signIn(page, email, named);
    await page.getByRole('heading', { name: 'Warehouse', exact: true }).waitFor();
    await page.goto(`${named}/console/account`);
    await stale(page, '/auth/v1/passkeys/registration/options');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    const proof = page.getByRole('dialog', { name: 'Is it you?' });
    await proof.getByLabel('Password *').fill(password);
    await proof.getByRole('button', { name: 'Go on' }).click();
    await page.getByText('The passkey is kept').waitFor();
    await stale(page, '/auth/v1/factors');
    await page.getByRole('button', { name: 'Add an app' }).click();
    const ask = page.getByRole('dialog', { name: 'Is it you?' });
    await ask.getByRole('button', { name: 'Use a passkey' }).click();
    await ask.getByRole('button', { name: 'Use the passkey' }).click();
    await page.getByRole('dialog', { name: 'Add an authenticator app' }).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.foot button').first().click();
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByRole('heading', { name: 'Your account' }).waitFor();
  });
});

test('a code by mail signs in', async () => {
  await calm();
  const email = await person('viewer');
  await visit(async (page) => {
    await open(page, '/console/');
    await page.getByRole('button', { name: 'Mail me a code' }).click();
    await page.getByLabel('E-mail address').fill(email);
    await page.getByRole('button', { name: 'Send a code' }).click();
    await page.getByLabel('Code', { exact: true }).fill(/\b\d{6}\b/.exec((await mail(email, 'magic_link')).text)[0]);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'Warehouse', exact: true }).waitFor();
  });
});

test('an app is added as second factor, is asked for at the next sign-in, and a recovery code stands in for it', async () => {
  await calm();
  const email = await person('viewer');
  await as(email, async (page) => {
    await open(page, '/console/account');
    await page.getByRole('button', { name: 'Add an app' }).click();
    const form = page.getByRole('dialog', { name: 'Add an authenticator app' });
    const secret = await form.locator('code').innerText();
    await form.getByLabel('Code', { exact: true }).fill(digits(secret));
    await form.getByRole('button', { name: 'Switch it on' }).click();
    const kept = page.getByRole('dialog', { name: 'Keep these recovery codes' });
    const codes = (await kept.locator('pre').innerText()).trim().split('\n');
    assert.equal(codes.length, 10);
    await kept.getByRole('button', { name: 'I have kept them' }).click();
    const leave = async () => {
      await page.locator('.foot button').first().click();
      await page.getByRole('button', { name: 'Sign out', exact: true }).click();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    };
    await leave();
    await signIn(page, email);
    await page.getByRole('heading', { name: 'One more step' }).waitFor();
    await page.getByLabel('Code', { exact: true }).fill('000000');
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Code', { exact: true }).fill(digits(secret, Date.now() + 30_000));
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByRole('heading', { name: 'Warehouse', exact: true }).waitFor();
    await leave();
    await signIn(page, email);
    await page.getByRole('button', { name: 'I lost my app' }).click();
    await page.getByLabel('Recovery code').fill(codes[0]);
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByRole('heading', { name: 'Warehouse', exact: true }).waitFor();
  });
});

test('whoever administers a new organisation is told how long a password alone is enough, until there is a second factor', async () => {
  await as(await founder('Fresh Start'), async (page) => {
    await page.goto(`${url}/console/`);
    await page.getByRole('button', { name: /Fresh Start/ }).click();
    const notices = page.getByRole('region', { name: 'Notices' });
    await notices.getByText(/need a second factor from .* \(in 7 days\)/).waitFor();
    assert.deepEqual(await violations(page, 'grace'), []);
    await notices.getByRole('link', { name: 'Set up a second factor' }).click();
    await page.getByRole('button', { name: 'Add an app' }).click();
    const form = page.getByRole('dialog', { name: 'Add an authenticator app' });
    await form.getByLabel('Code', { exact: true }).fill(digits(await form.locator('code').innerText()));
    await form.getByRole('button', { name: 'Switch it on' }).click();
    await page.getByRole('button', { name: 'I have kept them' }).click();
    await notices.getByText(/need a second factor/).waitFor({ state: 'detached' });
  });
  await as(await person('admin'), async (page) => {
    await open(page, '/console/');
    await settled(page);
    assert.equal(await page.getByText(/need a second factor/).count(), 0, 'an organisation that asks for none');
  });
});

test('a forgotten password is replaced by way of a mail', async () => {
  await calm();
  const email = await person('viewer');
  await visit(async (page) => {
    await open(page, '/console/');
    await page.getByRole('button', { name: 'Forgot the password?' }).click();
    await page.getByLabel('E-mail address').fill(email);
    await page.getByRole('button', { name: 'Send the link' }).click();
    await page.getByRole('heading', { name: 'Look into your mail' }).waitFor();
    const link = /https?:\/\/\S+/.exec((await mail(email, 'recovery')).text)[0];
    await page.goto(link);
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByLabel('New password').fill('another long pass phrase');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Warehouse', exact: true }).waitFor();
  });
  const r = await fetch(`${url}/auth/v1/token?grant_type=password`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email, password: 'another long pass phrase' }),
  });
  assert.equal(r.status, 200);
});

test('an invitation of another organisation waits on every page, and is accepted or declined', async () => {
  const email = await person('viewer');
  await api('admin@south.example', '/auth/v1/invitations', { method: 'POST', body: { email, role: 'operator' } });
  await as(email, async (page) => {
    await open(page, '/console/c/orders');
    const notices = page.getByRole('region', { name: 'Notices' });
    await notices.getByText(/invites you as/).waitFor();
    await notices.getByRole('button', { name: 'Accept' }).click();
    await page.getByText(/You are a member of South/).waitFor();
    await notices.getByText(/invites you as/).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Go there' }).click();
    await page.waitForFunction(() => /South/.test(document.querySelector('.who')?.textContent ?? ''));
  });
  const other = await person('viewer');
  await api('admin@south.example', '/auth/v1/invitations', {
    method: 'POST',
    body: { email: other, role: 'operator' },
  });
  await as(other, async (page) => {
    await open(page, '/console/');
    await settled(page);
    const notices = page.getByRole('region', { name: 'Notices' });
    await notices.getByRole('button', { name: 'Decline' }).click();
    await notices.getByText(/invites you as/).waitFor({ state: 'detached' });
  });
  const { access_token: token } = await session(other);
  const { tenants } = await (
    await fetch(`${url}/auth/v1/tenants`, { headers: { Authorization: `Bearer ${token}` } })
  ).json();
  assert.equal(tenants.length, 1);
});
