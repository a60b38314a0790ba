-- Mails of the safety programme on their way: one for each key, whoever makes
-- it again. A row of kind day marks a tenant's day as done.
create table safety_mails (
  tenant_id uuid not null,
  key text not null,
  user_id uuid not null,
  kind text not null,
  address text not null,
  subject text not null,
  body text not null,
  html text not null,
  status text not null,
  tries bigint not null,
  made_at timestamptz not null,
  next_at timestamptz not null,
  primary key (tenant_id, key)
);
create index safety_mails_status_next_at_idx on safety_mails (status, next_at);
create index safety_mails_kind_key_idx on safety_mails (tenant_id, kind, key);

-- Work that one node at a time does. Others see that a beat goes on; no clock
-- is compared.
create table leases (
  name text not null,
  holder uuid,
  beat bigint not null,
  primary key (name)
);

create index checklist_runs_status_due_at_idx on checklist_runs (tenant_id, status, due_at);
