-- What leaves the server. The outbox, the deliveries and their queue are not
-- sharded (their first column is not tenant_id, so no row policy either): one
-- node at a time numbers the outbox, and workers claim lanes with SKIP LOCKED.

-- An event is written here in the transaction of its change, without a seq.
-- Commits do not come in the order of ids; seq, given afterwards under the
-- lock of outbox_head, is the order in which readers see events.
create table outbox (
  id uuid not null,
  tenant_id uuid not null,
  type text not null,
  at timestamptz not null,
  audience text,
  data text not null,
  seq bigint,
  primary key (id)
);

create index outbox_new_idx on outbox (id) where seq is null;

create index outbox_seq_idx on outbox (seq);

create index outbox_tenant_idx on outbox (tenant_id, seq);

create table outbox_head (
  one bigint not null,
  seq bigint not null,
  primary key (one)
);

insert into outbox_head values (1, 0);

-- How far the clock has been looked at, by kind of event that time raises.
create table outbox_clock (
  kind text not null,
  until_at timestamptz not null,
  primary key (kind)
);

create table webhooks (
  tenant_id uuid not null,
  id uuid not null,
  url text not null,
  description text,
  events text not null,
  status text not null,
  disabled_reason text,
  failing_since timestamptz,
  api_version text not null,
  secret text not null,
  old_secret text,
  old_secret_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);

create table webhook_deliveries (
  id uuid not null,
  tenant_id uuid not null,
  webhook_id uuid not null,
  event_id uuid not null,
  type text not null,
  payload text not null,
  status text not null,
  attempt bigint not null,
  queued_at timestamptz not null,
  next_at timestamptz,
  done_at timestamptz,
  response_status bigint,
  response_ms bigint,
  request text,
  response text,
  error text,
  attempts text not null,
  replay_of uuid,
  primary key (id)
);

create index webhook_deliveries_due_idx on webhook_deliveries (webhook_id, next_at) where next_at is not null;

create index webhook_deliveries_webhook_idx on webhook_deliveries (tenant_id, webhook_id, id);

create index webhook_deliveries_tenant_idx on webhook_deliveries (tenant_id, id);

create index webhook_deliveries_event_idx on webhook_deliveries (tenant_id, event_id);

-- One lane to a webhook: when it has something due, who is serving it, and
-- whether its breaker is open.
create table webhook_lanes (
  webhook_id uuid not null,
  tenant_id uuid not null,
  active boolean not null,
  next_at timestamptz,
  served_at timestamptz,
  owner text,
  lease_until timestamptz,
  failures bigint not null,
  trips bigint not null,
  open_until timestamptz,
  primary key (webhook_id)
);

create index webhook_lanes_due_idx on webhook_lanes (next_at) where next_at is not null;
