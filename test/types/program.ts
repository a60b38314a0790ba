// A small program that only compiles while the types say what the server does.
import { createClient } from '@supabase/supabase-js';
import type { Database, EdgeFunctions, Enums, FunctionAnswer, Tables, TablesInsert, TablesUpdate } from './database';

const client = createClient<Database>('http://127.0.0.1:8080', 'anon');

async function lists(): Promise<string[]> {
  const { data, error } = await client
    .from('orders')
    .select('order_no, status, ship_to, order_lines(line_no, qty_ordered, items(sku, name))')
    .eq('status', 'confirmed')
    .order('order_no');
  if (error) throw error;
  return data.flatMap((order) => order.order_lines.map((line) => `${order.order_no} ${line.line_no} ${line.items.sku}`));
}

async function arrays(): Promise<string[]> {
  const { data, error } = await client.from('shipments').select('shipment_no, orders(order_no)');
  if (error) throw error;
  return data.flatMap((shipment) => shipment.orders.map((order) => order.order_no));
}

async function writes(): Promise<number> {
  const zone: TablesInsert<'zones'> = { code: 'A-01', name: 'Aisle 1' };
  const { data } = await client.from('zones').insert(zone).select('id, utilization').single();
  const change: TablesUpdate<'zones'> = { status: 'blocked' };
  await client.from('zones').update(change).eq('id', data?.id ?? '');
  return data?.utilization ?? 0;
}

// @ts-expect-error a zone needs a code
const incomplete: TablesInsert<'zones'> = { name: 'Aisle 1' };
// @ts-expect-error a state that no order has
const state: Enums<'orders_status'> = 'lost';
// @ts-expect-error the server keeps it
const kept: TablesUpdate<'items'> = { on_hand: 3 };

async function misspelt() {
  // @ts-expect-error no such column
  await client.from('zones').update({ colour: 'red' });
  // @ts-expect-error no such collection
  await client.from('zoness').select('id');
}

const weight = (shipment: Tables<'shipments'>): number => shipment.packages.reduce((sum, p) => sum + (p.weight_kg ?? 0), 0);
const window: EdgeFunctions['safety-kpis']['Args'] = { days: 30 };

export { lists, writes, incomplete, state, kept, misspelt, weight, window };
export type { FunctionAnswer };
