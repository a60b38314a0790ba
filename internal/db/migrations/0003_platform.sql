-- What stands beside the records: totals, numbers, queues, imports, marks.

-- Totals per tenant: the value of a counter is the sum of its deltas.
create table counters (
  tenant_id uuid not null,
  name text not null,
  slot uuid not null,
  delta bigint not null,
  primary key (tenant_id, name, slot)
);

-- Last number given out per series and year.
create table sequences (
  tenant_id uuid not null,
  name text not null,
  year bigint not null,
  value bigint not null,
  primary key (tenant_id, name, year)
);

-- What an import keeps besides its job: the decisions taken about the file,
-- the checked rows until they are applied, the refused ones, and what was
-- there before.
create table import_plans (
  tenant_id uuid not null,
  job_id uuid not null,
  plan text not null,
  primary key (tenant_id, job_id),
  foreign key (tenant_id, job_id) references import_jobs (tenant_id, id)
);

create table import_chunks (
  tenant_id uuid not null,
  job_id uuid not null,
  seq bigint not null,
  rows bigint not null,
  data bytea not null,
  primary key (tenant_id, job_id, seq),
  foreign key (tenant_id, job_id) references import_jobs (tenant_id, id)
);

create table import_snapshots (
  tenant_id uuid not null,
  job_id uuid not null,
  seq bigint not null,
  entity_type text not null,
  op text not null,
  rows bigint not null,
  data bytea not null,
  primary key (tenant_id, job_id, seq),
  foreign key (tenant_id, job_id) references import_jobs (tenant_id, id)
);

-- What leaves the server. The outbox, the deliveries and their queue are not
-- sharded (their first column is not tenant_id): one
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

-- How far the clock has been looked at, by kind of event that time raises.
create table outbox_clock (
  kind text not null,
  until_at timestamptz not null,
  primary key (kind)
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

-- Who and what an incident is about: one row per incident and entity, kept with
-- the incident; a void report has none. It makes counting by entity one scan.
create table incident_entities (
  tenant_id uuid not null,
  incident_id uuid not null,
  entity_type text not null,
  entity_id uuid not null,
  at timestamptz not null,
  kind text not null,
  severity text not null,
  primary key (tenant_id, incident_id, entity_type, entity_id),
  foreign key (tenant_id, incident_id) references incidents (tenant_id, id)
);

create index incident_entities_at_idx on incident_entities (tenant_id, entity_type, at, entity_id, kind, severity);
create index incident_entities_entity_idx on incident_entities (tenant_id, entity_type, entity_id, at, kind);

create table import_records (
  tenant_id uuid not null,
  job_id uuid not null,
  seq bigint not null,
  rows bigint not null,
  invalid bigint not null,
  errors bigint not null,
  data bytea not null,
  primary key (tenant_id, job_id, seq),
  foreign key (tenant_id, job_id) references import_jobs (tenant_id, id)
);

create table import_edits (
  tenant_id uuid not null,
  job_id uuid not null,
  row_no bigint not null,
  cells text not null,
  edited_by uuid,
  edited_at timestamptz not null,
  primary key (tenant_id, job_id, row_no),
  foreign key (tenant_id, job_id) references import_jobs (tenant_id, id)
);

create table import_mappings (
  tenant_id uuid not null,
  target text not null,
  signature text not null,
  mapping text not null,
  job_no text,
  saved_at timestamptz not null,
  primary key (tenant_id, target, signature)
);

create table import_journal (
  tenant_id uuid not null,
  job_id uuid not null,
  seq bigint not null,
  inserted bigint not null,
  updated bigint not null,
  unchanged bigint not null,
  applied_at timestamptz not null,
  primary key (tenant_id, job_id, seq),
  foreign key (tenant_id, job_id) references import_jobs (tenant_id, id)
);

-- What nodes tell each other: whose kept answers and memberships are stale.
-- seq is given under the lock of notices_head, so it becomes visible in order.
create table notices (
  seq bigint not null,
  id uuid not null,
  node uuid not null,
  at timestamptz not null,
  body text not null,
  primary key (seq)
);

create table notices_head (
  one bigint not null,
  seq bigint not null,
  primary key (one)
);

-- The nodes that live. Others see that a beat goes on; no clock is compared.
create table nodes (
  id uuid not null,
  beat bigint not null,
  seen_at timestamptz not null,
  primary key (id)
);

-- Counts by month, day and hour: the value is the sum of its deltas. The index
-- finds what is still to be folded.
create table timed_counters (
  tenant_id uuid not null,
  name text not null,
  span text not null,
  start_at timestamptz not null,
  part text not null,
  slot uuid not null,
  delta bigint not null,
  primary key (tenant_id, name, span, start_at, part, slot)
);

create index timed_counters_unfolded_idx on timed_counters (tenant_id) where slot <> '00000000-0000-0000-0000-000000000000';

-- Work that is done outside requests. claim grows with each node that takes a
-- job: what an earlier one notes is passed over.
create table jobs (
  tenant_id uuid not null,
  kind text not null,
  key text not null,
  payload text not null,
  status text not null,
  tries bigint not null,
  claim bigint not null,
  made_at timestamptz not null,
  due_at timestamptz not null,
  done_at timestamptz,
  error text,
  primary key (tenant_id, kind, key)
);

create index jobs_due_idx on jobs (kind, due_at) where status in ('pending', 'running');
create index jobs_made_idx on jobs (kind, made_at);

-- Backups that were made, and where: not where the key is. The scheduled ones
-- are removed when there are more than are kept. A chain is a whole one, by its
-- id, and those that leave out files which others of the chain hold. One that is
-- lost is no longer in its place as it was made; lost_why says what is wrong.
create table backups (
  id uuid not null,
  made_at timestamptz not null,
  place text not null,
  name text not null,
  bytes bigint not null,
  scheduled boolean not null,
  chain uuid not null,
  lost_at timestamptz,
  lost_why text,
  primary key (id)
);

-- When the place of the scheduled backups was looked at last, why it could not be
-- and how many of its backups are lost; when somebody asked for a restore on trial,
-- when there was one, what went wrong, and when the last one was made that came back
-- whole.
create table backup_places (
  place text not null,
  looked_at timestamptz,
  problem text,
  lost bigint not null,
  asked_at timestamptz,
  tried_at timestamptz,
  failure text,
  proved_at timestamptz,
  proved_made timestamptz,
  primary key (place)
);

-- What this installation is, in one row. A restored copy has an id of its own and
-- does nothing outside its data directory until its operator says what it is.
create table installation (
  single bigint not null,
  id uuid not null,
  state text not null,
  previous uuid,
  backup uuid,
  restored_at timestamptz,
  primary key (single)
);

-- What is written to see whether the database can be.
create table probes (
  name text not null,
  beat bigint not null,
  primary key (name)
);

-- What was answered to requests that carry an Idempotency-Key, for a day.
-- id is a digest of caller, method, path and key; print one of the request.
create table idempotency_keys (
  tenant_id uuid not null,
  id text not null,
  print text not null,
  claim text not null,
  claimed_until timestamptz not null,
  made_at timestamptz not null,
  status bigint,
  head text,
  body text,
  primary key (tenant_id, id)
);

create index idempotency_keys_made_idx on idempotency_keys (made_at);

-- What was told of a day that comes near: once for each day and each notice,
-- so many days before it.
create table deadline_notices (
  tenant_id uuid not null,
  collection text not null,
  record_id uuid not null,
  due_on text not null,
  days bigint not null,
  told_at timestamptz not null,
  primary key (tenant_id, collection, record_id, due_on, days)
);

-- When a tenant's next nightly round is due, and how often the present one
-- was begun without coming to its end.
create table nights (
  tenant_id uuid not null,
  due_at timestamptz not null,
  tries bigint not null,
  -- The heavy steps that succeeded in the present night: one that is tried again
  -- does the others only.
  done text not null default '',
  primary key (tenant_id)
);

-- What the valid rows of an import's chunks became when they were applied, in
-- their order: a byte for what was done and the record's id.
create table import_outcomes (
  tenant_id uuid not null,
  job_id uuid not null,
  seq bigint not null,
  data bytea not null,
  primary key (tenant_id, job_id, seq),
  foreign key (tenant_id, job_id) references import_jobs (tenant_id, id)
);

-- Hours by worker, zone and equipment in a window, answered from the index.
create index shifts_exposure_idx on shifts (tenant_id, ended_at, worker_id, zone_id, equipment_id, hours, units_done);

-- A serial number is in stock once: what comes in looks for it in every zone.
create index stock_levels_serial_idx on stock_levels (tenant_id, item_id, serial) where serial is not null;
