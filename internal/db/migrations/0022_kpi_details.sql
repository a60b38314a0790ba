-- What answers of an inspection weigh; those of earlier inspections count one
-- each.
alter table checklist_runs add column passed_weight bigint;
alter table checklist_runs add column failed_weight bigint;
create index incidents_closed_at_idx on incidents (tenant_id, closed_at);
