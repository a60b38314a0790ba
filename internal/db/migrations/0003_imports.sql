-- What an import keeps besides its job: the decisions taken about the file,
-- the checked rows until they are applied, the refused ones, and what was
-- there before.

create table import_plans (
  tenant_id uuid not null,
  job_id uuid not null,
  plan text not null,
  primary key (tenant_id, job_id),
  foreign key (tenant_id, job_id) references import_jobs (tenant_id, id)
);

create table import_chunks (
  tenant_id uuid not null,
  job_id uuid not null,
  seq bigint not null,
  rows bigint not null,
  data bytea not null,
  primary key (tenant_id, job_id, seq),
  foreign key (tenant_id, job_id) references import_jobs (tenant_id, id)
);

create table import_errors (
  tenant_id uuid not null,
  job_id uuid not null,
  seq bigint not null,
  line bigint not null,
  header text not null,
  code text not null,
  message text not null,
  primary key (tenant_id, job_id, seq),
  foreign key (tenant_id, job_id) references import_jobs (tenant_id, id)
);

create table import_snapshots (
  tenant_id uuid not null,
  job_id uuid not null,
  seq bigint not null,
  entity_type text not null,
  op text not null,
  rows bigint not null,
  data bytea not null,
  primary key (tenant_id, job_id, seq),
  foreign key (tenant_id, job_id) references import_jobs (tenant_id, id)
);
