create table mail_templates (
  tenant_id uuid not null,
  id uuid not null,
  kind text not null,
  locale text not null,
  subject text not null,
  text text not null,
  html text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create unique index mail_templates_kind_locale_key on mail_templates (tenant_id, kind, locale);
