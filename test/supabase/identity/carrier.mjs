// A service that carries text messages, as an operator would connect one.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { sleep } from '../client.mjs';

const texts = [];

// open leaves nothing to close: the server does not keep the process alive.
export function open() {
  const carrier = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      texts.push(JSON.parse(body));
      response.end('{}');
    });
  });
  carrier.on('connection', (socket) => socket.unref());
  return new Promise((done) => carrier.unref().listen(process.env.PORT_SMS, '127.0.0.1', done));
}

// textsTo are the messages to a number.
export const textsTo = (phone) => texts.filter((t) => t.to.replace('+', '') === phone);

// code waits for the n-th message to a number: messages leave after the request
// that caused them was answered.
export async function code(phone, n = 1) {
  for (let tries = 0; tries < 600; tries++) {
    const mine = textsTo(phone);
    if (mine.length >= n) return /\d{6,}/.exec(mine[n - 1].text)[0];
    await sleep(50);
  }
  assert.fail(`no text message to ${phone}`);
}
