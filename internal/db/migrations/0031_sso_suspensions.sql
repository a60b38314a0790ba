-- When a directory suspended the membership: what it took it may give back.
-- null: it is not suspended, or not by a directory.
alter table sso_accounts add column suspended_at timestamptz;

update sso_accounts set suspended_at = updated_at where active = false;
