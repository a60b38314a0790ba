alter table incidents add column reporter_name text;

create table report_links (
  tenant_id uuid not null,
  id uuid not null,
  name text not null,
  site_id uuid,
  zone_id uuid,
  token text not null,
  rotated_at timestamptz,
  status text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint report_links_site_id_fkey foreign key (tenant_id, site_id) references sites (tenant_id, id),
  constraint report_links_zone_id_fkey foreign key (tenant_id, zone_id) references zones (tenant_id, id)
);
create index report_links_site_id_idx on report_links (tenant_id, site_id);
create index report_links_zone_id_idx on report_links (tenant_id, zone_id);
create unique index report_links_token_key on report_links (tenant_id, token);
