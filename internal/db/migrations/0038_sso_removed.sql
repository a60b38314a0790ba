-- Whom a directory removed leaves the name to whoever has it next.
update sso_accounts set user_name = cast(user_id as text) where deleted_at is not null;
