create table incident_photos (
  tenant_id uuid not null,
  id uuid not null,
  incident_id uuid not null,
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
  constraint incident_photos_incident_id_fkey foreign key (tenant_id, incident_id) references incidents (tenant_id, id)
);
create index incident_photos_incident_id_idx on incident_photos (tenant_id, incident_id);
