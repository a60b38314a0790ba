// A program of its own, so that Node may be told that it has WebSockets: joins a
// channel, and prints what the client heard of it and how often it connected.
import { createClient } from '@supabase/supabase-js';

let connections = 0;
class Counted extends WebSocket {
  constructor(...args) {
    super(...args);
    connections++;
  }
}

const client = createClient(process.env.HOLDFAST_URL, process.env.ANON_KEY, {
  realtime: { transport: Counted, disconnectOnEmptyChannelsAfterMs: 0 },
  auth: { persistSession: false },
});
const heard = [];
client
  .channel('zones')
  .on('postgres_changes', { event: '*', schema: 'public', table: 'zones' }, () => {})
  .subscribe((status, error) => heard.push([status, error?.message ?? '']));
setTimeout(() => {
  console.log(JSON.stringify({ heard, connections, open: client.realtime.isConnected() }));
  process.exit();
}, 5000);
