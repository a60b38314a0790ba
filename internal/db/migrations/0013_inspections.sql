-- Inspections with questions, schedules and answers; toolbox talks; who did an
-- action and how an incident was investigated.

alter table actions add column completed_by uuid;

alter table actions add column reviewed_at timestamptz;

alter table actions add column suggested_by uuid;

update actions set completed_by = assignee_user_id where status in ('done', 'verified');

alter table incidents add column investigated_at timestamptz;

-- What was under way keeps going; the moment it began was not recorded.
update incidents set investigated_at = updated_at where status in ('investigating', 'action_pending');

alter table incidents add column reopen_reason text;

alter table training_assignments add column reminded_at timestamptz;

create table checklist_templates (
  tenant_id uuid not null,
  id uuid not null,
  code text not null,
  revision bigint not null,
  title text not null,
  description text,
  applies_to text not null,
  kinds text not null,
  sections text not null,
  published_at timestamptz,
  supersedes_id uuid,
  status text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint checklist_templates_supersedes_id_fkey foreign key (tenant_id, supersedes_id) references checklist_templates (tenant_id, id)
);
create index checklist_templates_supersedes_id_idx on checklist_templates (tenant_id, supersedes_id);
create unique index checklist_templates_code_revision_key on checklist_templates (tenant_id, lower(code), revision);

create table checklist_schedules (
  tenant_id uuid not null,
  id uuid not null,
  template_id uuid not null,
  title text,
  site_id uuid,
  zone_id uuid,
  equipment_id uuid,
  vehicle_id uuid,
  worker_id uuid,
  assignee_user_id uuid,
  rrule text not null,
  starts_on text not null,
  due_time text not null,
  grace_minutes bigint not null,
  timezone text,
  planned_until timestamptz,
  next_due_at timestamptz,
  status text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint checklist_schedules_template_id_fkey foreign key (tenant_id, template_id) references checklist_templates (tenant_id, id),
  constraint checklist_schedules_site_id_fkey foreign key (tenant_id, site_id) references sites (tenant_id, id),
  constraint checklist_schedules_zone_id_fkey foreign key (tenant_id, zone_id) references zones (tenant_id, id),
  constraint checklist_schedules_equipment_id_fkey foreign key (tenant_id, equipment_id) references equipment (tenant_id, id),
  constraint checklist_schedules_vehicle_id_fkey foreign key (tenant_id, vehicle_id) references vehicles (tenant_id, id),
  constraint checklist_schedules_worker_id_fkey foreign key (tenant_id, worker_id) references workers (tenant_id, id)
);
create index checklist_schedules_equipment_id_idx on checklist_schedules (tenant_id, equipment_id);
create index checklist_schedules_site_id_idx on checklist_schedules (tenant_id, site_id);
create index checklist_schedules_status_next_due_at_idx on checklist_schedules (tenant_id, status, next_due_at);
create index checklist_schedules_template_id_idx on checklist_schedules (tenant_id, template_id);
create index checklist_schedules_vehicle_id_idx on checklist_schedules (tenant_id, vehicle_id);
create index checklist_schedules_worker_id_idx on checklist_schedules (tenant_id, worker_id);
create index checklist_schedules_zone_id_idx on checklist_schedules (tenant_id, zone_id);

-- The runs point to more than before. SQLite adds no foreign keys to a table,
-- so it is made anew.
alter table checklist_runs rename to checklist_runs_before;

drop index checklist_runs_due_at_status_on_time_idx;

drop index checklist_runs_zone_id_idx;

create table checklist_runs (
  tenant_id uuid not null,
  id uuid not null,
  title text not null,
  template_id uuid,
  schedule_id uuid,
  site_id uuid,
  zone_id uuid,
  equipment_id uuid,
  vehicle_id uuid,
  worker_id uuid,
  assignee_user_id uuid,
  due_at timestamptz not null,
  grace_minutes bigint not null,
  started_at timestamptz,
  completed_at timestamptz,
  completed_by uuid,
  on_time boolean,
  score bigint,
  passed bigint,
  failed bigint,
  failed_critical bigint,
  cancel_reason text,
  status text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint checklist_runs_template_id_fkey foreign key (tenant_id, template_id) references checklist_templates (tenant_id, id),
  constraint checklist_runs_schedule_id_fkey foreign key (tenant_id, schedule_id) references checklist_schedules (tenant_id, id),
  constraint checklist_runs_site_id_fkey foreign key (tenant_id, site_id) references sites (tenant_id, id),
  constraint checklist_runs_zone_id_fkey foreign key (tenant_id, zone_id) references zones (tenant_id, id),
  constraint checklist_runs_equipment_id_fkey foreign key (tenant_id, equipment_id) references equipment (tenant_id, id),
  constraint checklist_runs_vehicle_id_fkey foreign key (tenant_id, vehicle_id) references vehicles (tenant_id, id),
  constraint checklist_runs_worker_id_fkey foreign key (tenant_id, worker_id) references workers (tenant_id, id)
);
create index checklist_runs_due_at_status_on_time_idx on checklist_runs (tenant_id, due_at, status, on_time);
create index checklist_runs_equipment_id_completed_at_idx on checklist_runs (tenant_id, equipment_id, completed_at);
create index checklist_runs_site_id_idx on checklist_runs (tenant_id, site_id);
create index checklist_runs_template_id_idx on checklist_runs (tenant_id, template_id);
create index checklist_runs_vehicle_id_idx on checklist_runs (tenant_id, vehicle_id);
create index checklist_runs_worker_id_idx on checklist_runs (tenant_id, worker_id);
create index checklist_runs_zone_id_idx on checklist_runs (tenant_id, zone_id);
create unique index checklist_runs_schedule_id_due_at_key on checklist_runs (tenant_id, schedule_id, due_at);

insert into checklist_runs (tenant_id, id, title, zone_id, assignee_user_id, due_at, grace_minutes, started_at, completed_at, completed_by, on_time, score, status, created_at, updated_at, created_by, version)
  select tenant_id, id, title, zone_id, assignee_user_id, due_at, grace_minutes, started_at, completed_at, completed_by, on_time, score, status, created_at, updated_at, created_by, version
  from checklist_runs_before;

drop table checklist_runs_before;

create table checklist_answers (
  tenant_id uuid not null,
  id uuid not null,
  run_id uuid not null,
  item_key text not null,
  value text not null,
  result text,
  critical boolean not null,
  note text,
  photos text not null,
  answered_by uuid,
  answered_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint checklist_answers_run_id_fkey foreign key (tenant_id, run_id) references checklist_runs (tenant_id, id)
);
create unique index checklist_answers_run_id_item_key_key on checklist_answers (tenant_id, run_id, lower(item_key));

create table toolbox_talks (
  tenant_id uuid not null,
  id uuid not null,
  topic text not null,
  notes text,
  site_id uuid,
  team_id uuid,
  held_at timestamptz not null,
  leader_user_id uuid not null,
  minutes bigint,
  incident_id uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint toolbox_talks_site_id_fkey foreign key (tenant_id, site_id) references sites (tenant_id, id),
  constraint toolbox_talks_team_id_fkey foreign key (tenant_id, team_id) references teams (tenant_id, id),
  constraint toolbox_talks_incident_id_fkey foreign key (tenant_id, incident_id) references incidents (tenant_id, id)
);
create index toolbox_talks_held_at_idx on toolbox_talks (tenant_id, held_at);
create index toolbox_talks_incident_id_idx on toolbox_talks (tenant_id, incident_id);
create index toolbox_talks_site_id_idx on toolbox_talks (tenant_id, site_id);
create index toolbox_talks_team_id_idx on toolbox_talks (tenant_id, team_id);

create table talk_attendances (
  tenant_id uuid not null,
  id uuid not null,
  talk_id uuid not null,
  worker_id uuid not null,
  signed_at timestamptz,
  signature text,
  signed_by uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint talk_attendances_talk_id_fkey foreign key (tenant_id, talk_id) references toolbox_talks (tenant_id, id),
  constraint talk_attendances_worker_id_fkey foreign key (tenant_id, worker_id) references workers (tenant_id, id)
);
create index talk_attendances_worker_id_idx on talk_attendances (tenant_id, worker_id);
create unique index talk_attendances_talk_id_worker_id_key on talk_attendances (tenant_id, talk_id, worker_id);
