-- Never written, never read: a code belongs to an account.
alter table one_time_tokens drop column session_id;
