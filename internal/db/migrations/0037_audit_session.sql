-- The session in which something was done, where there was one.
alter table audit add column session_id uuid;
