-- A tenant's own limits, where its plan is custom: {"api": {"minute": 3000,
-- "burst": 600}, ...}; what is not named is as in the standard plan.
alter table tenants add column limits text;

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

insert into notices_head values (1, 0);

-- The nodes that live. Others see that a beat goes on; no clock is compared.
create table nodes (
  id uuid not null,
  beat bigint not null,
  seen_at timestamptz not null,
  primary key (id)
);
