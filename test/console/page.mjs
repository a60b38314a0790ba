// A browser at the started server, with people of the demonstration.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { appendFileSync, mkdirSync } from 'node:fs';
import { test as run } from 'node:test';
import { AxeBuilder } from '@axe-core/playwright';
import { chromium } from 'playwright-core';

export const url = required('HOLDFAST_URL');
// The same server by a name, as passkeys need it.
export const named = url.replace('127.0.0.1', 'localhost');
export const engine = process.env.HOLDFAST_ENGINE ?? '';
export const password = 'holdfast-demo';
const patience = Number(process.env.CONSOLE_PATIENCE ?? 30_000);
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run make console-test`);
  return value;
}

let browser;

async function launch() {
  for (let tries = 3; ; tries--) {
    try {
      return await chromium.launch({ executablePath: '/usr/bin/chromium', args: flags, timeout: patience });
    } catch (err) {
      if (tries === 1) throw err;
      console.error(`chromium did not start: ${String(err).split('\n')[0]}`);
    }
  }
}

export const wide = { width: 1440, height: 900 };
export const narrow = { width: 390, height: 844 };

// visit opens a page of a fresh browser context and watches it: no error of a
// script, nothing that the policy refused, no request to another host but where
// somebody is sent to sign in.
export async function visit(
  script,
  { viewport = wide, colorScheme = 'light', locale = 'en-GB', provider, ...more } = {},
) {
  browser ??= await launch();
  const context = await browser.newContext({
    viewport,
    colorScheme,
    locale,
    timezoneId: 'Europe/Berlin',
    acceptDownloads: true,
    ...more,
  });
  context.setDefaultTimeout(patience);
  const wrong = [];
  const asked = [];
  const page = await context.newPage();
  page.on('response', (r) => asked.push(`${r.status()} ${r.request().method()} ${new URL(r.url()).pathname}`));
  page.on('pageerror', (e) => wrong.push(`script: ${e.message}`));
  page.on('console', (m) => {
    if (/Content Security Policy|Refused to/.test(m.text())) wrong.push(m.text());
  });
  page.on('request', (r) => {
    const known = [url, named, provider].some((host) => host && r.url().startsWith(host));
    if (!known && !/^(blob|data):/.test(r.url())) wrong.push(`request to ${r.url()}`);
  });
  try {
    await script(page, context);
    assert.deepEqual(wrong, []);
  } catch (e) {
    mkdirSync('tmp', { recursive: true });
    await page.screenshot({ path: `tmp/console-failed-${engine}.png` }).catch(() => undefined);
    const text = await page
      .locator('body')
      .innerText()
      .catch(() => '');
    const requests = asked
      .filter((line) => !line.includes('/console/assets/'))
      .slice(-20)
      .join('\n');
    throw new Error(`${e.message}\nat ${page.url()}\n${text.slice(0, 1200)}\nits last requests:\n${requests}`, {
      cause: e,
    });
  } finally {
    await context.close();
  }
}

export async function close() {
  await browser?.close();
}

// test is one task of a person.
export const test = (name, f, timeout = 300_000) => run(name, { timeout }, f);

// Sessions are made beside the page where a test is not about signing in:
// signing in is limited to ten in ten seconds for one address.
const sessions = new Map();

// What protects an account or a tenant is changed within ten minutes of a proof,
// and on a busy machine the tests take longer than that.
const proved = new Map();
const lately = 240_000;

export async function session(email) {
  if (!sessions.has(email)) await enter(email, '/auth/v1/token?grant_type=password', { email, password });
  if (Date.now() - proved.get(email) > lately) await prove(email);
  return sessions.get(email);
}

// signInAgain begins a session anew: the organisation that somebody has come to is in it.
export function signInAgain(email) {
  sessions.delete(email);
  return session(email);
}

function keep(email, made) {
  secret(made.access_token);
  secret(made.refresh_token);
  sessions.set(email, made);
  proved.set(email, Date.now());
}

async function prove(email) {
  const { access_token: token } = sessions.get(email);
  const r = await fetch(`${url}/auth/v1/reauthenticate`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ password }),
  });
  assert.ok(r.ok, `${email} shows the password again: ${r.status} ${await r.text()}`);
  proved.set(email, Date.now());
}

// secret is what the server's log must not show.
export function secret(text) {
  appendFileSync(process.env.SECRETS_FILE ?? '/dev/null', `${text}\n`);
}

async function enter(email, path, body) {
  for (let tries = 5; !sessions.has(email); tries--) {
    const r = await fetch(url + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    const made = await r.json();
    if (r.ok) keep(email, made);
    else if (r.status === 429 && tries)
      await new Promise((done) => setTimeout(done, 1000 * Number(r.headers.get('Retry-After') ?? 2)));
    else throw new Error(`${email}: ${r.status} ${JSON.stringify(made)}`);
  }
}

// digits are the six that an authenticator app shows for a secret (RFC 6238).
export function digits(secret, at = Date.now()) {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...secret.replace(/=+$/, '')].map((c) => alphabet.indexOf(c).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from(bits.match(/.{8}/g).map((b) => parseInt(b, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(at / 30_000)));
  const sum = createHmac('sha1', key).update(step).digest();
  const from = sum[19] & 15;
  return String((sum.readUInt32BE(from) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

// raised gives somebody a second factor and a session that showed it.
export async function raised(email) {
  const post = (path, body) => api(email, path, { method: 'POST', body });
  const factor = await post('/auth/v1/factors', { factor_type: 'totp', friendly_name: 'App' });
  const { id } = await post(`/auth/v1/factors/${factor.id}/challenge`, {});
  const made = await post(`/auth/v1/factors/${factor.id}/verify`, {
    challenge_id: id,
    code: digits(factor.totp.secret),
  });
  keep(email, made);
  return factor.totp.secret;
}

// calm waits until a page may sign in several times.
export function calm() {
  return new Promise((done) => setTimeout(done, 10_000));
}

// as is visit with somebody who is signed in.
export function as(email, script, options = {}) {
  return visit(async (page, context) => {
    const s = await session(email);
    await context.addInitScript((text) => {
      if (location.pathname.startsWith('/console') && !localStorage.getItem('seeded')) {
        localStorage.setItem('seeded', '1');
        localStorage.setItem('holdfast.session', text);
      }
    }, JSON.stringify(s));
    await script(page, context);
  }, options);
}

// person is somebody new in a role of the north tenant, with the demonstration's
// password; what a test does to the account is nobody else's matter.
export async function person(role, inviter = 'admin@north.example') {
  const email = `${role}-${Date.now()}-${Math.round(Math.random() * 1e6)}@people.example`;
  const { tenant_id: tenant } = await api(inviter, '/auth/v1/invitations', { method: 'POST', body: { email, role } });
  await enter(email, '/auth/v1/signup', { email, password, data: { tenant_id: tenant } });
  return email;
}

// stranger is somebody new who belongs nowhere.
export async function stranger() {
  const email = `new-${Date.now()}-${Math.round(Math.random() * 1e6)}@people.example`;
  await enter(email, '/auth/v1/signup', { email, password });
  return email;
}

// mail waits for the newest mail of a kind to somebody.
export async function mail(to, kind) {
  for (let tries = 100; tries; tries--) {
    const list = await (await fetch(`${url}/dev/mail`)).json();
    const found = list.filter((m) => m.to === to && m.kind === kind).pop();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 200));
  }
  throw new Error(`no mail of kind ${kind} to ${to}`);
}

export async function open(page, path) {
  await page.goto(`${url}${path}`);
  await page.locator('main h1').first().waitFor();
}

// chosen waits until what was typed into pickers has become the record that it names,
// which takes a moment on a busy machine.
export async function chosen(page) {
  await page.waitForFunction(() => ![...document.querySelectorAll('input')].some((i) => i.validity.customError));
}

// scanCode sends a code and Enter as a scanner does that is a keyboard, wherever the focus is. The keys carry their own
// moments, 4 ms apart: on a busy machine keys that are typed one by one arrive as slowly as a person's.
export async function scanCode(page, code) {
  const keyboard = await page.context().newCDPSession(page);
  const began = Date.now() / 1000;
  const keys = [...code].map((key) => ({ key, text: key }));
  keys.push({ key: 'Enter', code: 'Enter', text: '\r', windowsVirtualKeyCode: 13 });
  for (const [at, key] of keys.entries()) {
    const timestamp = began + at * 0.004;
    await keyboard.send('Input.dispatchKeyEvent', { type: 'keyDown', timestamp, ...key });
    await keyboard.send('Input.dispatchKeyEvent', { type: 'keyUp', timestamp, ...key, text: undefined });
  }
  await keyboard.detach();
}

// api asks the server as somebody, beside the page.
export async function api(email, path, { method = 'GET', body, headers } = {}) {
  const { access_token: token } = await session(email);
  const r = await fetch(url + path, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(body ? { 'Content-Type': 'application/json' } : {}),
      Prefer: 'return=representation',
      ...headers,
    },
    body: body ? JSON.stringify(body) : undefined,
  });
  const text = await r.text();
  assert.ok(r.ok, `${method} ${path}: ${r.status} ${text}`);
  return text ? JSON.parse(text) : undefined;
}

// stocked are items that lie in bins and are free, without lots or serial
// numbers, and of the class that any bin may hold. A kit has no stock of its own.
export function stocked(count = 1) {
  const plain = 'status=eq.active&storage_class=eq.ambient&tracking=eq.none&has_expiry=is.false&is_kit=not.is.true';
  return api('manager@north.example', `/v1/items?select=id,sku&${plain}&available=gt.40&order=id.desc&limit=${count}`);
}

// operator makes a record as whoever runs the server.
export async function operator(path, body) {
  const key = required('SERVICE_ROLE_KEY');
  const r = await fetch(url + path, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      apikey: key,
      'Content-Type': 'application/json',
      Prefer: 'return=representation',
    },
    body: JSON.stringify(body),
  });
  const made = await r.json();
  assert.ok(r.ok, `POST ${path}: ${r.status} ${JSON.stringify(made)}`);
  return Array.isArray(made) ? made[0] : made;
}

// In minutes the tests do to one organisation what its people do in a day.
{
  const key = required('SERVICE_ROLE_KEY');
  const r = await fetch(`${url}/v1/tenants?slug=eq.north`, {
    method: 'PATCH',
    headers: { Authorization: `Bearer ${key}`, apikey: key, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      plan: 'custom',
      limits: { api: { minute: 20_000, burst: 10_000 }, write: { minute: 10_000, burst: 5_000 } },
    }),
  });
  assert.equal(r.status, 204, await r.text());
}

// founder is somebody new who owns a new organisation of a name.
export async function founder(name) {
  const tenant = await operator('/v1/tenants', { name, slug: `new-${Date.now()}` });
  const email = await stranger();
  await operator('/v1/members', {
    tenant_id: tenant.id,
    user_id: (await session(email)).user.id,
    role: 'owner',
    status: 'active',
  });
  return email;
}

// violations are what axe finds wrong, short.
export async function violations(page, name) {
  // A colour amid its change has no contrast of its own: wait for what ends.
  await page.evaluate(() =>
    Promise.allSettled(
      document
        .getAnimations()
        .filter((a) => Number.isFinite(a.effect?.getComputedTiming().endTime))
        .map((a) => a.finished),
    ),
  );
  const { violations: list } = await new AxeBuilder({ page })
    .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'])
    .analyze();
  return list.map(
    (v) =>
      `${name}: ${v.id}: ${v.nodes
        .slice(0, 2)
        .map((n) => `${n.html.slice(0, 140)} | ${n.failureSummary?.split('\n')[1]?.slice(0, 160)}`)
        .join(' ;; ')}`,
  );
}

// settled waits until nothing is loading.
export async function settled(page) {
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
  await page.waitForFunction(() => !document.querySelector('.skeleton, .spin'));
}

// picture keeps a screenshot for the documentation, when it is asked for.
export async function picture(page, name) {
  if (!process.env.CONSOLE_PICTURES) return;
  await page.screenshot({ path: `${process.env.CONSOLE_PICTURES}/console-${name}.png` });
}

// newBin makes a bin at the site of the first dock: goods are put away and filled up at their own site.
export async function newBin(name, more = {}) {
  const manager = 'manager@north.example';
  const [dock] = await api(manager, '/v1/zones?select=site_id&code=eq.DOCK-1');
  const [bin] = await api(manager, '/v1/zones', {
    method: 'POST',
    body: {
      code: `${name}-${Date.now()}`,
      name: 'Bin of a test',
      kind: 'bin',
      site_id: dock.site_id,
      x: 1,
      y: 1,
      z: 0,
      max_capacity: 10000,
      ...more,
    },
  });
  return bin;
}

// newReserve is an item of which twenty lie in a bin of the same site, and of which three were shipped.
export async function newReserve(name) {
  const manager = 'manager@north.example';
  const bin = await newBin(`${name}-R`);
  const [item] = await api(manager, '/v1/items', {
    method: 'POST',
    body: { sku: `${name}-${Date.now()}`, name: 'Of a reserve' },
  });
  for (const moved of [
    { type: 'receipt', to_zone_id: bin.id, quantity: 23 },
    { type: 'ship', from_zone_id: bin.id, quantity: 3 },
  ])
    await api(manager, '/v1/stock_movements', { method: 'POST', body: { ...moved, item_id: item.id } });
  return item;
}

// dayFromNow is a day of the demonstration's tenants, which are in Germany: UTC's is another for an hour or two a night.
const berlin = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Berlin' });
export const dayFromNow = (days) => berlin.format(new Date(Date.now() + days * 864e5));
