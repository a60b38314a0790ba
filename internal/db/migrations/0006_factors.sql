-- Second factors, passkeys, phones, and the chain of the audit log. Accounts
-- belong to people, so only audit_heads is a tenant's table.

create table mfa_factors (
  id uuid not null,
  user_id uuid not null,
  friendly_name text,
  kind text not null,
  status text not null,
  phone text,
  secret bytea,
  last_step bigint,
  credential text,
  last_challenged_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (id),
  foreign key (user_id) references users (id)
);

create unique index mfa_factors_name_key on mfa_factors (user_id, friendly_name) where friendly_name is not null;

create index mfa_factors_user_idx on mfa_factors (user_id);

-- A question that waits for its answer: a factor's, or a passkey ceremony's,
-- which begins with nobody.
create table challenges (
  id uuid not null,
  kind text not null,
  user_id uuid,
  factor_id uuid,
  session_id uuid,
  data text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (id)
);

create index challenges_user_idx on challenges (user_id);

create index challenges_expires_idx on challenges (expires_at);

create table recovery_codes (
  id uuid not null,
  user_id uuid not null,
  hash text not null,
  created_at timestamptz not null,
  used_at timestamptz,
  primary key (id),
  foreign key (user_id) references users (id)
);

create unique index recovery_codes_hash_key on recovery_codes (user_id, hash);

-- Wrong answers since the last right one, for the wait before the next.
create table mfa_attempts (
  user_id uuid not null,
  failures bigint not null,
  last_at timestamptz not null,
  primary key (user_id),
  foreign key (user_id) references users (id)
);

create table passkeys (
  id uuid not null,
  user_id uuid not null,
  credential_id text not null,
  friendly_name text,
  credential text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  last_used_at timestamptz,
  primary key (id),
  foreign key (user_id) references users (id)
);

create unique index passkeys_credential_key on passkeys (credential_id);

create index passkeys_user_idx on passkeys (user_id);

-- The factor that raised a session, and the counter below which its refresh
-- tokens are of the lower level.
alter table sessions add column factor_id uuid;

alter table sessions add column floor_counter bigint;

alter table sessions add column raised_at timestamptz;

alter table users add column new_phone text;

alter table users add column phone_change_sent_at timestamptz;

create unique index users_phone_key on users (phone) where phone is not null and is_sso = false and deleted_at is null;

-- A flow that links a further identity to a signed-in account.
alter table flow_states add column link_user_id uuid;

-- The chain is written after the rows, by one sealer at a time; rows that wait
-- have no seal_no.
alter table audit add column seal_no bigint;

alter table audit add column prev_hash text;

alter table audit add column hash text;

create index audit_seal_no_idx on audit (tenant_id, seal_no);

create index audit_unsealed_idx on audit (tenant_id, id) where seal_no is null;

create table audit_heads (
  tenant_id uuid not null,
  seal_no bigint not null,
  hash text not null,
  mac text not null,
  sealed_at timestamptz not null,
  primary key (tenant_id)
);
