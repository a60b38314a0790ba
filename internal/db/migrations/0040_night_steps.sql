-- The heavy steps that succeeded in the present night: one that is tried again
-- does the others only.
alter table nights add column done text not null default '';

-- A tenant's night stays where it was before there were marks: with tries -1,
-- due_at is when the last began.
insert into nights (tenant_id, due_at, tries, done)
  select tenant_id, max(computed_at), -1, '' from score_runs where entity_id is null group by tenant_id
  on conflict (tenant_id) do nothing;
