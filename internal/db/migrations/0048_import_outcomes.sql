-- What the valid rows of an import's chunks became when they were applied, in
-- their order: a byte for what was done and the record's id.

create table import_outcomes (
  tenant_id uuid not null,
  job_id uuid not null,
  seq bigint not null,
  data bytea not null,
  primary key (tenant_id, job_id, seq),
  foreign key (tenant_id, job_id) references import_jobs (tenant_id, id)
);
