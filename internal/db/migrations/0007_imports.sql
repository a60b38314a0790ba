-- Rows of a file as they were read, what people corrected in them, the chunks
-- of a large one that were applied, and the
-- mappings a tenant once gave for files of the same columns. Errors stand with
-- their rows.

drop table import_errors;

create table import_records (
  tenant_id uuid not null,
  job_id uuid not null,
  seq bigint not null,
  rows bigint not null,
  invalid bigint not null,
  errors bigint not null,
  data bytea not null,
  primary key (tenant_id, job_id, seq),
  foreign key (tenant_id, job_id) references import_jobs (tenant_id, id)
);

create table import_edits (
  tenant_id uuid not null,
  job_id uuid not null,
  row_no bigint not null,
  cells text not null,
  edited_by uuid,
  edited_at timestamptz not null,
  primary key (tenant_id, job_id, row_no),
  foreign key (tenant_id, job_id) references import_jobs (tenant_id, id)
);

create table import_mappings (
  tenant_id uuid not null,
  target text not null,
  signature text not null,
  mapping text not null,
  job_no text,
  saved_at timestamptz not null,
  primary key (tenant_id, target, signature)
);

create table import_journal (
  tenant_id uuid not null,
  job_id uuid not null,
  seq bigint not null,
  inserted bigint not null,
  updated bigint not null,
  unchanged bigint not null,
  applied_at timestamptz not null,
  primary key (tenant_id, job_id, seq),
  foreign key (tenant_id, job_id) references import_jobs (tenant_id, id)
);
