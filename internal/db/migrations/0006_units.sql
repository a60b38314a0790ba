-- Tenants that are there get the units of Recommendation 20 that new ones begin with
-- (package factors). A unit that a tenant has, archived or not, stays as it is.

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000001', 'EA', 'Each', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'ea');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000002', 'H87', 'Piece', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'h87');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000003', 'C62', 'One', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'c62');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000004', 'PCE', 'Piece (older code)', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'pce');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000005', 'PR', 'Pair', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'pr');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000006', 'SET', 'Set', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'set');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000007', 'KT', 'Kit', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'kt');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000008', 'DZN', 'Dozen', 'count', 2, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'dzn');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000009', 'GRO', 'Gross', 'count', 2, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'gro');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-00000000000a', 'CEN', 'Hundred', 'count', 2, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'cen');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-00000000000b', 'MIL', 'Thousand', 'count', 3, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'mil');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-00000000000c', 'PK', 'Pack', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'pk');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-00000000000d', 'BX', 'Box', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'bx');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-00000000000e', 'CT', 'Carton', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'ct');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-00000000000f', 'CS', 'Case', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'cs');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000010', 'BG', 'Bag', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'bg');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000011', 'BO', 'Bottle', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'bo');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000012', 'CA', 'Can', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'ca');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000013', 'TU', 'Tube', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'tu');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000014', 'DR', 'Drum', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'dr');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000015', 'RO', 'Roll', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'ro');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000016', 'BE', 'Bundle', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'be');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000017', 'PF', 'Pallet (lift)', 'count', 0, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'pf');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000018', 'MGM', 'Milligram', 'mass', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'mgm');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000019', 'GRM', 'Gram', 'mass', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'grm');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-00000000001a', 'KGM', 'Kilogram', 'mass', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'kgm');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-00000000001b', 'TNE', 'Tonne', 'mass', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'tne');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-00000000001c', 'ONZ', 'Ounce', 'mass', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'onz');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-00000000001d', 'LBR', 'Pound', 'mass', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'lbr');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-00000000001e', 'MLT', 'Millilitre', 'volume', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'mlt');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-00000000001f', 'LTR', 'Litre', 'volume', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'ltr');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000020', 'HLT', 'Hectolitre', 'volume', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'hlt');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000021', 'MTQ', 'Cubic metre', 'volume', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'mtq');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000022', 'GLL', 'Gallon (US)', 'volume', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'gll');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000023', 'FTQ', 'Cubic foot', 'volume', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'ftq');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000024', 'MMT', 'Millimetre', 'length', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'mmt');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000025', 'CMT', 'Centimetre', 'length', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'cmt');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000026', 'MTR', 'Metre', 'length', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'mtr');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000027', 'INH', 'Inch', 'length', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'inh');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000028', 'FOT', 'Foot', 'length', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'fot');

insert into uoms (tenant_id, id, code, name, kind, decimals, created_at, updated_at, version)
select id, '019acb00-0000-7000-8000-000000000029', 'MTK', 'Square metre', 'surface', 4, created_at, created_at, 1
from tenants
where not exists (select 1 from uoms where tenant_id = tenants.id and lower(code) = 'mtk');

-- A unit of which no part may be had, and of which a tenant has parts already, keeps the
-- four decimals that it had while nothing was known of it: nothing that lies there, was
-- ordered or is packed so is refused from one day to the next. Parts are looked for in
-- stock, on lines of open orders, and in what other units of an item hold. Those who keep
-- the units lower the decimals when no part is left.

update uoms
set decimals = 4
where version = 1
  and decimals < 4
  and id in (
    '019acb00-0000-7000-8000-000000000001', '019acb00-0000-7000-8000-000000000002',
    '019acb00-0000-7000-8000-000000000003', '019acb00-0000-7000-8000-000000000004',
    '019acb00-0000-7000-8000-000000000005', '019acb00-0000-7000-8000-000000000006',
    '019acb00-0000-7000-8000-000000000007', '019acb00-0000-7000-8000-000000000008',
    '019acb00-0000-7000-8000-000000000009', '019acb00-0000-7000-8000-00000000000a',
    '019acb00-0000-7000-8000-00000000000b', '019acb00-0000-7000-8000-00000000000c',
    '019acb00-0000-7000-8000-00000000000d', '019acb00-0000-7000-8000-00000000000e',
    '019acb00-0000-7000-8000-00000000000f', '019acb00-0000-7000-8000-000000000010',
    '019acb00-0000-7000-8000-000000000011', '019acb00-0000-7000-8000-000000000012',
    '019acb00-0000-7000-8000-000000000013', '019acb00-0000-7000-8000-000000000014',
    '019acb00-0000-7000-8000-000000000015', '019acb00-0000-7000-8000-000000000016',
    '019acb00-0000-7000-8000-000000000017'
  )
  and (
    exists (
      select 1
      from items
      join stock_levels on stock_levels.tenant_id = items.tenant_id and stock_levels.item_id = items.id
      where items.tenant_id = uoms.tenant_id
        and lower(items.base_uom) = lower(uoms.code)
        and stock_levels.quantity % case uoms.decimals when 0 then 10000 when 2 then 100 else 10 end <> 0
    )
    or exists (
      select 1
      from order_lines
      join orders on orders.tenant_id = order_lines.tenant_id and orders.id = order_lines.order_id
      where order_lines.tenant_id = uoms.tenant_id
        and orders.status not in ('completed', 'cancelled')
        and lower(order_lines.uom) = lower(uoms.code)
        and order_lines.qty_ordered % case uoms.decimals when 0 then 10000 when 2 then 100 else 10 end <> 0
    )
    or exists (
      select 1
      from order_lines
      join orders on orders.tenant_id = order_lines.tenant_id and orders.id = order_lines.order_id
      where order_lines.tenant_id = uoms.tenant_id
        and orders.status not in ('completed', 'cancelled')
        and lower(order_lines.ordered_uom) = lower(uoms.code)
        and order_lines.ordered_qty % case uoms.decimals when 0 then 10000 when 2 then 100 else 10 end <> 0
    )
    or exists (
      select 1
      from items
      join item_uoms on item_uoms.tenant_id = items.tenant_id and item_uoms.item_id = items.id
      where items.tenant_id = uoms.tenant_id
        and lower(items.base_uom) = lower(uoms.code)
        and item_uoms.factor % case uoms.decimals when 0 then 10000 when 2 then 100 else 10 end <> 0
    )
  );
