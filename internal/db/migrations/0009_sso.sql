-- Enterprise sign-in. Only sso_connections is a tenant's table; the others are
-- looked up before anybody knows which tenant is meant, or belong to accounts.

create table sso_connections (
  tenant_id uuid not null,
  id uuid not null,
  kind text not null,
  name text,
  identifier text,
  status text not null,
  issuer text not null,
  metadata_url text,
  metadata_xml text,
  metadata_at timestamptz,
  client_id text,
  secret text,
  scopes text not null,
  name_id_format text,
  attribute_mapping text not null,
  role_map text not null,
  default_role text,
  enforced boolean not null,
  break_glass_user_id uuid,
  allow_unsolicited boolean not null,
  scim_token_hash text,
  last_test text,
  last_test_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);

create index sso_connections_issuer_idx on sso_connections (issuer);

create index sso_connections_scim_idx on sso_connections (scim_token_hash);

-- Names that only one connection of the server may have.
create table sso_names (
  name text not null,
  tenant_id uuid not null,
  connection_id uuid not null,
  primary key (name)
);

-- Domains claimed by connections. Several may claim one; only one has proved it.
create table sso_domains (
  id uuid not null,
  domain text not null,
  tenant_id uuid not null,
  connection_id uuid not null,
  token text not null,
  code_hash text,
  code_expires_at timestamptz,
  code_attempts bigint not null,
  method text,
  verified_at timestamptz,
  created_at timestamptz not null,
  primary key (id)
);

create unique index sso_domains_claim_key on sso_domains (connection_id, domain);

create unique index sso_domains_proved_key on sso_domains (domain) where verified_at is not null;

-- A sign-in on its way: RelayState or state is its id with a keyed hash.
create table sso_requests (
  id uuid not null,
  tenant_id uuid not null,
  connection_id uuid not null,
  request_id text,
  redirect_to text not null,
  challenge text,
  secrets bytea,
  tester_id uuid,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  primary key (id)
);

create index sso_requests_expires_idx on sso_requests (expires_at);

-- Assertions taken, until they would be refused as expired anyway.
create table sso_replays (
  assertion_hash text not null,
  expires_at timestamptz not null,
  primary key (assertion_hash)
);

create index sso_replays_expires_idx on sso_replays (expires_at);

-- One row to an account that a connection made: by a sign-in or by SCIM.
-- not_after is the hard end that the last assertion set.
create table sso_accounts (
  user_id uuid not null,
  tenant_id uuid not null,
  connection_id uuid not null,
  user_name text not null,
  external_id text,
  display_name text,
  given_name text,
  family_name text,
  active boolean not null,
  provisioned boolean not null,
  groups text not null,
  not_after timestamptz,
  deleted_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (user_id),
  foreign key (user_id) references users (id)
);

create unique index sso_accounts_name_key on sso_accounts (connection_id, user_name);

create table sso_groups (
  id uuid not null,
  tenant_id uuid not null,
  connection_id uuid not null,
  display_name text not null,
  external_id text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (id)
);

create unique index sso_groups_name_key on sso_groups (connection_id, display_name);

create table sso_group_members (
  group_id uuid not null,
  user_id uuid not null,
  primary key (group_id, user_id)
);

create index sso_group_members_user_idx on sso_group_members (user_id);
