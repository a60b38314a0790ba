-- The safety programme: exposure, training, rules, scores, engagement.

create table equipment (
  tenant_id uuid not null,
  id uuid not null,
  asset_no text not null,
  name text,
  kind text not null,
  serial_no text,
  zone_id uuid,
  hours_meter bigint,
  service_due_on text,
  required_course_id uuid,
  status text not null,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint equipment_zone_id_fkey foreign key (tenant_id, zone_id) references zones (tenant_id, id),
  constraint equipment_required_course_id_fkey foreign key (tenant_id, required_course_id) references courses (tenant_id, id)
);
create index equipment_required_course_id_idx on equipment (tenant_id, required_course_id);
create index equipment_zone_id_idx on equipment (tenant_id, zone_id);
create unique index equipment_asset_no_key on equipment (tenant_id, lower(asset_no));

create table shifts (
  tenant_id uuid not null,
  id uuid not null,
  worker_id uuid not null,
  zone_id uuid,
  team_id uuid,
  vehicle_id uuid,
  equipment_id uuid,
  started_at timestamptz not null,
  ended_at timestamptz,
  break_minutes bigint not null,
  hours bigint,
  units_done bigint,
  source text not null,
  status text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint shifts_worker_id_fkey foreign key (tenant_id, worker_id) references workers (tenant_id, id),
  constraint shifts_zone_id_fkey foreign key (tenant_id, zone_id) references zones (tenant_id, id),
  constraint shifts_team_id_fkey foreign key (tenant_id, team_id) references teams (tenant_id, id),
  constraint shifts_vehicle_id_fkey foreign key (tenant_id, vehicle_id) references vehicles (tenant_id, id),
  constraint shifts_equipment_id_fkey foreign key (tenant_id, equipment_id) references equipment (tenant_id, id)
);
create index shifts_equipment_id_ended_at_idx on shifts (tenant_id, equipment_id, ended_at);
create index shifts_team_id_idx on shifts (tenant_id, team_id);
create index shifts_vehicle_id_idx on shifts (tenant_id, vehicle_id);
create index shifts_worker_id_ended_at_idx on shifts (tenant_id, worker_id, ended_at);
create index shifts_zone_id_ended_at_idx on shifts (tenant_id, zone_id, ended_at);

create table courses (
  tenant_id uuid not null,
  id uuid not null,
  code text not null,
  title text not null,
  kind text not null,
  minutes bigint,
  validity_months bigint,
  risk_threshold bigint,
  entity_types text not null,
  categories text not null,
  jurisdictions text not null,
  pass_mark bigint,
  required_for text not null,
  status text not null,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create unique index courses_code_key on courses (tenant_id, lower(code));

create table training_assignments (
  tenant_id uuid not null,
  id uuid not null,
  course_id uuid not null,
  user_id uuid not null,
  assignment_type text not null,
  assignment_reason text,
  due_on text,
  started_at timestamptz,
  completed_at timestamptz,
  result bigint,
  expires_on text,
  certificate_no text,
  close_reason text,
  source_score_id uuid,
  status text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint training_assignments_course_id_fkey foreign key (tenant_id, course_id) references courses (tenant_id, id)
);
create index training_assignments_course_id_idx on training_assignments (tenant_id, course_id);
create index training_assignments_status_expires_on_idx on training_assignments (tenant_id, status, expires_on);
create index training_assignments_user_id_course_id_idx on training_assignments (tenant_id, user_id, course_id);

create table regulations (
  tenant_id uuid not null,
  id uuid not null,
  code text not null,
  title text not null,
  jurisdiction text not null,
  citation text,
  url text,
  category text,
  rule text not null,
  severity text not null,
  owner_user_id uuid,
  review_on text,
  status text not null,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create unique index regulations_code_key on regulations (tenant_id, lower(code));

create table compliance_events (
  tenant_id uuid not null,
  id uuid not null,
  regulation_id uuid not null,
  entity_type text not null,
  entity_id uuid not null,
  status text not null,
  value bigint,
  threshold bigint,
  window_start timestamptz,
  window_end timestamptz,
  details text not null,
  evaluated_at timestamptz not null,
  acknowledged_by uuid,
  acknowledged_at timestamptz,
  waived_until timestamptz,
  waive_reason text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint compliance_events_regulation_id_fkey foreign key (tenant_id, regulation_id) references regulations (tenant_id, id)
);
create index compliance_events_entity_type_entity_id_idx on compliance_events (tenant_id, entity_type, entity_id);
create index compliance_events_regulation_id_entity_type_entity_id_idx on compliance_events (tenant_id, regulation_id, entity_type, entity_id);
create index compliance_events_waived_until_idx on compliance_events (tenant_id, waived_until);

create table score_models (
  tenant_id uuid not null,
  id uuid not null,
  kind text not null,
  entity_type text,
  weight_incident bigint not null,
  weight_near_miss bigint not null,
  weight_shift_hours bigint not null,
  weight_load bigint not null,
  params text not null,
  trained_from timestamptz,
  trained_to timestamptz,
  metrics text not null,
  status text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create index score_models_status_entity_type_idx on score_models (tenant_id, status, entity_type);

create table score_runs (
  tenant_id uuid not null,
  id uuid not null,
  entity_type text not null,
  entity_id uuid,
  model_id uuid,
  model_kind text not null,
  period_days bigint not null,
  scores_computed bigint not null,
  computed_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint score_runs_model_id_fkey foreign key (tenant_id, model_id) references score_models (tenant_id, id)
);
create index score_runs_entity_type_id_idx on score_runs (tenant_id, entity_type, id desc);
create index score_runs_model_id_idx on score_runs (tenant_id, model_id);

create table predictive_scores (
  tenant_id uuid not null,
  id uuid not null,
  run_id uuid not null,
  entity_type text not null,
  entity_id uuid not null,
  score bigint not null,
  confidence bigint not null,
  inputs text not null,
  cluster text not null,
  model_kind text not null,
  rate_per_200k bigint,
  interval_low bigint,
  interval_high bigint,
  probability bigint,
  user_id uuid,
  computed_at timestamptz not null,
  primary key (tenant_id, id)
);
create unique index predictive_scores_run_id_entity_type_entity_id_key on predictive_scores (tenant_id, run_id, entity_type, entity_id);

create table risk_clusters (
  tenant_id uuid not null,
  id uuid not null,
  cluster_name text not null,
  severity bigint not null,
  description text not null,
  entity_count bigint not null,
  entity_type text,
  min_score bigint not null,
  max_score bigint not null,
  members text not null,
  assigned_at timestamptz not null,
  primary key (tenant_id, id)
);

create table point_events (
  tenant_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  kind text not null,
  points bigint not null,
  source_type text not null,
  source_id uuid not null,
  occurred_at timestamptz not null,
  reversed_at timestamptz,
  reversed_by uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create index point_events_occurred_at_idx on point_events (tenant_id, occurred_at);
create index point_events_user_id_occurred_at_idx on point_events (tenant_id, user_id, occurred_at);
create unique index point_events_source_id_kind_user_id_key on point_events (tenant_id, source_id, kind, user_id);

create table badges (
  tenant_id uuid not null,
  id uuid not null,
  code text not null,
  name text not null,
  description text,
  rule text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create unique index badges_code_key on badges (tenant_id, lower(code));

create table user_badges (
  tenant_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  badge_id uuid not null,
  awarded_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint user_badges_badge_id_fkey foreign key (tenant_id, badge_id) references badges (tenant_id, id)
);
create index user_badges_badge_id_idx on user_badges (tenant_id, badge_id);
create unique index user_badges_user_id_badge_id_key on user_badges (tenant_id, user_id, badge_id);

create table team_scores (
  tenant_id uuid not null,
  id uuid not null,
  team_id uuid not null,
  period text not null,
  period_start text not null,
  period_end text not null,
  score bigint not null,
  n bigint not null,
  parts text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint team_scores_team_id_fkey foreign key (tenant_id, team_id) references teams (tenant_id, id)
);
create unique index team_scores_team_id_period_key on team_scores (tenant_id, team_id, period);

create table zone_scores (
  tenant_id uuid not null,
  id uuid not null,
  zone_id uuid not null,
  period text not null,
  period_start text not null,
  period_end text not null,
  score bigint not null,
  n bigint not null,
  parts text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint zone_scores_zone_id_fkey foreign key (tenant_id, zone_id) references zones (tenant_id, id)
);
create unique index zone_scores_zone_id_period_key on zone_scores (tenant_id, zone_id, period);

-- Hours by worker, zone and equipment in a window, answered from the index.
create index shifts_exposure_idx on shifts (tenant_id, ended_at, worker_id, zone_id, equipment_id, hours, units_done);

-- Who and what an incident is about: one row per incident and entity, kept with
-- the incident; a void report has none. It makes counting by entity one scan.
create table incident_entities (
  tenant_id uuid not null,
  incident_id uuid not null,
  entity_type text not null,
  entity_id uuid not null,
  at timestamptz not null,
  kind text not null,
  severity text not null,
  primary key (tenant_id, incident_id, entity_type, entity_id),
  foreign key (tenant_id, incident_id) references incidents (tenant_id, id)
);
create index incident_entities_at_idx on incident_entities (tenant_id, entity_type, at, entity_id, kind, severity);
create index incident_entities_entity_idx on incident_entities (tenant_id, entity_type, entity_id, at, kind);

-- The verdict in force, by regulation and entity.
create table compliance_states (
  tenant_id uuid not null,
  regulation_id uuid not null,
  entity_type text not null,
  entity_id uuid not null,
  status text not null,
  event_id uuid not null,
  primary key (tenant_id, regulation_id, entity_type, entity_id)
);

-- A row here says that incidents from before this step are still to be entered
-- in incident_entities: their entities are JSON, which the server reads, not SQL.
create table incident_entities_due (
  one bigint not null,
  primary key (one)
);
insert into incident_entities_due values (1);
