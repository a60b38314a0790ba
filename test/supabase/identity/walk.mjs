// A person with a phone, a laptop and two tenants, in two browsers from the
// first invitation to the last departure. What no page of the site has is asked
// of supabase-js inside the page, or of the API with the page's own session.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { call, claims, password } from '../client.mjs';
import { totp } from '../totp.mjs';
import { authenticator, did, visit } from './chromium.mjs';
import * as mailbox from './mailbox.mjs';
import { confirmed, founder, press } from './rig.mjs';
import { site } from './site.mjs';

const phoneSize = { width: 390, height: 844 };

const invite = async (by, email) => {
  const body = JSON.stringify({ email, role: 'viewer' });
  const made = await call(by.c, '/auth/v1/invitations', {
    method: 'POST',
    body,
    headers: { 'Content-Type': 'application/json' },
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
};

const members = async (of, id) => (await of.c.from('members').select('user_id').eq('user_id', id)).data.length;

// asked is a request of the page with the session it has.
const asked = (page, method, path, body) =>
  page.evaluate(
    async ([method, path, body]) => {
      const { session } = (await sb.auth.getSession()).data;
      const response = await fetch(sb.supabaseUrl + path, {
        method,
        body,
        headers: {
          apikey: sb.supabaseKey,
          Authorization: `Bearer ${session.access_token}`,
          'Content-Type': 'application/json',
        },
      });
      const text = await response.text();
      return { status: response.status, body: text ? JSON.parse(text) : null };
    },
    [method, path, body && JSON.stringify(body)],
  );

const token = (page) => page.evaluate(async () => (await sb.auth.getSession()).data.session.access_token);
const code = (page, call) => page.evaluate(call);
const signIn = (page, secret) =>
  did(page, ([email, password]) => sb.auth.signInWithPassword({ email, password }), secret);
const shown = (page, who) => page.waitForFunction((who) => document.getElementById('who').textContent === who, who);

describe('a person with two browsers and two tenants', () => {
  test('is moved by nobody, locked out of nothing, and leaves when they like', () =>
    visit((laptop) =>
      visit(async (phone) => {
        const [one, two, stranger] = [await founder(), await founder(), await founder()];
        const { email, id } = await confirmed('walker');
        for (const by of [one, two, stranger]) await invite(by, email);
        await laptop.goto(site);
        await phone.goto(site);
        assert.deepEqual([laptop.viewportSize().width, phone.viewportSize().width], [1440, 390]);

        // Three ask; a sign-in answers none of them.
        await signIn(laptop, [email, password]);
        await shown(laptop, email);
        assert.equal(claims(await token(laptop)).tenant_id, undefined, 'a sign-in joins nothing');
        const { invitations } = (await asked(laptop, 'GET', '/auth/v1/invitations')).body;
        assert.deepEqual(invitations.map((i) => i.tenant_id).sort(), [one, two, stranger].map((f) => f.tenant).sort());
        const answer = (page, tenant, word) =>
          asked(page, 'POST', `/auth/v1/invitations/${invitations.find((i) => i.tenant_id === tenant).id}/${word}`);
        assert.equal((await answer(laptop, one.tenant, 'accept')).status, 200);
        assert.equal((await answer(laptop, two.tenant, 'accept')).status, 200);
        assert.ok((await answer(laptop, stranger.tenant, 'decline')).status < 300);
        assert.ok((await answer(laptop, stranger.tenant, 'accept')).status >= 400, 'what was declined is over');
        assert.deepEqual([await members(one, id), await members(stranger, id)], [1, 0]);

        // One tenant after the other, by the token.
        const switched = await asked(laptop, 'POST', '/auth/v1/tenant', { tenant_id: two.tenant });
        await did(laptop, (s) => sb.auth.setSession(s), {
          access_token: switched.body.access_token,
          refresh_token: switched.body.refresh_token,
        });
        await did(laptop, () => sb.auth.refreshSession());
        assert.equal(claims(await token(laptop)).tenant_id, two.tenant);
        assert.equal((await asked(laptop, 'POST', '/auth/v1/tenant', { tenant_id: stranger.tenant })).status, 403);

        // A passkey on the laptop, an authenticator app, and what that does to the phone.
        await authenticator(laptop, 'internal');
        await did(laptop, () => sb.auth.registerPasskey());
        const app = await did(laptop, () => sb.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'App' }));
        const step = Math.floor(Date.now() / 30_000);
        const verify = (page, at) =>
          did(page, ([factorId, code]) => sb.auth.mfa.challengeAndVerify({ factorId, code }), [
            app.id,
            totp(app.totp.secret, at),
          ]);
        await verify(laptop, step);
        assert.equal(claims(await token(laptop)).aal, 'aal2');
        const spare = (await asked(laptop, 'POST', '/auth/v1/factors/recovery-codes')).body.codes;
        await signIn(phone, [email, password]);
        assert.equal(claims(await token(phone)).tenant_id, two.tenant, 'the tenant used last');
        const items = () =>
          sb
            .from('items')
            .select('sku')
            .then(({ data, error }) => error?.code ?? data);
        assert.equal(await code(phone, items), 'insufficient_aal', 'a password alone reads no records');
        await verify(phone, step + 1);
        assert.deepEqual(await code(phone, items), []);

        // Recovery on the phone: it tells of the passkey, and takes it away.
        await did(phone, () => sb.auth.signOut({ scope: 'local' }).then((r) => ({ data: 1, ...r })));
        await did(phone, ([email, redirectTo]) => sb.auth.resetPasswordForEmail(email, { redirectTo }), [
          email,
          `${site}/new`,
        ]);
        const { link } = await mailbox.letter(email, /[Pp]assword/);
        await phone.goto(String(await press(link)));
        await shown(phone, email);
        assert.equal(claims(await token(phone)).amr[0].method, 'recovery');
        assert.equal(await code(phone, items), 'insufficient_aal', 'nor does a mailbox alone');
        const raised = await asked(phone, 'POST', '/auth/v1/factors/recovery-codes/verify', { code: spare[0] });
        assert.equal(raised.status, 200, JSON.stringify(raised.body));
        await did(phone, (s) => sb.auth.setSession(s), {
          access_token: raised.body.access_token,
          refresh_token: raised.body.refresh_token,
        });
        const fresh = `${password}-again`;
        const changed = await asked(phone, 'PUT', '/auth/v1/user', { password: fresh, remove: ['passkeys'] });
        assert.equal(changed.status, 200, JSON.stringify(changed.body));
        const told = await mailbox.letter(email, /Your password was changed/);
        assert.match(
          told.text,
          /still open it, too: the authenticator app "App"\./,
          'the mail names what else opens the account, and the passkey no longer',
        );
        assert.equal(
          await code(laptop, () => sb.auth.getUser().then((r) => r.error?.name)),
          'AuthSessionMissingError',
          'the laptop is signed out',
        );
        assert.equal(
          await code(laptop, () => sb.auth.signInWithPasskey().then((r) => r.error?.code)),
          'webauthn_verification_failed',
          'the passkey is gone',
        );

        // One tenant is left from the phone; the other stays.
        assert.equal((await asked(phone, 'DELETE', `/auth/v1/tenants/${two.tenant}`)).status, 204);
        assert.deepEqual(
          (await asked(phone, 'GET', '/auth/v1/tenants')).body.tenants.map((t) => t.id),
          [one.tenant],
        );
        assert.deepEqual([await members(two, id), await members(one, id)], [0, 1]);
        await did(phone, () => sb.auth.refreshSession());
        assert.equal(claims(await token(phone)).tenant_id, one.tenant, 'never without a tenant while there is one');
      }, phoneSize),
    ));
});
