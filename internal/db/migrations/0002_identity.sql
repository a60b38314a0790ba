-- Accounts, sessions, keys, second factors and organisations' providers. They
-- belong to people and to the platform: only audit_seals, audit_heads and
-- service accounts are of a tenant. Memberships are in members.

create table users (
  id uuid not null,
  email text,
  phone text,
  role text not null,
  password_hash text,
  email_confirmed_at timestamptz,
  phone_confirmed_at timestamptz,
  confirmation_sent_at timestamptz,
  recovery_sent_at timestamptz,
  email_change_sent_at timestamptz,
  reauthentication_sent_at timestamptz,
  new_email text,
  invited_at timestamptz,
  last_sign_in_at timestamptz,
  banned_until timestamptz,
  deleted_at timestamptz,
  app_metadata text not null,
  user_metadata text not null,
  is_sso boolean not null,
  is_anonymous boolean not null,
  last_tenant_id uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  new_phone text,
  phone_change_sent_at timestamptz,
  -- The addresses that somebody signed in to the account from last, newest first,
  -- as a JSON list: strangers who guess elsewhere do not keep those out.
  signed_in_from text,
  primary key (id)
);

-- One account to an address; an SSO account never meets a password account.
create unique index users_email_key on users (email) where is_sso = false and deleted_at is null;
create unique index users_phone_key on users (phone) where phone is not null and is_sso = false and deleted_at is null;

create table identities (
  id uuid not null,
  user_id uuid not null,
  provider text not null,
  issuer text not null,
  subject text not null,
  email text,
  data text not null,
  last_sign_in_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (id),
  foreign key (user_id) references users (id)
);

create unique index identities_subject_key on identities (provider, issuer, subject);
create index identities_user_idx on identities (user_id);

-- no rls: a session is read before the tenant is known, and that of somebody without a tenant has none.
create table sessions (
  id uuid not null,
  user_id uuid not null,
  tenant_id uuid,
  aal text not null,
  amr text not null,
  counter bigint not null,
  refresh_key bytea not null,
  refreshed_at timestamptz,
  not_after timestamptz not null,
  user_agent text,
  address text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- The factor that raised a session, and the counter below which its refresh
  -- tokens are of the lower level.
  factor_id uuid,
  floor_counter bigint,
  raised_at timestamptz,
  -- When the session last showed a credential again.
  proved_at timestamptz,
  -- When an access token of the last refresh was first used: its answer came.
  arrived_at timestamptz,
  primary key (id),
  foreign key (user_id) references users (id)
);

create index sessions_user_idx on sessions (user_id);
create index sessions_not_after_idx on sessions (not_after);

-- One row for each purpose an account has a code outstanding for.
create table one_time_tokens (
  id uuid not null,
  user_id uuid not null,
  slot text not null,
  kind text not null,
  address text not null,
  link_hash text not null,
  code_hash text not null,
  attempts bigint not null,
  -- The address that asked for it, as requests are counted; '' = no stranger's
  -- doing. Guesses from elsewhere are counted apart: they do not spend it.
  asked_from text not null,
  strange bigint not null,
  flow_id uuid,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (id),
  foreign key (user_id) references users (id)
);

create unique index one_time_tokens_slot_key on one_time_tokens (user_id, slot, asked_from);
create unique index one_time_tokens_link_key on one_time_tokens (link_hash);
create index one_time_tokens_expires_idx on one_time_tokens (expires_at);
create index one_time_tokens_address_idx on one_time_tokens (address);

-- Wrong passwords of a day, tried from addresses that the account is not known at.
-- A name that nobody has is counted as well, under an id made of it.
create table wrong_passwords (
  account uuid not null,
  tries bigint not null,
  since timestamptz not null,
  primary key (account)
);

create index wrong_passwords_since_idx on wrong_passwords (since);

-- A sign-in that goes through a browser: to a provider, or through a mailed
-- link with PKCE.
create table flow_states (
  id uuid not null,
  user_id uuid,
  method text not null,
  provider text,
  redirect_to text not null,
  challenge text,
  challenge_method text,
  code_hash text,
  secrets bytea,
  browser_hash text,
  token_id uuid,
  created_at timestamptz not null,
  used_at timestamptz,
  issued_at timestamptz,
  expires_at timestamptz not null,
  -- A flow that links a further identity to a signed-in account.
  link_user_id uuid,
  primary key (id)
);

create unique index flow_states_code_key on flow_states (code_hash);
create index flow_states_expires_idx on flow_states (expires_at);

create table signing_keys (
  id uuid not null,
  kid text not null,
  state text not null,
  sealed bytea not null,
  created_at timestamptz not null,
  retired_at timestamptz,
  primary key (id)
);

create unique index signing_keys_kid_key on signing_keys (kid);
create unique index signing_keys_active_key on signing_keys (state) where state = 'active';

create table api_keys (
  id uuid not null,
  kind text not null,
  name text not null,
  hash text not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  primary key (id)
);

create unique index api_keys_hash_key on api_keys (hash);
create unique index api_keys_name_key on api_keys (kind, name) where revoked_at is null;

-- Machines that work for a tenant, and the keys they show. The role bounds what
-- they may do, the scopes what it is used for; removed ones stay for the log.
create table service_accounts (
  tenant_id uuid not null,
  id uuid not null,
  name text not null,
  role text not null,
  scopes text not null,
  addresses text not null,
  expires_at timestamptz,
  created_at timestamptz not null,
  created_by uuid,
  updated_at timestamptz not null,
  removed_at timestamptz,
  primary key (tenant_id, id)
);

create unique index service_accounts_name_key on service_accounts (tenant_id, name) where removed_at is null;

create table service_keys (
  tenant_id uuid not null,
  id uuid not null,
  account_id uuid not null,
  hash text not null,
  created_at timestamptz not null,
  created_by uuid,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  last_used_from text,
  primary key (tenant_id, id),
  foreign key (tenant_id, account_id) references service_accounts (tenant_id, id)
);

create unique index service_keys_hash_key on service_keys (hash);
create unique index service_keys_id_key on service_keys (id);
create index service_keys_account_idx on service_keys (tenant_id, account_id);

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
  -- The addresses from which a factor was passed last, newest first, as a JSON
  -- list: whoever asks for a text from one of them is its owner, or sits beside.
  passed_from text,
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
  address text,
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

-- Processes that write the audit log: each counts the batches of what it writes from its
-- epoch on. All up to sealed_through are sealed; others seal what is left when there is no
-- sign of life.
create table audit_writers (
  epoch bigint not null,
  sealed_through bigint not null,
  seen_at timestamptz not null,
  looked_at timestamptz,
  ended_at timestamptz,
  primary key (epoch)
);

create index audit_writers_living_idx on audit_writers (epoch) where ended_at is null;

-- Seals of tenants' audit logs, each of the rows of a batch: of those with the ids that it
-- names, or of all that no other seal names.
create table audit_seals (
  tenant_id uuid not null,
  seal_no bigint not null,
  batch bigint not null,
  row_count bigint not null,
  ids text,
  hash text not null,
  sealed_at timestamptz not null,
  primary key (tenant_id, seal_no)
);

create index audit_seals_batch_idx on audit_seals (tenant_id, batch);

-- The last seal of a tenant's audit log.
create table audit_heads (
  tenant_id uuid not null,
  seal_no bigint not null,
  hash text not null,
  mac text not null,
  sealed_at timestamptz not null,
  primary key (tenant_id)
);

-- Identifiers that lead a sign-in to one connection of the server: it proved a
-- domain while no other had the name.
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
  -- When a directory suspended the membership: what it took it may give back.
  -- null: it is not suspended, or not by a directory.
  suspended_at timestamptz,
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

-- How many codes were mailed to the postmaster of a domain, or for a tenant,
-- since when: beside sso_domains, whose rows whoever claims a domain removes.
create table sso_code_mails (
  counted_for text not null,
  sent bigint not null,
  since timestamptz not null,
  sent_at timestamptz not null,
  primary key (counted_for)
);

create index sso_code_mails_sent_idx on sso_code_mails (sent_at);

-- Indexes of records that identity reads by what no tenant leads.

create index members_user_idx on members (user_id);
create index invitations_address_idx on invitations (email);
create index sso_connections_issuer_idx on sso_connections (issuer);
-- A tenant's own names; other tenants' are none of its business.
create unique index sso_connections_entity_key on sso_connections (tenant_id, issuer) where kind = 'saml';
create unique index sso_connections_identifier_key on sso_connections (tenant_id, identifier) where identifier is not null;
create index sso_connections_scim_idx on sso_connections (scim_token_hash);
create index audit_batch_idx on audit (tenant_id, batch);
