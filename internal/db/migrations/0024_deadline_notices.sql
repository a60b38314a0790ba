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
