// Glewlwyd of Debian: an OpenID provider that nobody here wrote, in a temporary
// folder and on a free port.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep } from '../client.mjs';

const port = process.env.PORT_OPENID;
const base = `http://localhost:${port}`;

export const issuer = `${base}/api/oidc`;
export const client = { id: 'holdfast', secret: 'the-secret-of-holdfast' };
// The person: her provider vouches for the address.
export const gloria = { name: 'gloria', password: 'a-password-of-hers', email: 'gloria@glewlwyd.example' };

let dir;
let server;
let cookies = '';

// open starts it with one person and Holdfast as its client, which may be sent
// back to the given addresses.
export async function open(redirects) {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-openid-'));
  execFileSync('sqlite3', [join(dir, 'glewlwyd.db')], {
    input: readFileSync('/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3'),
  });
  copyPages();
  writeFileSync(join(dir, 'glewlwyd.conf'), settings());
  server = spawn('glewlwyd', [`--config-file=${join(dir, 'glewlwyd.conf')}`], { stdio: 'ignore' });
  server.on('error', (error) => assert.fail(`glewlwyd does not start (${error.message}): run scripts/setup`));
  await answering(`${base}/api/config`);
  await configure(redirects);
}

// copyPages puts the sign-in page together: the server does not follow the
// package's links, and one of them leads to a folder in place of a file.
function copyPages() {
  const pages = join(dir, 'pages');
  cpSync('/usr/share/glewlwyd/webapp', pages, {
    recursive: true,
    dereference: true,
    filter: (file) => !file.endsWith('config.json'),
  });
  cpSync('/etc/glewlwyd/config-2.7.json/config.json', join(pages, 'config.json'));
}

// settings is the package's template with what has to differ. Its database is
// a file of its own.
function settings() {
  const own = {
    port,
    external_url: `"${base}"`,
    bind_address: '"127.0.0.1"',
    static_files_path: `"${join(dir, 'pages')}/"`,
    log_mode: '"file"',
    log_level: '"WARNING"',
    log_file: `"${join(dir, 'log')}"`,
    cookie_domain: '"localhost"',
    cookie_secure: '0',
    database: `{ type = "sqlite3" path = "${join(dir, 'glewlwyd.db')}" };`,
  };
  const kept = readFileSync('/usr/share/glewlwyd/templates/glewlwyd-debian.conf.properties', 'utf8')
    .split('\n')
    .filter((line) => !(line.split('=')[0] in own) && !line.startsWith('@include'));
  return [...kept, ...Object.entries(own).map(([name, value]) => `${name}=${value}`), ''].join('\n');
}

export async function answering(address) {
  for (let tries = 0; tries < 300; tries++) {
    try {
      await fetch(address);
      return;
    } catch {
      await sleep(100);
    }
  }
  assert.fail(`${address} does not answer`);
}

async function call(method, path, body) {
  const response = await fetch(`${base}/api${path}`, {
    method,
    headers: { 'Content-Type': 'application/json', Cookie: cookies },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, `glewlwyd: ${method} ${path}: ${response.status} ${text}`);
  if (response.headers.getSetCookie().length)
    cookies = response.headers
      .getSetCookie()
      .map((c) => c.split(';')[0])
      .join('; ');
  return text ? JSON.parse(text) : null;
}

async function configure(redirects) {
  await call('POST', '/auth/', { username: 'admin', password: 'password' });
  const people = await call('GET', '/mod/user/database');
  const field = { read: true, write: true, 'profile-read': true, 'profile-write': false };
  people.parameters['data-format'].email_verified = { ...field, multiple: false };
  people.parameters['data-format'].groups = { ...field, multiple: true };
  await call('PUT', '/mod/user/database', people);
  await call('PUT', '/mod/user/database/reset');
  for (const name of ['email', 'profile'])
    await call('POST', '/scope/', {
      name,
      display_name: name,
      description: name,
      password_required: true,
      password_max_age: 0,
      scheme: {},
    });
  await call('PUT', '/scope/openid', {
    name: 'openid',
    display_name: 'openid',
    description: 'openid',
    password_required: true,
    password_max_age: 0,
    scheme: {},
  });
  await call('POST', '/mod/plugin/', {
    module: 'oidc',
    name: 'oidc',
    display_name: 'OpenID',
    enabled: true,
    parameters: plugin(),
  });
  const scope = ['openid', 'email', 'profile'];
  await call('POST', '/user/', {
    username: gloria.name,
    name: 'Gloria',
    email: gloria.email,
    email_verified: '1',
    groups: ['wms-managers'],
    password: gloria.password,
    scope,
    enabled: true,
  });
  await call('POST', '/client/', {
    client_id: client.id,
    name: 'Holdfast',
    confidential: true,
    password: client.secret,
    client_secret: client.secret,
    enabled: true,
    redirect_uri: redirects,
    scope: [],
    authorization_type: ['code'],
    token_endpoint_auth_method: ['client_secret_basic', 'client_secret_post'],
  });
  const administrator = cookies;
  cookies = '';
  await call('POST', '/auth/', { username: gloria.name, password: gloria.password });
  await call('PUT', `/auth/grant/${client.id}`, { scope: scope.join(' ') }); // she is not asked later
  cookies = administrator;
}

function plugin() {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return {
    iss: issuer,
    'jwt-type': 'rsa',
    'jwt-key-size': '256',
    key: privateKey,
    cert: publicKey,
    'jwks-show': true,
    'subject-type': 'public',
    'allowed-scope': ['openid', 'email', 'profile'],
    'access-token-duration': 3600,
    'refresh-token-duration': 3600,
    'code-duration': 60,
    'refresh-token-rolling': false,
    'allow-non-oidc': false,
    'auth-type-code-enabled': true,
    'auth-type-token-enabled': false,
    'auth-type-id-token-enabled': true,
    'auth-type-none-enabled': false,
    'auth-type-password-enabled': false,
    'auth-type-client-enabled': false,
    'auth-type-device-enabled': false,
    'auth-type-refresh-enabled': false,
    'pkce-allowed': true,
    'pkce-required': true,
    'pkce-method-plain-allowed': false,
    'oauth-as-iss-id': true,
    'name-claim': 'mandatory',
    'email-claim': 'mandatory',
    claims: [
      {
        name: 'email_verified',
        'user-property': 'email_verified',
        type: 'boolean',
        'boolean-value-true': '1',
        'boolean-value-false': '0',
        mandatory: true,
        scope: [],
      },
      { name: 'groups', 'user-property': 'groups', type: 'string', mandatory: true, scope: [] },
    ],
  };
}

// add lets Holdfast be sent back to a further address.
export async function add(redirect) {
  const known = await call('GET', `/client/${client.id}`);
  await call('PUT', `/client/${client.id}`, { ...known, redirect_uri: [...known.redirect_uri, redirect] });
}

export async function close() {
  const ended = new Promise((done) => server.once('exit', done));
  server.kill();
  await ended;
  rmSync(dir, { recursive: true });
}
