// Every link lets its person in: from the mail or the command's output to the
// first page, each opened in a fresh profile that asked for nothing.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after } from 'node:test';
import { promisify } from 'node:util';
import * as mailbox from '../supabase/identity/mailbox.mjs';
import { close, open, operator, secret, test, url, visit } from './page.mjs';

const password = 'four quiet herons fish';
const renewed = 'five other herons fish';
const boss = 'boss@acme.example';
const flags = JSON.parse(process.env.PROGRAM_FLAGS);

await mailbox.open(process.env.PORT_SMTP);
after(close);

// linkTo is the link of the next mail to an address that has one; notices have none.
const read = new Map();

async function linkTo(address) {
  for (;;) {
    read.set(address, (read.get(address) ?? 0) + 1);
    const { text } = await mailbox.letter(address, /./, read.get(address));
    const link = /https?:\/\/\S+(?:\/verify\?|invite_token=)\S+/.exec(text)?.[0];
    if (link) return link;
  }
}

// holdfast is a command on the server's machine.
async function holdfast(...words) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('HOLDFAST_')));
  const { stdout } = await promisify(execFile)(process.env.PROGRAM, [...words, ...flags], { env });
  return stdout.trim();
}

// clean asserts that nothing of a link is left where the browser keeps addresses.
async function clean(page) {
  const left = await page.evaluate(() => [
    location.href,
    document.referrer,
    ...(window.navigation?.entries() ?? []).map((e) => e.url ?? ''),
  ]);
  for (const address of left) assert.doesNotMatch(address, /token|setup=|code=|verify|error/, address);
  await page.reload();
}

const heading = (page, name) => page.getByRole('heading', { name, exact: true }).waitFor();
const press = (page, name) => page.getByRole('button', { name, exact: true }).click();
const inside = (page) => page.locator('.frame .foot').waitFor();

async function choosePassword(page, email, chosen = password) {
  // The page before it has the same heading: a reload there would cut off the answer that brings the session.
  await page.getByLabel('New password').waitFor();
  await clean(page);
  await heading(page, 'Choose a new password');
  assert.equal(await page.getByLabel('E-mail address').inputValue(), email);
  await page.getByLabel('New password').fill(chosen);
  await press(page, 'Save');
  await inside(page);
}

async function signIn(page, email, chosen = password) {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(chosen);
  await press(page, 'Sign in');
}

// through opens a link in a fresh profile and goes on.
function through(link, then) {
  secret(/(?:token|setup)=([^&]+)/.exec(link)?.[1] ?? '');
  return visit(async (page) => {
    await page.goto(link);
    await press(page, 'Go on');
    await then(page);
  });
}

// refused opens a link that lets nobody in any more.
function refused(link, why) {
  return visit(async (page) => {
    await page.goto(link);
    const on = page.getByRole('button', { name: 'Go on', exact: true });
    await on.or(page.getByText(why)).first().waitFor();
    if (await on.count()) await on.click();
    await heading(page, 'This link lets nobody in');
    await page.getByText(why).waitFor();
    await press(page, 'Sign in');
    await heading(page, 'Sign in');
    await clean(page);
  });
}

test('the first start prints a link that makes the first administrator, and the sign-in page says that there is none', async () => {
  const printed = /Set-up link +(\S+)/.exec(readFileSync(process.env.LOG_FILE, 'utf8'))?.[1];
  assert.ok(printed, 'the server printed a link');
  let command = '';
  await visit(async (page) => {
    await open(page, '/console/');
    await page.getByText('No administrator exists yet.').waitFor();
    command = await page.locator('main code').innerText();
  });
  assert.match(command, /^holdfast admin setup-link$/);
  const link = await holdfast(...command.split(' ').slice(1));
  await visit(async (page) => {
    await page.goto(link);
    await heading(page, 'Set this server up');
    await page.getByLabel('Name of the organisation').fill('Acme Cold Chain');
    await page.getByLabel('Your e-mail address').fill(boss);
    await page.getByLabel('Password').fill(password);
    await press(page, 'Set up and go in');
    await inside(page);
    await clean(page);
    await inside(page);
  });
  // Each of them worked once, together.
  await visit(async (page) => {
    await page.goto(printed);
    await page.getByLabel('Name of the organisation').fill('Another');
    await page.getByLabel('Your e-mail address').fill('other@acme.example');
    await page.getByLabel('Password').fill(password);
    await press(page, 'Set up and go in');
    await page.getByText('The set-up link was used before or is too old.').waitFor();
    await press(page, 'Sign in');
    await heading(page, 'Sign in');
    assert.equal(await page.getByText('No administrator exists yet.').count(), 0);
  });
  await assert.rejects(holdfast(...command.split(' ').slice(1)), /there is an administrator already/);
});

test('a set-up link of the command line ends on the page that sets a password, once', async () => {
  const link = await holdfast('admin', 'setup-link', 'second@acme.example', '--tenant', 'Acme Cold Chain');
  await through(link, (page) => choosePassword(page, 'second@acme.example'));
  await refused(link, 'The link was used before, is too old, or a newer one took its place.');
});

test('a password that was forgotten is chosen anew on another device', async () => {
  await visit(async (page) => {
    await open(page, '/console/');
    await press(page, 'Forgot the password?');
    await page.getByLabel('E-mail address').fill(boss);
    await press(page, 'Send the link');
    await page.getByText('a mail is on its way').waitFor();
  });
  const link = await linkTo(boss);
  await through(link, (page) => choosePassword(page, boss, renewed));
  await refused(link, 'The link was used before, is too old, or a newer one took its place.');
});

test('a mailed sign-in link opens the first page on another device', async () => {
  await visit(async (page) => {
    await open(page, '/console/');
    await press(page, 'Mail me a code');
    await page.getByLabel('E-mail address').fill(boss);
    await press(page, 'Send a code');
    await heading(page, 'Enter the code');
  });
  await through(await linkTo(boss), async (page) => {
    await inside(page);
    await clean(page);
    await inside(page);
  });
});

// invite makes an invitation as the boss does it, and returns the link that is shown.
function invite(email, way) {
  let link = '';
  return visit(async (page) => {
    await open(page, '/console/admin/members');
    await signIn(page, boss, renewed);
    await press(page, 'Invite');
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('How').selectOption(way);
    await press(page, way === 'link' ? 'Make a link' : 'Send the invitation');
    if (way === 'link') link = await page.getByLabel('Link', { exact: true }).inputValue();
    else await page.getByText(`${email} is invited`).waitFor();
  }).then(() => link);
}

test('an invitation by mail lets somebody new in', async () => {
  await invite('mia@elsewhere.example', 'mail');
  const link = await linkTo('mia@elsewhere.example');
  await through(link, (page) => choosePassword(page, 'mia@elsewhere.example'));
  await refused(link, 'The link was used before, is too old, or a newer one took its place.');
});

test('an invitation handed over to somebody of the organisation’s domain lets in', async () => {
  const key = process.env.SERVICE_ROLE_KEY;
  const r = await fetch(`${url}/v1/tenants?name=eq.Acme%20Cold%20Chain`, {
    method: 'PATCH',
    headers: { Authorization: `Bearer ${key}`, apikey: key, 'Content-Type': 'application/json' },
    body: JSON.stringify({ email_domains: ['acme.example'] }),
  });
  assert.equal(r.status, 204, await r.text());
  const link = await invite('otto@acme.example', 'link');
  await through(link, (page) => choosePassword(page, 'otto@acme.example'));
});

test('an invitation handed over to a stranger leads to an account of that address', async () => {
  const email = 'stranger@elsewhere.example';
  const handed = await invite(email, 'link');
  await visit(async (page) => {
    await page.goto(handed);
    await page.getByText('Sign in with this address, or make an account with it.').waitFor();
    assert.equal(await page.getByLabel('E-mail address').inputValue(), email);
    await press(page, 'Make an account');
    await page.getByLabel('Password').fill(password);
    await press(page, 'Make the account');
    await page.getByText('a mail is on its way').waitFor();
    await clean(page);
  });
  await through(await linkTo(email), async (page) => {
    await inside(page);
    await clean(page);
    await page.getByText('Acme Cold Chain').first().waitFor();
  });
  await visit(async (page) => {
    await page.goto(handed);
    await page.getByText('This invitation was accepted before.').waitFor();
    await press(page, 'Sign in');
    await heading(page, 'Sign in');
  });
});

test('a link for another person says so in a browser where somebody is signed in', async () => {
  await holdfast('tenant', 'create', 'Beta');
  const holder = 'holder@beta.example';
  await through(await holdfast('admin', 'setup-link', holder, '--tenant', 'Beta'), (page) =>
    choosePassword(page, holder),
  );
  await invite(holder, 'mail');
  const link = await linkTo(holder);
  await visit(async (page) => {
    await open(page, '/console/');
    await signIn(page, 'mia@elsewhere.example');
    await inside(page);
    await page.goto(link);
    await page
      .getByText(`The invitation is for ${holder}, and you are signed in here as mia@elsewhere.example.`)
      .waitFor();
    await press(page, 'Sign out and go on');
    await page.getByText('Sign in with this address, or make an account with it.').waitFor();
    await signIn(page, holder);
    await heading(page, 'You are invited');
    await press(page, 'Accept');
    await inside(page);
    await page.getByText('Acme Cold Chain').first().waitFor();
    await clean(page);
    // A link that opens an account asks before it takes the place of whoever is signed in.
    await page.goto(await holdfast('admin', 'setup-link', 'second@acme.example'));
    await page.getByText(`You are signed in here as ${holder}.`).waitFor();
    await press(page, `Stay signed in as ${holder}`);
    await inside(page);
    await page.goto(await holdfast('admin', 'setup-link', 'second@acme.example'));
    await press(page, 'Go on');
    await choosePassword(page, 'second@acme.example', 'another-demo-phrase');
  });
});

test('an invitation that was taken back, one cut short and a code of another browser say why', async () => {
  const email = 'late@elsewhere.example';
  const handed = await invite(email, 'link');
  await invite(email, 'link');
  for (const [link, why] of [
    [handed, 'This invitation holds no longer'],
    [handed.slice(0, -9), 'There is no such invitation here.'],
    [
      `${url}/console/?code=7f1f6a3e-0000-4000-8000-000000000000`,
      'This sign-in began in another browser or on another device.',
    ],
    [`${url}/console/#error=access_denied&error_code=user_banned&error_description=x&sb=`, 'This account is locked.'],
  ])
    await refused(link, why);
});

test('tokens in an address are taken up only when the person says so', async () => {
  const { action_link: link } = await operator('/auth/v1/admin/generate_link', {
    type: 'magiclink',
    email: boss,
    redirect_to: `${url}/`,
  });
  await visit(async (page) => {
    await page.goto(link);
    await page.getByRole('button').first().click();
    await heading(page, 'Sign in');
    await clean(page);
    await press(page, 'Sign in');
  });
});
