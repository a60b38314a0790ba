alter table members add column last_sign_in_at timestamptz;

alter table members add column last_seen_at timestamptz;
