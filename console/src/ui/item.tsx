import { lazy } from 'preact-iso';
import { useMemo } from 'preact/hooks';
import { invoke, supabase, want } from '../lib/client';
import { words, type Permissions } from '../lib/catalog';
import { date, money, number } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { useQuery } from '../lib/query';
import type { Row } from '../database';
import { Badge, Card, Empty, Meter, Problem, Skeleton } from './basic';
import { OfSeen } from './seen';
import { hrefOf } from './value';
import '../item.css';

const Plot = lazy(() => import('./plot').then((m) => m.Plot));
const day = 86_400;

interface Level extends Row {
  quantity: number;
  reserved: number;
  stock_status: string;
  serial: string | null;
  lpn: string | null;
  zone: { id: string; code: string; name: string } | null;
  lot: { id: string; lot_no: string; expires_on: string | null; status: string } | null;
}

// ItemStock says where the item lies: by place, and within it by lot.
export function ItemStock({ i, p }: { i: Row; p: Permissions }) {
  const may = !!p.collections['stock_levels']?.read;
  const q = useQuery({
    queryKey: ['c', 'stock_levels', 'item', i.id],
    queryFn: () =>
      want<Level[]>(
        supabase
          .from('stock_levels')
          .select(
            'id,quantity,reserved,stock_status,serial,lpn,zone:zone_id(id,code,name),lot:lot_id(id,lot_no,expires_on,status)',
          )
          .eq('item_id', i.id)
          .gt('quantity', 0)
          .order('quantity', { ascending: false })
          .limit(200),
      ),
    enabled: may,
    meta: { live: true },
  });
  if (!may) return null;
  const n = (name: string) => Number(i[name] ?? 0);
  const unit = String(i['base_uom'] ?? '');
  const reorder = n('reorder_point');
  const full = Math.max(n('max_stock'), reorder * 2, n('on_hand'), 1);
  return (
    <Card
      flush
      title={_('Stock')}
      actions={
        <>
          <OfSeen p={p} of="stock_levels" fields={['quantity']} />
          <a class="small" href={`/console/c/stock_movements?f=item_id.eq.${i.id}&order=occurred_at.desc`}>
            {_('All movements')}
          </a>
        </>
      }
    >
      <dl class="figures">
        {(
          [
            ['available', _('Available')],
            ['on_hand', _('On hand')],
            ['reorder_point', _('Reorder point')],
            ['stock_value', _('Stock value')],
          ] as const
        )
          .filter(([name]) => name in i)
          .map(([name, text]) => (
            <div key={name}>
              <dt>{text}</dt>
              <dd class={name === 'available' && i['low_stock'] ? 'down' : ''}>
                {name === 'stock_value' ? money(n(name)) : number(n(name))}{' '}
                {name === 'stock_value' ? '' : <small>{unit}</small>}
              </dd>
            </div>
          ))}
      </dl>
      {reorder ? (
        <div class="reorder">
          <Meter value={(n('available') / full) * 100} warn={1000} bad={1000} label={_('Available')} />
          <i style={{ insetInlineStart: `${Math.min(100, (reorder / full) * 100)}%` }} title={_('Reorder point')} />
        </div>
      ) : null}
      {i['low_stock'] ? (
        <p class="below down strong">
          {_('Below the reorder point: order {n} {unit}', {
            n: number(n('reorder_qty') || Math.max(0, full - n('available'))),
            unit,
          })}
        </p>
      ) : null}
      <Problem error={q.error} />
      {q.isPending ? (
        <div class="body">
          <Skeleton lines={3} />
        </div>
      ) : q.data?.length ? (
        <div class="table stacks" tabIndex={0} role="region" aria-label={_('Stock')}>
          <table>
            <thead>
              <tr>
                <th scope="col">{_('Place')}</th>
                <th scope="col">{_('Lot')}</th>
                <th scope="col">{_('Status')}</th>
                <th scope="col" class="num">
                  {_('Quantity')}
                </th>
                <th scope="col" class="num">
                  {_('Promised')}
                </th>
              </tr>
            </thead>
            <tbody>
              {q.data.map((l) => (
                <tr key={l.id}>
                  <td>
                    {l.zone ? (
                      <a class="strong" href={`/console/map?at=${l.zone.id}`} title={l.zone.name}>
                        {l.zone.code}
                      </a>
                    ) : (
                      '–'
                    )}{' '}
                    <span class="muted">{l.zone?.name}</span>
                  </td>
                  <td data-label={_('Lot')}>
                    {l.lot ? (
                      <a href={hrefOf('lots', l.lot.id)}>
                        {l.lot.lot_no}
                        {l.lot.expires_on ? `, ${date(l.lot.expires_on)}` : ''}
                      </a>
                    ) : (
                      <span class="muted">{l.serial ?? l.lpn ?? '–'}</span>
                    )}
                  </td>
                  <td data-label={_('Status')}>
                    <Badge state={l.stock_status} />
                  </td>
                  <td class="num" data-label={_('Quantity')}>
                    {number(Number(l.quantity))}
                  </td>
                  <td class="num" data-label={_('Promised')}>
                    {number(Number(l.reserved))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <Empty title={_('Nothing is in stock')} icon="box" />
      )}
    </Card>
  );
}

interface Movement extends Row {
  occurred_at: string;
  type: string;
  quantity: number;
  from_zone_id: string | null;
  to_zone_id: string | null;
}

const most = 1000;

// history walks back from what is on hand now: what came and what left, day by day.
function history(onHand: number, moves: Movement[], from: number, now: number) {
  const change = new Map<number, number>();
  const out = new Map<number, number>();
  const dayOf = (t: number) => Math.floor(t / day) * day;
  for (const m of moves) {
    const at = dayOf(Date.parse(m.occurred_at) / 1000);
    const by = (m.to_zone_id ? 1 : 0) - (m.from_zone_id ? 1 : 0);
    change.set(at, (change.get(at) ?? 0) + by * Number(m.quantity));
    if (m.type === 'ship') out.set(at, (out.get(at) ?? 0) + Number(m.quantity));
  }
  const at: number[] = [];
  const level: number[] = [];
  for (let t = dayOf(now), have = onHand; t >= dayOf(from); t -= day) {
    at.unshift(t);
    level.unshift(Math.max(0, Math.round(have * 1e4) / 1e4));
    have -= change.get(t) ?? 0;
  }
  const weeks: number[] = [];
  const shipped: number[] = [];
  for (let i = at.length - 1; i >= 0; i -= 7) {
    const part = at.slice(Math.max(0, i - 6), i + 1);
    weeks.unshift(part[0] as number);
    shipped.unshift(part.reduce((n, t) => n + (out.get(t) ?? 0), 0));
  }
  return { at, level, weeks, shipped };
}

// ItemPlan is how the item moves: stock and demand of the last ninety days, and
// what the plan makes of it.
export function ItemPlan({ i, p }: { i: Row; p: Permissions }) {
  const may = !!p.collections['stock_movements']?.read;
  const now = useMemo(() => Date.now() / 1000, []);
  const since = new Date((now - 90 * day) * 1000).toISOString();
  const moves = useQuery({
    queryKey: ['c', 'stock_movements', 'plot', i.id],
    queryFn: () =>
      want<Movement[]>(
        supabase
          .from('stock_movements')
          .select('id,occurred_at,type,quantity,from_zone_id,to_zone_id')
          .eq('item_id', i.id)
          .gte('occurred_at', since)
          .order('occurred_at', { ascending: false })
          .limit(most),
      ),
    enabled: may,
    meta: { live: true },
  });
  const plan = useQuery({
    queryKey: ['inventory-plan', i.id],
    queryFn: () => invoke('inventory-plan', `?item_id=${i.id}`),
    enabled: p.functions['inventory-plan'] === true,
    meta: { live: true },
  });
  const list = moves.data;
  const h = useMemo(() => {
    if (!list?.length) return null;
    // Of an item with more movements than are read, the plot begins where they do.
    const from =
      list.length < most ? now - 90 * day : Date.parse((list[list.length - 1] as Movement).occurred_at) / 1000;
    return history(Number(i['on_hand'] ?? 0), list, from, now);
  }, [list, i['on_hand']]);
  const stock = useMemo(() => h && { name: _('On hand'), kind: 'line' as const, values: h.level }, [h]);
  const demand = useMemo(() => h && { name: _('Shipped'), kind: 'bars' as const, values: h.shipped }, [h]);
  const x = plan.data?.items[0];
  if (!may) return null;
  return (
    <Card
      title={_('How it moves')}
      actions={
        <>
          <OfSeen p={p} of="stock_movements" fields={['quantity']} />
          {x ? (
            <Badge tone={x.movement === 'dead' ? 'bad' : x.movement === 'slow' ? 'warn' : 'info'}>
              {words(x.movement)}
            </Badge>
          ) : null}
        </>
      }
    >
      <Problem error={moves.error ?? plan.error} />
      {moves.isPending ? (
        <Skeleton lines={5} />
      ) : h && stock && demand ? (
        <div class="halves">
          <Plot label={_('On hand, last 90 days')} unit={String(i['base_uom'] ?? '')} at={h.at} series={stock} />
          <Plot label={_('Shipped per week')} unit={String(i['base_uom'] ?? '')} at={h.weeks} series={demand} />
        </div>
      ) : (
        <p class="muted">{_('Nothing moved in the last 90 days.')}</p>
      )}
      {x ? (
        <p class="muted small">
          {_('{n} a day on average', { n: number(x.demand_per_day) })}
          {x.suggested_reorder_point != null
            ? ` · ${_('suggested reorder point {n}, yours is {m}', { n: number(x.suggested_reorder_point), m: number(x.reorder_point) })}`
            : ''}
          {x.lead_time_days != null
            ? ` · ${plural(Number(x.lead_time_days), '{n} day to get more', '{n} days to get more')}`
            : ''}
        </p>
      ) : null}
    </Card>
  );
}
