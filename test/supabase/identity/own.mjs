// A small OpenID provider of our own, for what a good one never does. It signs
// whatever it is told to.
import { createHash, createPrivateKey, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { createServer } from 'node:http';
import { url } from '../client.mjs';

export const issuer = `http://127.0.0.1:${process.env.PORT_OWN}`;
export const clientId = 'holdfast';

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
const jwk = { ...pair.publicKey.export({ format: 'jwk' }), kid: 'own-1', alg: 'RS256', use: 'sig' };
const codes = new Map();

// open leaves nothing to close: the server does not keep the process alive.
export function open() {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, issuer);
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const [status, answer] = serve(pathname, new URLSearchParams(body));
      response.writeHead(status, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(answer));
    });
  });
  server.on('connection', (socket) => socket.unref());
  return new Promise((done) => server.unref().listen(process.env.PORT_OWN, '127.0.0.1', done));
}

function serve(path, form) {
  switch (path) {
    case '/.well-known/openid-configuration':
      return [
        200,
        {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/jwks`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
        },
      ];
    case '/jwks':
      return [200, { keys: [jwk] }];
    case '/token': {
      const issued = codes.get(form.get('code'));
      codes.delete(form.get('code'));
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      if (!issued || challenge !== issued.challenge) return [400, { error: 'invalid_grant' }];
      return [
        200,
        {
          access_token: 'at-the-provider',
          refresh_token: 'rt-of-the-provider',
          token_type: 'Bearer',
          expires_in: 60,
          id_token: idToken(issued.claims),
        },
      ];
    }
  }
  return [404, {}];
}

// person is somebody new whom the provider vouches for.
export function person(email, more = {}) {
  return { sub: randomUUID(), email, email_verified: true, name: 'Olga', ...more };
}

// idToken signs claims over the usual ones; undefined drops a claim.
export function idToken(claims, header = {}) {
  const now = Math.floor(Date.now() / 1000);
  const part = (o) => Buffer.from(JSON.stringify(o)).toString('base64url');
  const text = `${part({ alg: 'RS256', typ: 'JWT', kid: 'own-1', ...header })}.${part({ iss: issuer, aud: clientId, iat: now, exp: now + 300, ...claims })}`;
  return `${text}.${sign('sha256', Buffer.from(text), createPrivateKey(pair.privateKey.export({ format: 'pem', type: 'pkcs8' }))).toString('base64url')}`;
}

// go follows the addresses of a sign-in as a browser would whose owner is the
// given person, and returns where it lands. back follows the provider's answer.
export async function go(address, who, back = byRedirect) {
  const first = address.startsWith(url) ? await fetch(address, { redirect: 'manual' }) : null;
  return finish(
    { location: first ? first.headers.get('location') : address, cookies: first ? cookiesOf(first) : '' },
    who,
    back,
  );
}

export const cookiesOf = (response) =>
  response.headers
    .getSetCookie()
    .map((c) => c.split(';')[0])
    .join('; ');

const byRedirect = (address, answer, cookies) =>
  fetch(`${address}?${answer}`, { redirect: 'manual', headers: { Cookie: cookies } });

// byForm is a page of the provider that posts the answer, as Apple's does: a
// browser sends no cookie with it.
export async function byForm(address, answer, cookies) {
  const posted = await fetch(address, { method: 'POST', body: answer, redirect: 'manual' });
  return fetch(posted.headers.get('location'), { redirect: 'manual', headers: { Cookie: cookies } });
}

export async function finish({ location, cookies }, who, back = byRedirect) {
  const asked = new URL(location).searchParams;
  const code = randomUUID();
  codes.set(code, { challenge: asked.get('code_challenge'), claims: { nonce: asked.get('nonce'), ...who } });
  const response = await back(
    asked.get('redirect_uri'),
    new URLSearchParams({ state: asked.get('state'), code }),
    cookies,
  );
  return new URL(response.headers.get('location'));
}
