// signUp where the operator lets it tell that an address or number is taken:
// the idiom of applications is `user.identities.length === 0`. The default, which
// tells nothing, is in confirm.mjs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { client, ok, password } from '../client.mjs';
import * as carrier from './carrier.mjs';
import * as mailbox from './mailbox.mjs';
import { confirmed, newAddress } from './rig.mjs';

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
