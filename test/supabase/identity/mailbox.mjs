// A mail server that keeps what it is given (RFC 5321, as far as one client
// needs it).
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { sleep } from '../client.mjs';

const kept = [];

// open leaves nothing to close: the server does not keep the process alive.
export function open(port) {
  const server = createServer(session).unref();
  return new Promise((done) => server.listen(port, '127.0.0.1', done));
}

function session(socket) {
  socket.unref();
  let text = '';
  let letter = null;
  let inData = false;
  const say = (line) => socket.write(`${line}\r\n`);
  const command = (line) => {
    const verb = line.slice(0, 4).toUpperCase();
    if (verb === 'EHLO') return say('250 mailbox.example');
    if (verb === 'MAIL') letter = { to: [] };
    if (verb === 'RCPT') letter.to.push(/<(.*)>/.exec(line)[1].toLowerCase());
    if (verb === 'DATA') {
      inData = true;
      return say('354 go on');
    }
    if (verb === 'QUIT') {
      say('221 bye');
      return socket.end();
    }
    return say('250 ok');
  };
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    text += chunk;
    for (;;) {
      const end = text.indexOf(inData ? '\r\n.\r\n' : '\r\n');
      if (end < 0) return;
      const part = text.slice(0, end);
      text = text.slice(end + (inData ? 5 : 2));
      if (!inData) {
        command(part);
        continue;
      }
      inData = false;
      kept.push({ ...letter, ...parse(part) });
      say('250 kept');
    }
  });
  say('220 mailbox.example');
}

function parse(raw) {
  const subject = /^Subject: (.*)$/im.exec(raw)?.[1] ?? '';
  const part = /Content-Type: text\/plain[\s\S]*?\r\n\r\n([\s\S]*?)\r\n--/i.exec(raw);
  assert.ok(part, `no text part in ${raw}`);
  const text = part[1]
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  return { subject, text, link: /https?:\/\/\S+\/verify\?\S+/.exec(text)?.[0], code: /Code: (\S+)/.exec(text)?.[1] };
}

// letters that came for an address whose subject matches.
export const letters = (to, subject) => kept.filter((m) => m.to.includes(to.toLowerCase()) && subject.test(m.subject));

// letter waits for the n-th such mail: mails leave after the request that
// caused them was answered.
export async function letter(to, subject, n = 1) {
  for (let tries = 0; tries < 600; tries++) {
    const found = letters(to, subject);
    if (found.length >= n) return found[n - 1];
    await sleep(50);
  }
  assert.fail(
    `no mail ${subject} to ${to}, only ${JSON.stringify(kept.filter((m) => m.to.includes(to)).map((m) => m.subject))}`,
  );
}
