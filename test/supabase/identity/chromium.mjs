// A browser for a person: Chromium is Debian's; each visit is a fresh profile.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const patience = 60_000;

// launch starts a browser with a fresh profile. One that hangs while it starts is
// ended and started again: that says nothing of the pages it would have opened.
async function launch(profiles, viewport) {
  for (let tries = 3; ; tries--) {
    profiles.push(mkdtempSync(join(tmpdir(), 'holdfast-chromium-')));
    try {
      return await chromium.launchPersistentContext(profiles.at(-1), {
        executablePath: '/usr/bin/chromium',
        headless: true,
        args: flags,
        timeout: patience,
        viewport,
      });
    } catch (err) {
      if (tries === 1) throw err;
      console.error(`chromium did not start: ${String(err).split('\n')[0]}`);
    }
  }
}

// visit runs a script with a page of a fresh browser, of a laptop's size unless
// another is given.
export async function visit(script, viewport = { width: 1440, height: 900 }) {
  const profiles = [];
  let browser;
  try {
    browser = await launch(profiles, viewport);
    browser.setDefaultTimeout(patience);
    await script(browser.pages()[0] ?? (await browser.newPage()));
  } finally {
    await browser?.close();
    for (const dir of profiles) rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

// authenticator says yes to everything: one that is built in for passkeys, one
// that is plugged in for the second factor, for which supabase-js asks.
export async function authenticator(page, transport) {
  const wire = await page.context().newCDPSession(page);
  await wire.send('WebAuthn.enable');
  await wire.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport,
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

// did runs a call of supabase-js in the page and returns its data.
export async function did(page, call, argument) {
  const { data, error } = await page.evaluate(call, argument);
  assert.equal(error, null, JSON.stringify(error));
  return data;
}
