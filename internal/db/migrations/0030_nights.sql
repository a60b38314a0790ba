-- When a tenant's next nightly round is due, and how often the present one
-- was begun without coming to its end.
create table nights (
  tenant_id uuid not null,
  due_at timestamptz not null,
  tries bigint not null,
  primary key (tenant_id)
);

-- Assignments are read by more people than single persons' scores are.
update training_assignments set assignment_reason = 'the person''s risk score reached the course''s threshold'
  where assignment_type = 'risk_based' and (assignment_reason like 'worker % scored %' or assignment_reason like 'driver % scored %');
