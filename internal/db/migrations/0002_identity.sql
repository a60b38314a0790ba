-- Accounts, sessions and keys. They belong to people and to the platform, not
-- to a tenant: no table here starts with tenant_id. Memberships are in members.

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
  primary key (id)
);

-- One account to an address; an SSO account never meets a password account.
create unique index users_email_key on users (email) where is_sso = false and deleted_at is null;

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
  flow_id uuid,
  session_id uuid,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (id),
  foreign key (user_id) references users (id)
);

create unique index one_time_tokens_slot_key on one_time_tokens (user_id, slot);

create unique index one_time_tokens_link_key on one_time_tokens (link_hash);

create index one_time_tokens_expires_idx on one_time_tokens (expires_at);

create index one_time_tokens_address_idx on one_time_tokens (address);

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

create index members_user_idx on members (user_id);

create index invitations_address_idx on invitations (email);
