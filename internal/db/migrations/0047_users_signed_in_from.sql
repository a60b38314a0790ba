-- The addresses that somebody signed in to the account from last, newest first,
-- as a JSON list: strangers who guess elsewhere do not keep those out.
alter table users add column signed_in_from text;
