create table stock_counts (
  tenant_id uuid not null,
  id uuid not null,
  zone_id uuid not null,
  item_id uuid not null,
  lot_id uuid,
  serial text,
  owner_id uuid,
  lpn text,
  stock_status text not null,
  counted bigint not null,
  expected bigint,
  variance bigint,
  exact boolean,
  counted_at timestamptz,
  reason_code text,
  worker_id uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint stock_counts_zone_id_fkey foreign key (tenant_id, zone_id) references zones (tenant_id, id),
  constraint stock_counts_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id),
  constraint stock_counts_lot_id_fkey foreign key (tenant_id, lot_id) references lots (tenant_id, id),
  constraint stock_counts_worker_id_fkey foreign key (tenant_id, worker_id) references workers (tenant_id, id)
);
create index stock_counts_counted_at_exact_idx on stock_counts (tenant_id, counted_at, exact);
create index stock_counts_item_id_counted_at_idx on stock_counts (tenant_id, item_id, counted_at);
create index stock_counts_lot_id_idx on stock_counts (tenant_id, lot_id);
create index stock_counts_worker_id_idx on stock_counts (tenant_id, worker_id);
create index stock_counts_zone_id_idx on stock_counts (tenant_id, zone_id);
create index pick_lines_picked_at_idx on pick_lines (tenant_id, picked_at);
