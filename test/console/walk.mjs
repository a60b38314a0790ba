// One person with a phone, a laptop and two organisations, by the pages of the console.
import assert from 'node:assert/strict';
import { api, calm, digits, mail, narrow, password, person, secret, settled, test, url, visit, wide } from './page.mjs';

const south = 'admin@south.example';

async function signIn(page, email, word = password) {
  await page.goto(`${url}/console/`);
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(word);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

// token is what the page's requests say.
const token = async (page) => {
  const t = await page.evaluate(() => JSON.parse(localStorage.getItem('holdfast.session') ?? '{}').access_token);
  secret(t);
  return t;
};
const claims = async (page) => JSON.parse(Buffer.from((await token(page)).split('.')[1], 'base64url'));
const request = async (page, method, path) =>
  fetch(url + path, { method, headers: { Authorization: `Bearer ${await token(page)}` } });

// inside waits until the page's person is let in.
const inside = (page) =>
  page.waitForFunction(() => localStorage.getItem('holdfast.session') && document.querySelector('.foot .who'));
// told waits for a mail about what protects an account: they come in any order.
async function told(to, what) {
  for (let tries = 100; tries; tries--) {
    const list = await (await fetch(`${url}/dev/mail`)).json();
    if (list.some((m) => m.to === to && m.kind === 'protection_changed' && what.test(m.text))) return;
    await new Promise((done) => setTimeout(done, 200));
  }
  throw new Error(`no mail to ${to} says ${what}`);
}

const menu = (page) => page.locator('.foot button').first();

test('a person with a phone, a laptop and two organisations: asked, moved by no one, one factor for all, signed out everywhere', async () => {
  await calm();
  const email = await person('viewer');
  await visit(
    (laptop) =>
      visit(
        async (phone) => {
          // The password is forgotten: the phone sets a new one by mail, the old one opens nothing.
          const word = 'another long pass phrase';
          await phone.goto(`${url}/console/`);
          await phone.getByRole('button', { name: 'Forgot the password?' }).click();
          await phone.getByLabel('E-mail address').fill(email);
          await phone.getByRole('button', { name: 'Send the link' }).click();
          await phone.getByRole('heading', { name: 'Look into your mail' }).waitFor();
          await phone.goto(/https?:\/\/\S+/.exec((await mail(email, 'recovery')).text)[0]);
          await phone.getByRole('button', { name: 'Go on' }).click();
          await phone.getByLabel('New password').fill(word);
          await phone.getByRole('button', { name: 'Save' }).click();
          await inside(phone);
          await phone.evaluate(() => localStorage.removeItem('holdfast.session'));
          await signIn(laptop, email);
          await laptop.getByRole('alert').waitFor();

          await signIn(laptop, email, word);
          await inside(laptop);
          const home = (await claims(laptop)).tenant_id;

          // The invitation moves nobody: not at the laptop, nor at the next sign-in.
          await api(south, '/auth/v1/invitations', { method: 'POST', body: { email, role: 'operator' } });
          await signIn(phone, email, word);
          await inside(phone);
          assert.equal((await claims(phone)).tenant_id, home);
          assert.equal((await (await request(phone, 'GET', '/auth/v1/tenants')).json()).tenants.length, 1);
          const notices = phone.getByRole('region', { name: 'Notices' });
          await notices.getByText(/invites you as/).waitFor();
          await notices.getByRole('button', { name: 'Accept' }).click();
          await phone.getByText(/You are a member of South/).waitFor();
          await phone.getByRole('button', { name: 'Go there' }).click();
          await phone.waitForFunction(
            (was) =>
              JSON.parse(
                atob(
                  JSON.parse(localStorage.getItem('holdfast.session'))
                    .access_token.split('.')[1]
                    .replace(/-/g, '+')
                    .replace(/_/g, '/'),
                ),
              ).tenant_id !== was,
            home,
          );
          const other = (await claims(phone)).tenant_id;
          assert.equal((await claims(laptop)).tenant_id, home, 'the laptop stays where it is');

          // And back and forth at the laptop, by the menu.
          await laptop.goto(`${url}/console/account`);
          await settled(laptop);
          for (const name of ['South', 'North', 'South']) {
            await menu(laptop).click();
            await laptop.getByRole('button', { name: new RegExp(`^${name}`) }).click();
            await laptop.waitForFunction(
              (text) => (document.querySelector('.who')?.textContent ?? '').includes(text),
              name,
            );
          }
          assert.equal((await claims(laptop)).tenant_id, other);

          // A factor on the laptop, which a mail tells of.
          await laptop.goto(`${url}/console/account`);
          await settled(laptop);
          await laptop.getByRole('button', { name: 'Add an app' }).click();
          const form = laptop.getByRole('dialog', { name: 'Add an authenticator app' });
          const seed = await form.locator('code').innerText();
          await form.getByLabel('Code', { exact: true }).fill(digits(seed));
          await form.getByRole('button', { name: 'Switch it on' }).click();
          await laptop
            .getByRole('dialog', { name: 'Keep these recovery codes' })
            .getByRole('button', { name: 'I have kept them' })
            .click();
          await told(email, /second factor was added/);
          assert.equal((await request(laptop, 'GET', '/v1/items?limit=1')).status, 200);

          // The factor ended what knew the password alone, and stands before every surface.
          await phone.goto(`${url}/console/`);
          await phone.getByRole('heading', { name: 'Sign in' }).waitFor();
          await phone.evaluate(() => localStorage.removeItem('holdfast.session'));
          await signIn(phone, email, word);
          await phone.getByRole('heading', { name: 'One more step' }).waitFor();
          for (const path of ['/v1/items?limit=1', '/rest/v1/items?limit=1', '/functions/v1/safety-kpis']) {
            assert.equal((await request(phone, 'GET', path)).status, 403, `${path} with one factor`);
          }
          await phone.getByLabel('Code', { exact: true }).fill(digits(seed, Date.now() + 30_000));
          await phone.getByRole('button', { name: 'Go on' }).click();
          await inside(phone);
          assert.equal((await claims(phone)).tenant_id, other, 'the organisation used last');

          // Left by the person's own hand, after a question.
          await phone.goto(`${url}/console/account`);
          await phone.getByRole('button', { name: /^Leave South/ }).click();
          await phone.getByRole('dialog').getByRole('button', { name: 'Leave', exact: true }).click();
          await phone.getByRole('button', { name: /^Leave South/ }).waitFor({ state: 'detached' });
          assert.deepEqual(
            (await (await request(phone, 'GET', '/auth/v1/tenants')).json()).tenants.map((t) => t.id),
            [home],
          );
          await laptop.goto(`${url}/console/account`);
          await laptop.getByRole('button', { name: 'Sign out everywhere' }).first().waitFor();

          // Signed out everywhere, by one of the two.
          const [a, b] = [await token(phone), await token(laptop)];
          await laptop.getByRole('button', { name: 'Sign out everywhere' }).first().click();
          await laptop.getByRole('heading', { name: 'Sign in' }).waitFor();
          for (const t of [a, b])
            assert.equal(
              (await fetch(`${url}/auth/v1/user`, { headers: { Authorization: `Bearer ${t}` } })).status,
              403,
            );
          await phone.goto(`${url}/console/account`);
          await phone
            .getByText(/Session .* does not exist|Forgot the password/)
            .first()
            .waitFor();
        },
        { viewport: narrow, hasTouch: true },
      ),
    { viewport: wide },
  );
});
