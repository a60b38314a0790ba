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

-- A row here says that records from before this step are still to be counted.
create table timed_counters_due (
  one bigint not null,
  primary key (one)
);
insert into timed_counters_due values (1);
