// Shipments that a test makes for itself: how many the demonstration has in a state depends on the day.
import { api } from './page.mjs';

const manager = 'manager@north.example';
const say = (path, body, method = 'POST') => api(manager, `/v1/${path}`, { method, body });

// ready are shipments that may leave, each to a town farther east.
export async function ready(mark, count, more) {
  const list = [];
  for (let n = 0; n < count; n++) {
    const [made] = [
      await say('shipments', {
        shipment_no: `RS-${mark}-${n}`,
        direction: 'outbound',
        origin: { name: 'Depot', lat: 50, lon: 8 },
        destination: { name: `Customer ${n} of ${mark}`, city: 'Fulda', lat: 50, lon: 8.5 + n },
        ...more,
      }),
    ].flat();
    for (const status of ['packed', 'ready']) await say(`shipments?id=eq.${made.id}`, { status }, 'PATCH');
    list.push(made);
  }
  return list;
}

// leaving is one that is ready and one that has left, both with a carrier.
export async function leaving(mark) {
  const [stays, left] = await ready(`${mark}${Date.now().toString(36)}`, 2, { carrier: 'DPD' });
  await say('rpc/dispatch', { shipment_id: left.id });
  return [stays, left];
}
