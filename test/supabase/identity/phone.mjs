// Telephone numbers: codes by text message, fixed ones for test numbers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claims, client, ok, password, service, sleep } from '../client.mjs';
import { code, textsTo } from './carrier.mjs';
import { confirmed } from './rig.mjs';

let serial = Date.now() % 1e7;
export const newNumber = () => `4917${String(++serial).padStart(8, '0')}`;

test('signInWithOtp by text message: signs up, then signs in', async () => {
  const phone = newNumber();
  assert.match(ok(await client().auth.signInWithOtp({ phone: `+${phone}` })).messageId, /^[0-9a-f-]{36}$/);
  const first = await code(phone);
  const wrong = (await client().auth.verifyOtp({ phone, token: first === '000000' ? '000001' : '000000', type: 'sms' }))
    .error;
  assert.deepEqual([wrong.status, wrong.code], [403, 'otp_expired']);
  const { user, session } = ok(await client().auth.verifyOtp({ phone, token: first, type: 'sms' }));
  assert.deepEqual([user.phone, user.email, user.app_metadata.provider], [phone, '', 'phone']);
  assert.equal(claims(session.access_token).phone, phone);
  assert.equal((await client().auth.verifyOtp({ phone, token: first, type: 'sms' })).error.code, 'otp_expired');
  ok(await client().auth.signInWithOtp({ phone }));
  const again = ok(await client().auth.verifyOtp({ phone, token: await code(phone, 2), type: 'sms' }));
  assert.equal(again.user.id, user.id);
});

test('a test number has a fixed code and gets no message', async () => {
  const phone = '15550001111';
  ok(await client().auth.signInWithOtp({ phone }));
  let user = null;
  for (let tries = 0; tries < 600 && !user; tries++) {
    // the code is made after the answer
    ({ user } = (await client().auth.verifyOtp({ phone, token: '424242', type: 'sms' })).data);
    if (!user) await sleep(50);
  }
  assert.equal(user?.phone, phone);
  assert.deepEqual(textsTo(phone), []);
});

test('signUp with number and password, resend, signInWithPassword', async () => {
  const phone = newNumber();
  const { session } = ok(await client().auth.signUp({ phone, password }));
  assert.equal(session, null);
  await code(phone);
  assert.equal((await client().auth.signInWithPassword({ phone, password })).error.code, 'phone_not_confirmed');
  ok(await client().auth.resend({ type: 'sms', phone }));
  ok(await client().auth.verifyOtp({ phone, token: await code(phone, 2), type: 'sms' }));
  ok(await client().auth.signInWithPassword({ phone, password }));
  assert.equal(
    (await client().auth.signInWithPassword({ phone, password: 'wrong-password' })).error.code,
    'invalid_credentials',
  );
});

test('updateUser: a number is added when its code is given', async () => {
  const { c } = await confirmed('caller');
  const phone = newNumber();
  ok(await c.auth.updateUser({ phone }));
  assert.equal(ok(await c.auth.getUser()).user.phone, '');
  await code(phone);
  ok(await client().auth.resend({ type: 'phone_change', phone }));
  ok(await c.auth.verifyOtp({ phone, token: await code(phone, 2), type: 'phone_change' }));
  assert.equal(ok(await c.auth.getUser()).user.phone, phone);
  const { c: second } = await confirmed('second');
  ok(await second.auth.updateUser({ phone })); // whose number it is, nobody learns
  assert.equal(ok(await second.auth.getUser()).user.phone, '');
});

test("channel: 'whatsapp' of signUp, signInWithOtp and updateUser reaches who carries the message", async () => {
  const { c } = await confirmed('channel');
  const asks = {
    signUp: (phone, channel) => client().auth.signUp({ phone, password, options: { channel } }),
    signInWithOtp: (phone, channel) => client().auth.signInWithOtp({ phone, options: { channel } }),
    updateUser: (phone, channel) => c.auth.updateUser({ phone, channel }),
  };
  for (const [name, ask] of Object.entries(asks)) {
    for (const channel of ['whatsapp', 'sms', undefined]) {
      const phone = newNumber();
      ok(await ask(phone, channel));
      await code(phone);
      assert.deepEqual(
        textsTo(phone).map((t) => t.channel),
        [channel ?? 'sms'],
        name,
      );
    }
    const { error } = await ask(newNumber(), 'pigeon');
    assert.deepEqual([error?.status, error?.code], [400, 'validation_failed'], name);
  }
});

test('an administrator makes an account with a number', async () => {
  const phone = newNumber();
  const { user } = ok(await service().auth.admin.createUser({ phone, password, phone_confirm: true }));
  assert.deepEqual([user.phone, typeof user.phone_confirmed_at], [phone, 'string']);
  ok(await client().auth.signInWithPassword({ phone, password }));
});
