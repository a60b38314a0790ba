// What an operator may choose otherwise. signUp tells that an address or number
// is taken: the idiom of applications is `user.identities.length === 0`; the
// default, which tells nothing, is in confirm.mjs. Administrators hand over
// invitations as links that open accounts; the default is in admin.mjs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, claims, client, ok, password } from '../client.mjs';
import * as carrier from './carrier.mjs';
import * as mailbox from './mailbox.mjs';
import { confirmed, founder, newAddress } from './rig.mjs';

await mailbox.open(process.env.PORT_SMTP);
await carrier.open();

// decoy is what GoTrue answers for an account that somebody has.
function decoy({ user, session }, id, want) {
  assert.equal(session, null);
  assert.notEqual(user.id, id);
  assert.match(user.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
  for (const member of ['confirmation_sent_at', 'created_at', 'updated_at']) assert.ok(Date.parse(user[member]), member);
  const { id: _, confirmation_sent_at, created_at, updated_at, ...rest } = user;
  assert.deepEqual(rest, { aud: 'authenticated', role: '', identities: [], is_anonymous: false, ...want });
}

test('signUp with a taken address: no identities, no role, and a mail to the owner', async () => {
  const { email, id } = await confirmed('told', { name: 'Owner' });
  const again = () => client().auth.signUp({ email, password: 'some-other-password', options: { data: { name: 'Asker' } } });
  const first = ok(await again());
  decoy(first, id, { email, phone: '', user_metadata: { name: 'Asker' }, app_metadata: { provider: 'email', providers: ['email'] } });
  assert.notEqual(ok(await again()).user.id, first.user.id, 'a random id each time');
  await mailbox.letter(email, /already have an account/);
  ok(await client().auth.signInWithPassword({ email, password }));
});

test('signUp with a new address, and again before it was proved: an identity', async () => {
  const email = newAddress('fresh');
  const { user } = ok(await client().auth.signUp({ email, password }));
  const { user: again } = ok(await client().auth.signUp({ email, password }));
  for (const one of [user, again]) assert.deepEqual([one.identities.length, one.role], [1, 'authenticated']);
  assert.equal(again.id, user.id);
});

test('signUp with a taken number', async () => {
  const phone = `4917${String(Date.now()).slice(-8)}`;
  const c = client();
  ok(await c.auth.signUp({ phone, password }));
  ok(await c.auth.verifyOtp({ phone, token: await carrier.code(phone), type: 'sms' }));
  const { id } = ok(await c.auth.getUser()).user;
  decoy(ok(await client().auth.signUp({ phone, password: 'some-other-password' })), id, { email: '', phone, user_metadata: {}, app_metadata: { provider: 'phone', providers: ['phone'] } });
  assert.equal(carrier.textsTo(phone).length, 1);
});

const invite = async (c, body) => call(c, '/auth/v1/invitations', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
const redeem = (link) => client().auth.verifyOtp({ token_hash: new URL(link).searchParams.get('token'), type: 'invite' });

test('an invitation to hand over: its link opens the account of the invited address, once, and joins it', async () => {
  const { c: owner, tenant } = await founder();
  const email = newAddress('handed');
  const { status, body } = await invite(owner, { email, role: 'manager', deliver: 'link' });
  assert.deepEqual([status, body.role, body.email], [201, 'manager', email]);
  const { session, user } = ok(await redeem(body.link));
  const told = claims(session.access_token);
  assert.deepEqual([user.email, told.tenant_id, told.tenant_role], [email, tenant, 'manager']);
  assert.equal((await redeem(body.link)).error.code, 'otp_expired', 'used');
  assert.deepEqual(mailbox.letters(email, /./), [], 'nothing is mailed');
  const listed = ok(await owner.from('invitations').select('*').eq('email', email));
  assert.deepEqual([listed.length, listed[0].status, listed[0].token_hash, 'link' in listed[0]], [1, 'accepted', null, false], 'the link was shown once');
});

test('an invitation to hand over: renewed, revoked, and no key to an account in use', async () => {
  const { c: owner } = await founder();
  const email = newAddress('renewed');
  const first = (await invite(owner, { email, role: 'viewer', deliver: 'link' })).body;
  const second = (await invite(owner, { email, role: 'viewer', deliver: 'link' })).body;
  assert.equal((await redeem(first.link)).error.code, 'otp_expired', 'renewed');
  ok(await owner.from('invitations').update({ status: 'revoked' }).eq('id', second.id));
  assert.equal((await redeem(second.link)).error.code, 'otp_expired', 'revoked');
  const holder = await confirmed('holder');
  const { body } = await invite(owner, { email: holder.email, role: 'viewer', deliver: 'link' });
  assert.equal(body.link, `http://localhost:${process.env.PORT_SITE}`, 'the site, where the holder signs in');
  const above = await invite((await confirmed('nobody')).c, { email, role: 'viewer', deliver: 'link' });
  assert.equal(above.status, 403);
});
