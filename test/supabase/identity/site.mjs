// The customer's page: an unmodified supabase-js in a browser, which redeems
// what it finds in its address.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { anonKey, url } from '../client.mjs';

export const site = `http://localhost:${process.env.PORT_SITE}`;

const library = readFileSync(
  join(dirname(createRequire(import.meta.url).resolve('@supabase/supabase-js')), 'umd/supabase.js'),
);

// ?flow=implicit is the library's own default.
const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Site</title><link rel="icon" href="data:,"></head>
<body><h1>Site</h1><p id="who">nobody</p>
<script src="/supabase.js"></script>
<script>
const flowType = sessionStorage.flow ?? 'pkce';
window.sb = supabase.createClient(${JSON.stringify(url)}, ${JSON.stringify(anonKey)}, { auth: { flowType, experimental: { passkey: true } } });
sb.auth.onAuthStateChange((event, session) => { document.getElementById('who').textContent = session ? session.user.email || 'anonymous' : 'nobody'; });
window.ready = sb.auth.initialize();
</script></body></html>`;

// open leaves nothing to close: the server does not keep the process alive.
export function open() {
  const server = createServer((request, response) => {
    const script = request.url === '/supabase.js';
    response.setHeader('Content-Type', script ? 'text/javascript' : 'text/html; charset=utf-8');
    response.end(script ? library : page);
  });
  server.on('connection', (socket) => socket.unref());
  return new Promise((done) => server.unref().listen(process.env.PORT_SITE, 'localhost', done));
}
