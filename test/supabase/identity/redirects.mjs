// A browser is led to the customer's own pages only, whatever the asking side
// names: wherever a target may be given, one elsewhere is the site instead.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { client, ok, password, serviceKey, url } from '../client.mjs';
import { letter } from './mailbox.mjs';
import * as own from './own.mjs';
import { confirmed, newAddress } from './rig.mjs';
import { site } from './site.mjs';

const { host, port } = new URL(site);

// One address elsewhere, in spellings that naive comparisons let through.
const foreign = [
  'https://evil.example',
  '//evil.example',
  '///evil.example',
  'https:evil.example',
  'https:\\\\evil.example',
  '/\\evil.example',
  `http://${host}@evil.example`,
  `${site}.evil.example`,
  `http://localhost%2eevil.example:${port}`,
  `http://localhost:${port}%00.evil.example`,
  '\thttps://evil.example',
  `https://evil.example#${site}`,
  `https://EVIL.example/?${site}`,
  'javascript:alert(1)',
  'data:text/html,x',
  `https://${host}/`,
  `http://localhost:${Number(port) + 1}@evil.example/`,
  `${site}\r\nLocation: https://evil.example`,
];

// home is an address on the site; a relative one would be the server's own.
function home(address, how) {
  assert.equal(new URL(address).origin, site, how);
}

async function call(path, init) {
  return fetch(`${url}/auth/v1${path}`, { redirect: 'manual', ...init });
}

const json = (body) => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});

test('targets elsewhere: signing in at a provider', async () => {
  for (const evil of foreign) {
    const at = await own.go(
      `${url}/auth/v1/authorize?${new URLSearchParams({ provider: 'own', redirect_to: evil })}`,
      own.person(newAddress('led')),
    );
    home(at.href, `authorize ${JSON.stringify(evil)}`);
    assert.ok(at.hash.includes('access_token='), 'signed in at the site');
  }
});

test('targets elsewhere: in the query, the body and the Referer', async () => {
  const { c } = await confirmed('linker');
  const token = ok(await c.auth.getSession()).session.access_token;
  for (const evil of foreign) {
    const query = new URLSearchParams({ redirect_to: evil });
    const how = JSON.stringify(evil);
    home((await call(`/verify?type=recovery&token=none&${query}`)).headers.get('location'), `verify ${how}`);
    home((await call(`/callback/own?state=none&code=x&${query}`)).headers.get('location'), `callback ${how}`);
    const made = await (
      await call(`/admin/generate_link`, {
        ...json({ type: 'magiclink', email: newAddress('made'), redirect_to: evil }),
        headers: { 'Content-Type': 'application/json', apikey: serviceKey },
      })
    ).json();
    home(made.redirect_to, `generate_link ${how}`);
    home(new URL(made.action_link).searchParams.get('redirect_to'), `generate_link ${how}`);
    const link = await (
      await call(`/user/identities/authorize?provider=own&skip_http_redirect=true&${query}`, {
        headers: { Authorization: `Bearer ${token}` },
      })
    ).json();
    assert.equal(new URL(link.url).origin, own.issuer);
    assert.equal(new URL(link.url).searchParams.get('redirect_uri'), `${url}/auth/v1/callback/own`, how);
  }
  const led = await call('/verify?type=recovery&token=none', { headers: { Referer: 'https://evil.example/page' } });
  home(led.headers.get('location'), 'Referer');
});

test('targets elsewhere: in mails', async () => {
  for (const evil of foreign.slice(0, 6)) {
    const email = newAddress('mailed');
    await call(`/signup?${new URLSearchParams({ redirect_to: evil })}`, json({ email, password }));
    const { link } = await letter(email, /Confirm/);
    assert.equal(new URL(link).origin, url, 'a link is to this server');
    home(new URL(link).searchParams.get('redirect_to'), `mail ${JSON.stringify(evil)}`);
  }
  const { email } = await confirmed('host');
  await call('/recover', {
    ...json({ email }),
    headers: {
      'Content-Type': 'application/json',
      'X-Forwarded-Host': 'evil.example',
      'X-Forwarded-Proto': 'https',
      Forwarded: 'host=evil.example;proto=https',
    },
  });
  assert.equal(new URL((await letter(email, /new password/)).link).origin, url, 'headers choose no address');
});

test('a target on the site is kept, query and all', async () => {
  const at = await own.go(
    `${url}/auth/v1/authorize?${new URLSearchParams({ provider: 'own', redirect_to: `${site}/a/b?c=d` })}`,
    own.person(newAddress('kept')),
  );
  assert.equal(at.origin + at.pathname + at.search, `${site}/a/b?c=d`);
  assert.equal((await client().auth.getUser(new URLSearchParams(at.hash.slice(1)).get('access_token'))).error, null);
});
