// SimpleSAMLphp of Debian: a SAML identity provider that nobody here wrote, in
// a temporary folder and on a free port.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { answering } from './openid.mjs';

const port = process.env.PORT_SAML;
const base = `http://127.0.0.1:${port}`;
const program = '/usr/share/simplesamlphp';
const persistent = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent';
export const transient = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';

export const metadata = `${base}/saml2/idp/metadata.php`;
export const sam = { name: 'sam', password: 'a-password-of-his', email: 'sam@samlphp.example' };

// unsolicited is where the provider starts a sign-in by itself.
export const unsolicited = (entity, relay) =>
  `${base}/saml2/idp/SSOService.php?${new URLSearchParams({ spentityid: entity, RelayState: relay })}`;

let dir;
let server;

export async function open(serviceProvider) {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-saml-'));
  for (const name of ['config', 'metadata', 'cert', 'log', 'data', 'tmp']) mkdirSync(join(dir, name));
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-keyout',
      join(dir, 'cert/idp.pem'),
      '-out',
      join(dir, 'cert/idp.crt'),
      '-days',
      '2',
      '-subj',
      '/CN=idp',
    ],
    { stdio: 'pipe' },
  );
  write('config/config.php', 'config', {
    baseurlpath: `${base}/`,
    certdir: `${dir}/cert/`,
    loggingdir: `${dir}/log/`,
    datadir: `${dir}/data/`,
    tempdir: `${dir}/tmp`,
    metadatadir: `${dir}/metadata/`,
    attributenamemapdir: `${program}/config/attributemap/`,
    secretsalt: 'salt-of-the-tests',
    'auth.adminpassword': 'nobody-administers-this',
    timezone: 'UTC',
    'enable.saml20-idp': true,
    'logging.handler': 'file',
    'module.enable': { exampleauth: true, core: true, saml: true },
    'session.cookie.secure': false,
    'language.cookie.secure': false,
    'session.phpsession.savepath': `${dir}/tmp`,
    'store.type': 'phpsession',
    'metadata.sources': [{ type: 'flatfile' }],
  });
  write('config/authsources.php', 'config', {
    people: {
      0: 'exampleauth:UserPass',
      [`${sam.name}:${sam.password}`]: {
        uid: [sam.name],
        mail: [sam.email],
        displayName: ['Sam'],
        groups: ['wms-managers'],
      },
    },
  });
  write('metadata/saml20-idp-hosted.php', 'metadata', {
    '__DYNAMIC:1__': {
      host: '__DEFAULT__',
      privatekey: 'idp.pem',
      certificate: 'idp.crt',
      auth: 'people',
      NameIDFormat: persistent,
      'signature.algorithm': 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
      authproc: { 3: { class: 'saml:AttributeNameID', attribute: 'uid', Format: persistent } },
    },
  });
  trust(serviceProvider);
  server = spawn('php', ['-S', `127.0.0.1:${port}`, '-t', `${program}/www`], {
    env: { ...process.env, SIMPLESAMLPHP_CONFIG_DIR: join(dir, 'config') },
    stdio: 'ignore',
  });
  server.on('error', (error) => assert.fail(`php does not start (${error.message}): run scripts/setup`));
  await answering(metadata);
}

// trust makes a service provider known by its metadata, as an administrator
// does who pastes them; it is told persons by names of a format.
export function trust(xml, format = persistent) {
  const entity = /entityID="([^"]+)"/.exec(xml)[1];
  const consumer = /<(?:\w+:)?AssertionConsumerService[^>]*Location="([^"]+)"/.exec(xml)[1];
  write('metadata/saml20-sp-remote.php', 'metadata', {
    [entity]: { AssertionConsumerService: consumer, NameIDFormat: format },
  });
}

function write(path, variable, value) {
  writeFileSync(join(dir, path), `<?php\n$${variable} = ${php(value)};\n`);
}

// php writes a value as PHP does.
function php(value) {
  if (typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (typeof value === 'string') return `'${value.replace(/[\\']/g, '\\$&')}'`;
  const pairs = Object.entries(value).map(([key, v]) => `${/^\d+$/.test(key) ? key : php(key)} => ${php(v)}`);
  return `[${pairs.join(', ')}]`;
}

export async function close() {
  const ended = new Promise((done) => server.once('exit', done));
  server.kill();
  await ended;
  rmSync(dir, { recursive: true });
}
