create table checklist_photos (
  tenant_id uuid not null,
  id uuid not null,
  run_id uuid not null,
  caption text,
  width bigint not null,
  height bigint not null,
  size bigint not null,
  sha256 text not null,
  blob_key text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint checklist_photos_run_id_fkey foreign key (tenant_id, run_id) references checklist_runs (tenant_id, id)
);
create index checklist_photos_run_id_idx on checklist_photos (tenant_id, run_id);
