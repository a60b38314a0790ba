-- The catalog's records, as TestRecordsMigration writes them. One text for both
-- engines: on PostgreSQL the migrator moves foreign keys behind the creation of
-- all tables and fences each table with row policies.

create table absences (
  tenant_id uuid not null,
  id uuid not null,
  case_id uuid not null,
  kind text not null,
  from_on text not null,
  until_on text,
  estimated boolean not null,
  physician text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint absences_case_id_fkey foreign key (tenant_id, case_id) references osha_cases (tenant_id, id)
);
create index absences_case_id_from_on_idx on absences (tenant_id, case_id, from_on);
create index absences_created_at_id_idx on absences (tenant_id, created_at, id);

create table actions (
  tenant_id uuid not null,
  id uuid not null,
  action_no text not null,
  title text not null,
  description text,
  type text not null,
  source text not null,
  incident_id uuid,
  source_id uuid,
  control_level text,
  priority text not null,
  status text not null,
  assignee_user_id uuid,
  verifier_user_id uuid,
  due_on text,
  due_at timestamptz,
  completed_at timestamptz,
  completed_by uuid,
  verified_at timestamptz,
  effectiveness text,
  review_on text,
  reviewed_at timestamptz,
  escalated_to text,
  escalated_at timestamptz,
  suggested_by uuid,
  evidence text not null,
  follows_id uuid,
  cancel_reason text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint actions_incident_id_fkey foreign key (tenant_id, incident_id) references incidents (tenant_id, id),
  constraint actions_follows_id_fkey foreign key (tenant_id, follows_id) references actions (tenant_id, id)
);
create index actions_created_at_id_idx on actions (tenant_id, created_at, id);
create index actions_due_at_id_idx on actions (tenant_id, due_at, id);
create index actions_follows_id_idx on actions (tenant_id, follows_id) where follows_id is not null;
create index actions_incident_id_idx on actions (tenant_id, incident_id) where incident_id is not null;
create index actions_status_created_at_id_idx on actions (tenant_id, status, created_at, id);
create index actions_status_due_at_id_idx on actions (tenant_id, status, due_at, id);
create index actions_status_updated_at_id_idx on actions (tenant_id, status, updated_at, id);
create index actions_updated_at_id_idx on actions (tenant_id, updated_at, id);
create unique index actions_action_no_key on actions (tenant_id, action_no);

create table audit (
  tenant_id uuid not null,
  id uuid not null,
  at timestamptz not null,
  actor_user_id uuid,
  key_id text,
  session_id uuid,
  action text not null,
  entity_type text,
  entity_id uuid,
  outcome text not null,
  before text,
  after text,
  details text,
  address text,
  request_id text,
  batch bigint not null,
  code text,
  primary key (tenant_id, id)
);
create index audit_entity_id_idx on audit (tenant_id, entity_id) where entity_id is not null;

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
create index badges_created_at_id_idx on badges (tenant_id, created_at, id);
create unique index badges_code_key on badges (tenant_id, lower(code));

create table carriers (
  tenant_id uuid not null,
  id uuid not null,
  code text not null,
  name text not null,
  services text not null,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create index carriers_created_at_id_idx on carriers (tenant_id, created_at, id);
create unique index carriers_code_key on carriers (tenant_id, lower(code));

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
create index checklist_answers_created_at_id_idx on checklist_answers (tenant_id, created_at, id);
create unique index checklist_answers_run_id_item_key_key on checklist_answers (tenant_id, run_id, lower(item_key));

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
create index checklist_photos_created_at_id_idx on checklist_photos (tenant_id, created_at, id);
create index checklist_photos_run_id_idx on checklist_photos (tenant_id, run_id);

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
  deadline_at timestamptz,
  started_at timestamptz,
  completed_at timestamptz,
  completed_by uuid,
  on_time boolean,
  score bigint,
  passed bigint,
  failed bigint,
  failed_critical bigint,
  passed_weight bigint,
  failed_weight bigint,
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
create index checklist_runs_created_at_id_idx on checklist_runs (tenant_id, created_at, id);
create index checklist_runs_deadline_at_status_on_time_idx on checklist_runs (tenant_id, deadline_at, status, on_time);
create index checklist_runs_due_at_id_idx on checklist_runs (tenant_id, due_at, id);
create index checklist_runs_equipment_id_completed_at_idx on checklist_runs (tenant_id, equipment_id, completed_at);
create index checklist_runs_site_id_idx on checklist_runs (tenant_id, site_id) where site_id is not null;
create index checklist_runs_status_created_at_id_idx on checklist_runs (tenant_id, status, created_at, id);
create index checklist_runs_status_due_at_id_idx on checklist_runs (tenant_id, status, due_at, id);
create index checklist_runs_template_id_idx on checklist_runs (tenant_id, template_id) where template_id is not null;
create index checklist_runs_vehicle_id_idx on checklist_runs (tenant_id, vehicle_id) where vehicle_id is not null;
create index checklist_runs_worker_id_idx on checklist_runs (tenant_id, worker_id) where worker_id is not null;
create index checklist_runs_zone_id_idx on checklist_runs (tenant_id, zone_id) where zone_id is not null;
create unique index checklist_runs_schedule_id_due_at_key on checklist_runs (tenant_id, schedule_id, due_at);

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
create index checklist_schedules_created_at_id_idx on checklist_schedules (tenant_id, created_at, id);
create index checklist_schedules_equipment_id_idx on checklist_schedules (tenant_id, equipment_id) where equipment_id is not null;
create index checklist_schedules_site_id_idx on checklist_schedules (tenant_id, site_id) where site_id is not null;
create index checklist_schedules_status_created_at_id_idx on checklist_schedules (tenant_id, status, created_at, id);
create index checklist_schedules_status_next_due_at_idx on checklist_schedules (tenant_id, status, next_due_at);
create index checklist_schedules_template_id_idx on checklist_schedules (tenant_id, template_id);
create index checklist_schedules_vehicle_id_idx on checklist_schedules (tenant_id, vehicle_id) where vehicle_id is not null;
create index checklist_schedules_worker_id_idx on checklist_schedules (tenant_id, worker_id) where worker_id is not null;
create index checklist_schedules_zone_id_idx on checklist_schedules (tenant_id, zone_id) where zone_id is not null;

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
create index checklist_templates_created_at_id_idx on checklist_templates (tenant_id, created_at, id);
create index checklist_templates_status_created_at_id_idx on checklist_templates (tenant_id, status, created_at, id);
create index checklist_templates_supersedes_id_idx on checklist_templates (tenant_id, supersedes_id) where supersedes_id is not null;
create unique index checklist_templates_code_revision_key on checklist_templates (tenant_id, lower(code), revision);

create table comments (
  tenant_id uuid not null,
  id uuid not null,
  incident_id uuid,
  clock_id uuid,
  action_id uuid,
  run_id uuid,
  assignment_id uuid,
  equipment_id uuid,
  order_id uuid,
  shipment_id uuid,
  text text not null,
  mentions text not null,
  from_reporter boolean not null,
  edited_at timestamptz,
  status text not null,
  struck_at timestamptz,
  struck_by uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  check (CASE WHEN incident_id IS NULL THEN 0 ELSE 1 END + CASE WHEN clock_id IS NULL THEN 0 ELSE 1 END + CASE WHEN action_id IS NULL THEN 0 ELSE 1 END + CASE WHEN run_id IS NULL THEN 0 ELSE 1 END + CASE WHEN assignment_id IS NULL THEN 0 ELSE 1 END + CASE WHEN equipment_id IS NULL THEN 0 ELSE 1 END + CASE WHEN order_id IS NULL THEN 0 ELSE 1 END + CASE WHEN shipment_id IS NULL THEN 0 ELSE 1 END = 1),
  primary key (tenant_id, id),
  constraint comments_incident_id_fkey foreign key (tenant_id, incident_id) references incidents (tenant_id, id),
  constraint comments_clock_id_fkey foreign key (tenant_id, clock_id) references legal_clocks (tenant_id, id),
  constraint comments_action_id_fkey foreign key (tenant_id, action_id) references actions (tenant_id, id),
  constraint comments_run_id_fkey foreign key (tenant_id, run_id) references checklist_runs (tenant_id, id),
  constraint comments_assignment_id_fkey foreign key (tenant_id, assignment_id) references training_assignments (tenant_id, id),
  constraint comments_equipment_id_fkey foreign key (tenant_id, equipment_id) references equipment (tenant_id, id),
  constraint comments_order_id_fkey foreign key (tenant_id, order_id) references orders (tenant_id, id),
  constraint comments_shipment_id_fkey foreign key (tenant_id, shipment_id) references shipments (tenant_id, id)
);
create index comments_action_id_idx on comments (tenant_id, action_id) where action_id is not null;
create index comments_assignment_id_idx on comments (tenant_id, assignment_id) where assignment_id is not null;
create index comments_clock_id_idx on comments (tenant_id, clock_id) where clock_id is not null;
create index comments_created_at_id_idx on comments (tenant_id, created_at, id);
create index comments_equipment_id_idx on comments (tenant_id, equipment_id) where equipment_id is not null;
create index comments_incident_id_idx on comments (tenant_id, incident_id) where incident_id is not null;
create index comments_order_id_idx on comments (tenant_id, order_id) where order_id is not null;
create index comments_run_id_idx on comments (tenant_id, run_id) where run_id is not null;
create index comments_shipment_id_idx on comments (tenant_id, shipment_id) where shipment_id is not null;
create index comments_status_created_at_id_idx on comments (tenant_id, status, created_at, id);

create table compliance_events (
  tenant_id uuid not null,
  id uuid not null,
  regulation_id uuid not null,
  entity_type text not null,
  entity_id uuid not null,
  about text not null,
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
create index compliance_events_created_at_id_idx on compliance_events (tenant_id, created_at, id);
create index compliance_events_entity_type_entity_id_idx on compliance_events (tenant_id, entity_type, entity_id);
create index compliance_events_regulation_id_entity_type_entity_id_idx on compliance_events (tenant_id, regulation_id, entity_type, entity_id);
create index compliance_events_waived_until_idx on compliance_events (tenant_id, waived_until);

create table compliance_states (
  tenant_id uuid not null,
  id uuid not null,
  regulation_id uuid not null,
  entity_type text not null,
  entity_id uuid not null,
  about text not null,
  status text not null,
  value bigint,
  threshold bigint,
  evidence text not null,
  event_id uuid,
  last_evaluated_at timestamptz not null,
  primary key (tenant_id, id),
  constraint compliance_states_regulation_id_fkey foreign key (tenant_id, regulation_id) references regulations (tenant_id, id)
);
create unique index compliance_states_regulation_id_entity_type_entity_id_key on compliance_states (tenant_id, regulation_id, entity_type, entity_id);

create table count_lines (
  tenant_id uuid not null,
  id uuid not null,
  count_task_id uuid not null,
  item_id uuid not null,
  lot_id uuid,
  serial text,
  owner_id uuid,
  lpn text,
  stock_status text not null,
  counted bigint not null,
  expected bigint not null,
  variance bigint not null,
  reason_code text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint count_lines_count_task_id_fkey foreign key (tenant_id, count_task_id) references count_tasks (tenant_id, id),
  constraint count_lines_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id),
  constraint count_lines_lot_id_fkey foreign key (tenant_id, lot_id) references lots (tenant_id, id)
);
create index count_lines_count_task_id_idx on count_lines (tenant_id, count_task_id);
create index count_lines_created_at_id_idx on count_lines (tenant_id, created_at, id);
create index count_lines_item_id_idx on count_lines (tenant_id, item_id);
create index count_lines_lot_id_idx on count_lines (tenant_id, lot_id) where lot_id is not null;

create table count_tasks (
  tenant_id uuid not null,
  id uuid not null,
  count_no text not null,
  zone_id uuid not null,
  item_id uuid,
  method text not null,
  blind boolean not null,
  status text not null,
  open_key text,
  assigned_worker_id uuid,
  due_on text,
  reason text,
  recount_of uuid,
  variance_value bigint,
  counted_by uuid,
  counted_at timestamptz,
  approved_by uuid,
  approved_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint count_tasks_zone_id_fkey foreign key (tenant_id, zone_id) references zones (tenant_id, id),
  constraint count_tasks_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id),
  constraint count_tasks_assigned_worker_id_fkey foreign key (tenant_id, assigned_worker_id) references workers (tenant_id, id),
  constraint count_tasks_recount_of_fkey foreign key (tenant_id, recount_of) references count_tasks (tenant_id, id)
);
create index count_tasks_assigned_worker_id_idx on count_tasks (tenant_id, assigned_worker_id) where assigned_worker_id is not null;
create index count_tasks_created_at_id_idx on count_tasks (tenant_id, created_at, id);
create index count_tasks_due_on_id_idx on count_tasks (tenant_id, due_on, id);
create index count_tasks_item_id_idx on count_tasks (tenant_id, item_id) where item_id is not null;
create index count_tasks_recount_of_idx on count_tasks (tenant_id, recount_of) where recount_of is not null;
create index count_tasks_status_created_at_id_idx on count_tasks (tenant_id, status, created_at, id);
create index count_tasks_status_due_on_id_idx on count_tasks (tenant_id, status, due_on, id);
create index count_tasks_status_id_idx on count_tasks (tenant_id, status, id);
create index count_tasks_zone_id_idx on count_tasks (tenant_id, zone_id);
create unique index count_tasks_count_no_key on count_tasks (tenant_id, count_no);
create unique index count_tasks_open_key_key on count_tasks (tenant_id, open_key);

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
  needs_evaluation boolean not null,
  required_for text not null,
  status text not null,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create index courses_created_at_id_idx on courses (tenant_id, created_at, id);
create index courses_status_created_at_id_idx on courses (tenant_id, status, created_at, id);
create unique index courses_code_key on courses (tenant_id, lower(code));

create table drivers (
  tenant_id uuid not null,
  id uuid not null,
  worker_id uuid not null,
  licence_no text,
  licence_class text,
  licence_expires_on text,
  vehicle_id uuid,
  phone text,
  last_lat double precision,
  last_lon double precision,
  last_seen_at timestamptz,
  status text not null,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint drivers_worker_id_fkey foreign key (tenant_id, worker_id) references workers (tenant_id, id),
  constraint drivers_vehicle_id_fkey foreign key (tenant_id, vehicle_id) references vehicles (tenant_id, id)
);
create index drivers_created_at_id_idx on drivers (tenant_id, created_at, id);
create index drivers_status_created_at_id_idx on drivers (tenant_id, status, created_at, id);
create index drivers_status_id_idx on drivers (tenant_id, status, id);
create index drivers_vehicle_id_idx on drivers (tenant_id, vehicle_id) where vehicle_id is not null;
create unique index drivers_worker_id_key on drivers (tenant_id, worker_id);

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
create index equipment_created_at_id_idx on equipment (tenant_id, created_at, id);
create index equipment_required_course_id_idx on equipment (tenant_id, required_course_id) where required_course_id is not null;
create index equipment_status_created_at_id_idx on equipment (tenant_id, status, created_at, id);
create index equipment_zone_id_idx on equipment (tenant_id, zone_id) where zone_id is not null;
create unique index equipment_asset_no_key on equipment (tenant_id, lower(asset_no));

create table files (
  tenant_id uuid not null,
  id uuid not null,
  incident_id uuid,
  clock_id uuid,
  action_id uuid,
  run_id uuid,
  assignment_id uuid,
  equipment_id uuid,
  order_id uuid,
  shipment_id uuid,
  name text not null,
  note text,
  kind text not null,
  media_type text not null,
  size bigint not null,
  sha256 text not null,
  width bigint,
  height bigint,
  blob_key text not null,
  thumbnail_key text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  check (CASE WHEN incident_id IS NULL THEN 0 ELSE 1 END + CASE WHEN clock_id IS NULL THEN 0 ELSE 1 END + CASE WHEN action_id IS NULL THEN 0 ELSE 1 END + CASE WHEN run_id IS NULL THEN 0 ELSE 1 END + CASE WHEN assignment_id IS NULL THEN 0 ELSE 1 END + CASE WHEN equipment_id IS NULL THEN 0 ELSE 1 END + CASE WHEN order_id IS NULL THEN 0 ELSE 1 END + CASE WHEN shipment_id IS NULL THEN 0 ELSE 1 END = 1),
  primary key (tenant_id, id),
  constraint files_incident_id_fkey foreign key (tenant_id, incident_id) references incidents (tenant_id, id),
  constraint files_clock_id_fkey foreign key (tenant_id, clock_id) references legal_clocks (tenant_id, id),
  constraint files_action_id_fkey foreign key (tenant_id, action_id) references actions (tenant_id, id),
  constraint files_run_id_fkey foreign key (tenant_id, run_id) references checklist_runs (tenant_id, id),
  constraint files_assignment_id_fkey foreign key (tenant_id, assignment_id) references training_assignments (tenant_id, id),
  constraint files_equipment_id_fkey foreign key (tenant_id, equipment_id) references equipment (tenant_id, id),
  constraint files_order_id_fkey foreign key (tenant_id, order_id) references orders (tenant_id, id),
  constraint files_shipment_id_fkey foreign key (tenant_id, shipment_id) references shipments (tenant_id, id)
);
create index files_action_id_idx on files (tenant_id, action_id) where action_id is not null;
create index files_assignment_id_idx on files (tenant_id, assignment_id) where assignment_id is not null;
create index files_clock_id_idx on files (tenant_id, clock_id) where clock_id is not null;
create index files_created_at_id_idx on files (tenant_id, created_at, id);
create index files_equipment_id_idx on files (tenant_id, equipment_id) where equipment_id is not null;
create index files_incident_id_idx on files (tenant_id, incident_id) where incident_id is not null;
create index files_order_id_idx on files (tenant_id, order_id) where order_id is not null;
create index files_run_id_idx on files (tenant_id, run_id) where run_id is not null;
create index files_shipment_id_idx on files (tenant_id, shipment_id) where shipment_id is not null;

create table goods_owners (
  tenant_id uuid not null,
  id uuid not null,
  code text not null,
  name text not null,
  billing_ref text,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create index goods_owners_created_at_id_idx on goods_owners (tenant_id, created_at, id);
create unique index goods_owners_code_key on goods_owners (tenant_id, lower(code));

create table import_jobs (
  tenant_id uuid not null,
  id uuid not null,
  job_no text not null,
  target text not null,
  file_name text,
  file_type text,
  size bigint,
  sha256 text,
  encoding text,
  delimiter text,
  header_row bigint,
  mapping text,
  options text not null,
  total_rows bigint not null,
  valid_rows bigint not null,
  invalid_rows bigint not null,
  imported_count bigint not null,
  rolled_back_count bigint not null,
  message text,
  blob_key text,
  lease_until timestamptz,
  lease_claim bigint,
  status text not null,
  processed_at timestamptz,
  applied_at timestamptz,
  rolled_back_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create index import_jobs_blob_key_idx on import_jobs (tenant_id, blob_key) where blob_key is not null;
create index import_jobs_created_at_id_idx on import_jobs (tenant_id, created_at, id);
create index import_jobs_sha256_idx on import_jobs (tenant_id, sha256) where sha256 is not null;
create index import_jobs_status_created_at_id_idx on import_jobs (tenant_id, status, created_at, id);
create unique index import_jobs_job_no_key on import_jobs (tenant_id, job_no);

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
create index incident_photos_created_at_id_idx on incident_photos (tenant_id, created_at, id);
create index incident_photos_incident_id_idx on incident_photos (tenant_id, incident_id);

create table incidents (
  tenant_id uuid not null,
  id uuid not null,
  incident_no text not null,
  kind text not null,
  severity text not null,
  potential_severity text,
  status text not null,
  title text not null,
  description text,
  immediate_action text,
  occurred_at timestamptz not null,
  occurred_tz text,
  reported_at timestamptz,
  known_at timestamptz,
  reported_by uuid,
  reporter_name text,
  anonymous boolean not null,
  site_id uuid,
  zone_id uuid,
  entities text not null,
  category_tags text not null,
  likelihood bigint,
  risk_rating bigint,
  lat double precision,
  lon double precision,
  journey text,
  duplicate_of uuid,
  void_reason text,
  root_causes text not null,
  lessons text,
  lead_user_id uuid,
  due_on text,
  investigated_at timestamptz,
  closed_at timestamptz,
  reopen_reason text,
  change_reason text,
  confidential boolean not null,
  reader_ids text not null,
  external_ref text,
  follow_hash text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint incidents_site_id_fkey foreign key (tenant_id, site_id) references sites (tenant_id, id),
  constraint incidents_zone_id_fkey foreign key (tenant_id, zone_id) references zones (tenant_id, id),
  constraint incidents_duplicate_of_fkey foreign key (tenant_id, duplicate_of) references incidents (tenant_id, id)
);
create index incidents_closed_at_idx on incidents (tenant_id, closed_at);
create index incidents_created_at_id_idx on incidents (tenant_id, created_at, id);
create index incidents_duplicate_of_idx on incidents (tenant_id, duplicate_of) where duplicate_of is not null;
create index incidents_follow_hash_idx on incidents (tenant_id, follow_hash) where follow_hash is not null;
create index incidents_occurred_at_id_idx on incidents (tenant_id, occurred_at, id);
create index incidents_reported_at_kind_severity_status_idx on incidents (tenant_id, reported_at, kind, severity, status);
create index incidents_site_id_idx on incidents (tenant_id, site_id) where site_id is not null;
create index incidents_status_created_at_id_idx on incidents (tenant_id, status, created_at, id);
create index incidents_status_id_idx on incidents (tenant_id, status, id);
create index incidents_status_occurred_at_id_idx on incidents (tenant_id, status, occurred_at, id);
create index incidents_status_updated_at_id_idx on incidents (tenant_id, status, updated_at, id);
create index incidents_updated_at_id_idx on incidents (tenant_id, updated_at, id);
create index incidents_zone_id_idx on incidents (tenant_id, zone_id) where zone_id is not null;
create unique index incidents_external_ref_key on incidents (tenant_id, external_ref);
create unique index incidents_incident_no_key on incidents (tenant_id, incident_no);

create table invitations (
  tenant_id uuid not null,
  id uuid not null,
  email text not null,
  role text not null,
  worker_id uuid,
  zone_ids text not null,
  owner_id uuid,
  status text not null,
  token_hash text,
  invited_by uuid,
  expires_at timestamptz,
  accepted_at timestamptz,
  declined_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint invitations_worker_id_fkey foreign key (tenant_id, worker_id) references workers (tenant_id, id),
  constraint invitations_owner_id_fkey foreign key (tenant_id, owner_id) references goods_owners (tenant_id, id)
);
create index invitations_created_at_id_idx on invitations (tenant_id, created_at, id);
create index invitations_email_idx on invitations (tenant_id, email);
create index invitations_owner_id_idx on invitations (tenant_id, owner_id) where owner_id is not null;
create index invitations_status_created_at_id_idx on invitations (tenant_id, status, created_at, id);
create index invitations_worker_id_idx on invitations (tenant_id, worker_id) where worker_id is not null;

create table item_barcodes (
  tenant_id uuid not null,
  id uuid not null,
  value text not null,
  item_id uuid not null,
  uom text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint item_barcodes_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id)
);
create index item_barcodes_created_at_id_idx on item_barcodes (tenant_id, created_at, id);
create index item_barcodes_item_id_idx on item_barcodes (tenant_id, item_id);
create unique index item_barcodes_value_key on item_barcodes (tenant_id, value);

create table item_components (
  tenant_id uuid not null,
  id uuid not null,
  kit_id uuid not null,
  item_id uuid not null,
  qty bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint item_components_kit_id_fkey foreign key (tenant_id, kit_id) references items (tenant_id, id),
  constraint item_components_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id)
);
create index item_components_created_at_id_idx on item_components (tenant_id, created_at, id);
create index item_components_item_id_idx on item_components (tenant_id, item_id);
create unique index item_components_kit_id_item_id_key on item_components (tenant_id, kit_id, item_id);

create table item_costs (
  tenant_id uuid not null,
  id uuid not null,
  item_id uuid not null,
  owner_id uuid,
  quantity bigint not null,
  average_cost bigint,
  postings bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint item_costs_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id),
  constraint item_costs_owner_id_fkey foreign key (tenant_id, owner_id) references goods_owners (tenant_id, id)
);
create index item_costs_created_at_id_idx on item_costs (tenant_id, created_at, id);
create index item_costs_owner_id_idx on item_costs (tenant_id, owner_id) where owner_id is not null;
create unique index item_costs_item_id_owner_id_key on item_costs (tenant_id, item_id, owner_id);

create table item_uoms (
  tenant_id uuid not null,
  id uuid not null,
  item_id uuid not null,
  uom text not null,
  factor bigint not null,
  gtin text,
  barcode text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint item_uoms_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id)
);
create index item_uoms_created_at_id_idx on item_uoms (tenant_id, created_at, id);
create unique index item_uoms_item_id_uom_key on item_uoms (tenant_id, item_id, lower(uom));

create table items (
  tenant_id uuid not null,
  id uuid not null,
  sku text not null,
  name text not null,
  description text,
  category text,
  base_uom text not null,
  barcodes text not null,
  gtin text,
  tracking text not null,
  has_expiry boolean not null,
  shelf_life_days bigint,
  min_remaining_days bigint,
  unit_cost bigint not null,
  price bigint,
  weight_kg bigint,
  catch_weight boolean,
  weight_tolerance_pct bigint,
  length_mm bigint,
  width_mm bigint,
  height_mm bigint,
  capacity_units bigint not null,
  reorder_point bigint not null,
  safety_stock bigint,
  max_stock bigint,
  reorder_qty bigint,
  lead_time_days bigint,
  abc_class text,
  storage_class text not null,
  hazmat_un text,
  status text not null,
  on_hand bigint not null,
  available bigint not null,
  stock_value bigint not null,
  owner_id uuid,
  low_stock boolean not null,
  is_kit boolean,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint items_owner_id_fkey foreign key (tenant_id, owner_id) references goods_owners (tenant_id, id)
);
create index items_category_sku_idx on items (tenant_id, category, sku);
create index items_created_at_id_idx on items (tenant_id, created_at, id);
create index items_gtin_idx on items (tenant_id, gtin) where gtin is not null;
create index items_min_remaining_days_idx on items (tenant_id, min_remaining_days);
create index items_name_idx on items (tenant_id, name);
create index items_owner_id_idx on items (tenant_id, owner_id) where owner_id is not null;
create index items_status_created_at_id_idx on items (tenant_id, status, created_at, id);
create index items_status_updated_at_id_idx on items (tenant_id, status, updated_at, id);
create index items_updated_at_id_idx on items (tenant_id, updated_at, id);
create unique index items_sku_key on items (tenant_id, sku);

create table legal_clocks (
  tenant_id uuid not null,
  id uuid not null,
  code text not null,
  incident_id uuid not null,
  site_id uuid,
  starts_at timestamptz not null,
  due_at timestamptz not null,
  skipped_days text not null,
  state text not null,
  met_at timestamptz,
  met_by uuid,
  proof_ref text,
  reason text,
  lapsed boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint legal_clocks_incident_id_fkey foreign key (tenant_id, incident_id) references incidents (tenant_id, id),
  constraint legal_clocks_site_id_fkey foreign key (tenant_id, site_id) references sites (tenant_id, id)
);
create index legal_clocks_created_at_id_idx on legal_clocks (tenant_id, created_at, id);
create index legal_clocks_site_id_idx on legal_clocks (tenant_id, site_id) where site_id is not null;
create index legal_clocks_state_due_at_idx on legal_clocks (tenant_id, state, due_at);
create unique index legal_clocks_incident_id_code_key on legal_clocks (tenant_id, incident_id, code);

create table lots (
  tenant_id uuid not null,
  id uuid not null,
  item_id uuid not null,
  lot_no text not null,
  manufactured_on text,
  expires_on text,
  best_before text,
  supplier text,
  status text not null,
  status_reason text,
  short_dated boolean not null,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint lots_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id)
);
create index lots_created_at_id_idx on lots (tenant_id, created_at, id);
create index lots_expires_on_idx on lots (tenant_id, expires_on);
create index lots_status_created_at_id_idx on lots (tenant_id, status, created_at, id);
create unique index lots_item_id_lot_no_key on lots (tenant_id, item_id, lot_no);

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
create index mail_templates_created_at_id_idx on mail_templates (tenant_id, created_at, id);
create unique index mail_templates_kind_locale_key on mail_templates (tenant_id, kind, locale);

create table members ( -- rls: tenant_id, user user_id
  tenant_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  email text,
  role text not null,
  status text not null,
  worker_id uuid,
  zone_ids text not null,
  owner_id uuid,
  joined_at timestamptz,
  last_sign_in_at timestamptz,
  last_seen_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint members_worker_id_fkey foreign key (tenant_id, worker_id) references workers (tenant_id, id),
  constraint members_owner_id_fkey foreign key (tenant_id, owner_id) references goods_owners (tenant_id, id)
);
create index members_created_at_id_idx on members (tenant_id, created_at, id);
create index members_owner_id_idx on members (tenant_id, owner_id) where owner_id is not null;
create index members_worker_id_idx on members (tenant_id, worker_id) where worker_id is not null;
create unique index members_user_id_key on members (tenant_id, user_id);

create table order_lines (
  tenant_id uuid not null,
  id uuid not null,
  order_id uuid not null,
  line_no bigint not null,
  item_id uuid not null,
  uom text not null,
  qty_ordered bigint not null,
  ordered_uom text,
  ordered_qty bigint,
  qty_cancelled bigint not null,
  qty_allocated bigint not null,
  qty_picked bigint not null,
  qty_packed bigint not null,
  qty_shipped bigint not null,
  qty_received bigint not null,
  unit_price bigint,
  price_uom text,
  price_qty bigint not null,
  amount bigint,
  lot_id uuid,
  min_expiry text,
  disposition text,
  is_kit boolean,
  kit_line_id uuid,
  kit_qty bigint,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  check (qty_shipped <= qty_packed),
  check (qty_packed <= qty_picked),
  check (qty_picked <= qty_allocated),
  check (qty_allocated + qty_cancelled <= qty_ordered),
  primary key (tenant_id, id),
  constraint order_lines_order_id_fkey foreign key (tenant_id, order_id) references orders (tenant_id, id),
  constraint order_lines_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id),
  constraint order_lines_lot_id_fkey foreign key (tenant_id, lot_id) references lots (tenant_id, id),
  constraint order_lines_kit_line_id_fkey foreign key (tenant_id, kit_line_id) references order_lines (tenant_id, id)
);
create index order_lines_created_at_id_idx on order_lines (tenant_id, created_at, id);
create index order_lines_item_id_idx on order_lines (tenant_id, item_id);
create index order_lines_kit_line_id_idx on order_lines (tenant_id, kit_line_id) where kit_line_id is not null;
create index order_lines_lot_id_idx on order_lines (tenant_id, lot_id) where lot_id is not null;
create unique index order_lines_order_id_line_no_key on order_lines (tenant_id, order_id, line_no);

create table orders (
  tenant_id uuid not null,
  id uuid not null,
  order_no text not null,
  type text not null,
  status text not null,
  stage text,
  priority bigint not null,
  party_name text,
  party_code text,
  party_gln text,
  owner_id uuid,
  site_id uuid,
  to_site_id uuid,
  ship_to text,
  requested_at timestamptz,
  promised_at timestamptz,
  carrier text,
  service text,
  source text,
  external_ref text,
  hold_reason text,
  resume_reason text,
  held_from text,
  notes text,
  tags text not null,
  line_count bigint not null,
  qty_ordered bigint not null,
  qty_allocated bigint not null,
  qty_picked bigint not null,
  qty_packed bigint not null,
  qty_shipped bigint not null,
  qty_received bigint not null,
  total_value bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint orders_owner_id_fkey foreign key (tenant_id, owner_id) references goods_owners (tenant_id, id),
  constraint orders_site_id_fkey foreign key (tenant_id, site_id) references sites (tenant_id, id),
  constraint orders_to_site_id_fkey foreign key (tenant_id, to_site_id) references sites (tenant_id, id)
);
create index orders_created_at_id_idx on orders (tenant_id, created_at, id);
create index orders_owner_id_idx on orders (tenant_id, owner_id) where owner_id is not null;
create index orders_promised_at_id_idx on orders (tenant_id, promised_at, id);
create index orders_site_id_idx on orders (tenant_id, site_id) where site_id is not null;
create index orders_status_created_at_id_idx on orders (tenant_id, status, created_at, id);
create index orders_status_id_idx on orders (tenant_id, status, id desc);
create index orders_status_promised_at_id_idx on orders (tenant_id, status, promised_at, id);
create index orders_status_updated_at_id_idx on orders (tenant_id, status, updated_at, id);
create index orders_to_site_id_idx on orders (tenant_id, to_site_id) where to_site_id is not null;
create index orders_updated_at_id_idx on orders (tenant_id, updated_at, id);
create unique index orders_order_no_key on orders (tenant_id, order_no);
create unique index orders_source_external_ref_key on orders (tenant_id, source, external_ref);

create table osha_cases (
  tenant_id uuid not null,
  id uuid not null,
  incident_id uuid not null,
  site_id uuid not null,
  year bigint not null,
  case_no bigint,
  recordable text not null,
  basis text,
  entered_at timestamptz,
  entered_late boolean,
  worker_id uuid,
  employee_name text,
  job_title text,
  privacy_case boolean not null,
  privacy_reason text,
  where_occurred text,
  description text,
  discreet_description text,
  outcome text,
  days_away bigint not null,
  days_restricted bigint not null,
  away_from text,
  away_until text,
  restricted_from text,
  restricted_until text,
  illness_type text,
  birth_date text,
  hire_date text,
  sex text,
  employee_address text,
  physician text,
  facility text,
  emergency_room boolean not null,
  in_patient boolean not null,
  in_patient_at timestamptz,
  amputation boolean not null,
  eye_loss boolean not null,
  work_began text,
  event_time text,
  time_unknown boolean not null,
  activity_before text,
  what_happened text,
  injury_detail text,
  object_substance text,
  injury_type text,
  body_part text,
  deviation text,
  contact_mode text,
  oiics_nature text,
  oiics_part text,
  oiics_event text,
  oiics_source text,
  death_date text,
  death_time text,
  death_known_at timestamptz,
  specified_injury text,
  minor_register boolean not null,
  completed_by text,
  completed_title text,
  completed_phone text,
  osha_due_at timestamptz,
  osha_told_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint osha_cases_incident_id_fkey foreign key (tenant_id, incident_id) references incidents (tenant_id, id),
  constraint osha_cases_site_id_fkey foreign key (tenant_id, site_id) references sites (tenant_id, id),
  constraint osha_cases_worker_id_fkey foreign key (tenant_id, worker_id) references workers (tenant_id, id)
);
create index osha_cases_created_at_id_idx on osha_cases (tenant_id, created_at, id);
create index osha_cases_site_id_year_idx on osha_cases (tenant_id, site_id, year);
create index osha_cases_worker_id_idx on osha_cases (tenant_id, worker_id) where worker_id is not null;
create index osha_cases_year_recordable_idx on osha_cases (tenant_id, year, recordable);
create unique index osha_cases_incident_id_key on osha_cases (tenant_id, incident_id);
create unique index osha_cases_site_id_year_case_no_key on osha_cases (tenant_id, site_id, year, case_no);

create table osha_summaries (
  tenant_id uuid not null,
  id uuid not null,
  site_id uuid not null,
  year bigint not null,
  avg_employees bigint not null,
  peak_employees bigint,
  full_time_equivalents bigint,
  additional_hours bigint not null,
  hours_worked bigint not null,
  total_deaths bigint not null,
  total_dafw_cases bigint not null,
  total_djtr_cases bigint not null,
  total_other_cases bigint not null,
  total_dafw_days bigint not null,
  total_djtr_days bigint not null,
  total_injuries bigint not null,
  total_skin_disorders bigint not null,
  total_respiratory_conditions bigint not null,
  total_poisonings bigint not null,
  total_hearing_loss bigint not null,
  total_other_illnesses bigint not null,
  doubt text,
  certified_name text,
  certified_title text,
  certified_phone text,
  certified_by uuid,
  certified_at timestamptz,
  posted_from text,
  posted_to text,
  submitted_at timestamptz,
  submission_ref text,
  cases_submitted_on text,
  change_reason text,
  status text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint osha_summaries_site_id_fkey foreign key (tenant_id, site_id) references sites (tenant_id, id)
);
create index osha_summaries_created_at_id_idx on osha_summaries (tenant_id, created_at, id);
create index osha_summaries_status_created_at_id_idx on osha_summaries (tenant_id, status, created_at, id);
create index osha_summaries_year_status_idx on osha_summaries (tenant_id, year, status);
create unique index osha_summaries_site_id_year_key on osha_summaries (tenant_id, site_id, year);

create table package_lines (
  tenant_id uuid not null,
  id uuid not null,
  package_id uuid not null,
  order_line_id uuid not null,
  item_id uuid not null,
  lot_id uuid,
  serial text,
  quantity bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint package_lines_package_id_fkey foreign key (tenant_id, package_id) references packages (tenant_id, id),
  constraint package_lines_order_line_id_fkey foreign key (tenant_id, order_line_id) references order_lines (tenant_id, id),
  constraint package_lines_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id),
  constraint package_lines_lot_id_fkey foreign key (tenant_id, lot_id) references lots (tenant_id, id)
);
create index package_lines_created_at_id_idx on package_lines (tenant_id, created_at, id);
create index package_lines_item_id_idx on package_lines (tenant_id, item_id);
create index package_lines_lot_id_idx on package_lines (tenant_id, lot_id) where lot_id is not null;
create index package_lines_order_line_id_idx on package_lines (tenant_id, order_line_id);
create index package_lines_package_id_idx on package_lines (tenant_id, package_id);

create table packages (
  tenant_id uuid not null,
  id uuid not null,
  package_no text not null,
  order_id uuid,
  shipment_id uuid,
  sscc text,
  lpn text,
  length_mm bigint,
  width_mm bigint,
  height_mm bigint,
  weight_kg bigint,
  status text not null,
  closed_at timestamptz,
  emptied_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint packages_order_id_fkey foreign key (tenant_id, order_id) references orders (tenant_id, id),
  constraint packages_shipment_id_fkey foreign key (tenant_id, shipment_id) references shipments (tenant_id, id)
);
create index packages_closed_at_idx on packages (tenant_id, closed_at);
create index packages_created_at_id_idx on packages (tenant_id, created_at, id);
create index packages_emptied_at_idx on packages (tenant_id, emptied_at);
create index packages_lpn_idx on packages (tenant_id, lpn) where lpn is not null;
create index packages_order_id_idx on packages (tenant_id, order_id) where order_id is not null;
create index packages_shipment_id_idx on packages (tenant_id, shipment_id) where shipment_id is not null;
create index packages_status_created_at_id_idx on packages (tenant_id, status, created_at, id);
create unique index packages_package_no_key on packages (tenant_id, package_no);
create unique index packages_sscc_key on packages (tenant_id, lower(sscc));

create table pick_lines (
  tenant_id uuid not null,
  id uuid not null,
  pick_list_id uuid not null,
  seq bigint not null,
  order_line_id uuid,
  zone_id uuid not null,
  item_id uuid not null,
  lot_id uuid,
  serial text,
  qty bigint not null,
  qty_picked bigint not null,
  weight_kg bigint,
  weight_reason text,
  reservation_id uuid,
  lpn text,
  to_zone_id uuid,
  target_container text,
  status text not null,
  short_reason text,
  picked_at timestamptz,
  picked_by uuid,
  assigned_worker_id uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  check (qty_picked <= qty),
  primary key (tenant_id, id),
  constraint pick_lines_pick_list_id_fkey foreign key (tenant_id, pick_list_id) references pick_lists (tenant_id, id),
  constraint pick_lines_order_line_id_fkey foreign key (tenant_id, order_line_id) references order_lines (tenant_id, id),
  constraint pick_lines_zone_id_fkey foreign key (tenant_id, zone_id) references zones (tenant_id, id),
  constraint pick_lines_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id),
  constraint pick_lines_lot_id_fkey foreign key (tenant_id, lot_id) references lots (tenant_id, id),
  constraint pick_lines_reservation_id_fkey foreign key (tenant_id, reservation_id) references reservations (tenant_id, id),
  constraint pick_lines_to_zone_id_fkey foreign key (tenant_id, to_zone_id) references zones (tenant_id, id),
  constraint pick_lines_assigned_worker_id_fkey foreign key (tenant_id, assigned_worker_id) references workers (tenant_id, id)
);
create index pick_lines_assigned_worker_id_idx on pick_lines (tenant_id, assigned_worker_id) where assigned_worker_id is not null;
create index pick_lines_created_at_id_idx on pick_lines (tenant_id, created_at, id);
create index pick_lines_item_id_idx on pick_lines (tenant_id, item_id);
create index pick_lines_lot_id_idx on pick_lines (tenant_id, lot_id) where lot_id is not null;
create index pick_lines_order_line_id_idx on pick_lines (tenant_id, order_line_id) where order_line_id is not null;
create index pick_lines_picked_at_idx on pick_lines (tenant_id, picked_at);
create index pick_lines_reservation_id_idx on pick_lines (tenant_id, reservation_id) where reservation_id is not null;
create index pick_lines_status_created_at_id_idx on pick_lines (tenant_id, status, created_at, id);
create index pick_lines_to_zone_id_idx on pick_lines (tenant_id, to_zone_id) where to_zone_id is not null;
create index pick_lines_zone_id_idx on pick_lines (tenant_id, zone_id);
create unique index pick_lines_pick_list_id_seq_key on pick_lines (tenant_id, pick_list_id, seq);

create table pick_lists (
  tenant_id uuid not null,
  id uuid not null,
  pick_no text not null,
  strategy text not null,
  wave_no text,
  status text not null,
  assigned_worker_id uuid,
  priority bigint not null,
  released_at timestamptz,
  started_at timestamptz,
  completed_at timestamptz,
  route_m bigint,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint pick_lists_assigned_worker_id_fkey foreign key (tenant_id, assigned_worker_id) references workers (tenant_id, id)
);
create index pick_lists_assigned_worker_id_idx on pick_lists (tenant_id, assigned_worker_id) where assigned_worker_id is not null;
create index pick_lists_created_at_id_idx on pick_lists (tenant_id, created_at, id);
create index pick_lists_status_created_at_id_idx on pick_lists (tenant_id, status, created_at, id);
create index pick_lists_status_id_idx on pick_lists (tenant_id, status, id);
create unique index pick_lists_pick_no_key on pick_lists (tenant_id, pick_no);

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
create index point_events_created_at_id_idx on point_events (tenant_id, created_at, id);
create index point_events_occurred_at_idx on point_events (tenant_id, occurred_at);
create index point_events_user_id_occurred_at_idx on point_events (tenant_id, user_id, occurred_at);
create unique index point_events_source_id_kind_user_id_key on point_events (tenant_id, source_id, kind, user_id);

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
create unique index predictive_scores_run_id_entity_id_key on predictive_scores (tenant_id, run_id, entity_id);

create table putaway_tasks (
  tenant_id uuid not null,
  id uuid not null,
  task_no text not null,
  status text not null,
  receipt_id uuid,
  item_id uuid not null,
  lot_id uuid,
  serial text,
  owner_id uuid,
  lpn text,
  stock_status text not null,
  from_zone_id uuid not null,
  to_zone_id uuid,
  quantity bigint not null,
  quantity_done bigint not null,
  assigned_worker_id uuid,
  completed_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  check (quantity_done <= quantity),
  primary key (tenant_id, id),
  constraint putaway_tasks_receipt_id_fkey foreign key (tenant_id, receipt_id) references receipts (tenant_id, id),
  constraint putaway_tasks_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id),
  constraint putaway_tasks_lot_id_fkey foreign key (tenant_id, lot_id) references lots (tenant_id, id),
  constraint putaway_tasks_from_zone_id_fkey foreign key (tenant_id, from_zone_id) references zones (tenant_id, id),
  constraint putaway_tasks_to_zone_id_fkey foreign key (tenant_id, to_zone_id) references zones (tenant_id, id),
  constraint putaway_tasks_assigned_worker_id_fkey foreign key (tenant_id, assigned_worker_id) references workers (tenant_id, id)
);
create index putaway_tasks_assigned_worker_id_idx on putaway_tasks (tenant_id, assigned_worker_id) where assigned_worker_id is not null;
create index putaway_tasks_created_at_id_idx on putaway_tasks (tenant_id, created_at, id);
create index putaway_tasks_from_zone_id_idx on putaway_tasks (tenant_id, from_zone_id);
create index putaway_tasks_item_id_idx on putaway_tasks (tenant_id, item_id);
create index putaway_tasks_lot_id_idx on putaway_tasks (tenant_id, lot_id) where lot_id is not null;
create index putaway_tasks_receipt_id_idx on putaway_tasks (tenant_id, receipt_id) where receipt_id is not null;
create index putaway_tasks_status_created_at_id_idx on putaway_tasks (tenant_id, status, created_at, id);
create index putaway_tasks_status_id_idx on putaway_tasks (tenant_id, status, id);
create index putaway_tasks_to_zone_id_idx on putaway_tasks (tenant_id, to_zone_id) where to_zone_id is not null;
create unique index putaway_tasks_task_no_key on putaway_tasks (tenant_id, task_no);

create table receipt_lines (
  tenant_id uuid not null,
  id uuid not null,
  receipt_id uuid not null,
  line_no bigint not null,
  order_line_id uuid,
  item_id uuid not null,
  lot_id uuid,
  serials text not null,
  lpn text,
  stock_status text not null,
  quantity bigint not null,
  uom text,
  uom_quantity bigint,
  discrepancy text,
  note text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint receipt_lines_receipt_id_fkey foreign key (tenant_id, receipt_id) references receipts (tenant_id, id),
  constraint receipt_lines_order_line_id_fkey foreign key (tenant_id, order_line_id) references order_lines (tenant_id, id),
  constraint receipt_lines_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id),
  constraint receipt_lines_lot_id_fkey foreign key (tenant_id, lot_id) references lots (tenant_id, id)
);
create index receipt_lines_created_at_id_idx on receipt_lines (tenant_id, created_at, id);
create index receipt_lines_item_id_idx on receipt_lines (tenant_id, item_id);
create index receipt_lines_lot_id_idx on receipt_lines (tenant_id, lot_id) where lot_id is not null;
create index receipt_lines_order_line_id_idx on receipt_lines (tenant_id, order_line_id) where order_line_id is not null;
create unique index receipt_lines_receipt_id_line_no_key on receipt_lines (tenant_id, receipt_id, line_no);

create table receipts (
  tenant_id uuid not null,
  id uuid not null,
  receipt_no text not null,
  order_id uuid,
  shipment_id uuid,
  asn text,
  zone_id uuid not null,
  received_at timestamptz not null,
  line_count bigint not null,
  discrepancies bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint receipts_order_id_fkey foreign key (tenant_id, order_id) references orders (tenant_id, id),
  constraint receipts_shipment_id_fkey foreign key (tenant_id, shipment_id) references shipments (tenant_id, id),
  constraint receipts_zone_id_fkey foreign key (tenant_id, zone_id) references zones (tenant_id, id)
);
create index receipts_created_at_id_idx on receipts (tenant_id, created_at, id);
create index receipts_order_id_idx on receipts (tenant_id, order_id) where order_id is not null;
create index receipts_shipment_id_idx on receipts (tenant_id, shipment_id) where shipment_id is not null;
create index receipts_zone_id_idx on receipts (tenant_id, zone_id);
create unique index receipts_receipt_no_key on receipts (tenant_id, receipt_no);

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
  last_evaluated_at timestamptz,
  follows_sites boolean not null,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create index regulations_created_at_id_idx on regulations (tenant_id, created_at, id);
create index regulations_status_created_at_id_idx on regulations (tenant_id, status, created_at, id);
create unique index regulations_code_key on regulations (tenant_id, lower(code));

create table replenish_rules (
  tenant_id uuid not null,
  id uuid not null,
  item_id uuid not null,
  pick_zone_id uuid not null,
  owner_id uuid,
  min_qty bigint not null,
  max_qty bigint not null,
  source_zone_id uuid,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  check (max_qty >= min_qty),
  primary key (tenant_id, id),
  constraint replenish_rules_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id),
  constraint replenish_rules_pick_zone_id_fkey foreign key (tenant_id, pick_zone_id) references zones (tenant_id, id),
  constraint replenish_rules_owner_id_fkey foreign key (tenant_id, owner_id) references goods_owners (tenant_id, id),
  constraint replenish_rules_source_zone_id_fkey foreign key (tenant_id, source_zone_id) references zones (tenant_id, id)
);
create index replenish_rules_created_at_id_idx on replenish_rules (tenant_id, created_at, id);
create index replenish_rules_owner_id_idx on replenish_rules (tenant_id, owner_id) where owner_id is not null;
create index replenish_rules_pick_zone_id_idx on replenish_rules (tenant_id, pick_zone_id);
create index replenish_rules_source_zone_id_idx on replenish_rules (tenant_id, source_zone_id) where source_zone_id is not null;
create unique index replenish_rules_item_id_pick_zone_id_key on replenish_rules (tenant_id, item_id, pick_zone_id);

create table replenish_tasks (
  tenant_id uuid not null,
  id uuid not null,
  task_no text not null,
  status text not null,
  rule_id uuid not null,
  item_id uuid not null,
  lot_id uuid,
  serial text,
  owner_id uuid,
  lpn text,
  from_zone_id uuid not null,
  to_zone_id uuid not null,
  quantity bigint not null,
  quantity_done bigint not null,
  assigned_worker_id uuid,
  completed_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  check (quantity_done <= quantity),
  primary key (tenant_id, id),
  constraint replenish_tasks_rule_id_fkey foreign key (tenant_id, rule_id) references replenish_rules (tenant_id, id),
  constraint replenish_tasks_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id),
  constraint replenish_tasks_lot_id_fkey foreign key (tenant_id, lot_id) references lots (tenant_id, id),
  constraint replenish_tasks_from_zone_id_fkey foreign key (tenant_id, from_zone_id) references zones (tenant_id, id),
  constraint replenish_tasks_to_zone_id_fkey foreign key (tenant_id, to_zone_id) references zones (tenant_id, id),
  constraint replenish_tasks_assigned_worker_id_fkey foreign key (tenant_id, assigned_worker_id) references workers (tenant_id, id)
);
create index replenish_tasks_assigned_worker_id_idx on replenish_tasks (tenant_id, assigned_worker_id) where assigned_worker_id is not null;
create index replenish_tasks_created_at_id_idx on replenish_tasks (tenant_id, created_at, id);
create index replenish_tasks_from_zone_id_idx on replenish_tasks (tenant_id, from_zone_id);
create index replenish_tasks_item_id_status_idx on replenish_tasks (tenant_id, item_id, status);
create index replenish_tasks_lot_id_idx on replenish_tasks (tenant_id, lot_id) where lot_id is not null;
create index replenish_tasks_rule_id_idx on replenish_tasks (tenant_id, rule_id);
create index replenish_tasks_status_created_at_id_idx on replenish_tasks (tenant_id, status, created_at, id);
create index replenish_tasks_status_id_idx on replenish_tasks (tenant_id, status, id);
create index replenish_tasks_to_zone_id_idx on replenish_tasks (tenant_id, to_zone_id);
create unique index replenish_tasks_task_no_key on replenish_tasks (tenant_id, task_no);

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
create index report_links_created_at_id_idx on report_links (tenant_id, created_at, id);
create index report_links_site_id_idx on report_links (tenant_id, site_id) where site_id is not null;
create index report_links_zone_id_idx on report_links (tenant_id, zone_id) where zone_id is not null;
create unique index report_links_token_key on report_links (tenant_id, token);

create table reservations (
  tenant_id uuid not null,
  id uuid not null,
  order_line_id uuid not null,
  item_id uuid not null,
  zone_id uuid not null,
  lot_id uuid,
  serial text,
  owner_id uuid,
  lpn text,
  stock_status text not null,
  stock_key text not null,
  quantity bigint not null,
  state text not null,
  picked boolean not null,
  expires_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint reservations_order_line_id_fkey foreign key (tenant_id, order_line_id) references order_lines (tenant_id, id),
  constraint reservations_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id),
  constraint reservations_zone_id_fkey foreign key (tenant_id, zone_id) references zones (tenant_id, id),
  constraint reservations_lot_id_fkey foreign key (tenant_id, lot_id) references lots (tenant_id, id),
  constraint reservations_owner_id_fkey foreign key (tenant_id, owner_id) references goods_owners (tenant_id, id)
);
create index reservations_created_at_id_idx on reservations (tenant_id, created_at, id);
create index reservations_item_id_idx on reservations (tenant_id, item_id);
create index reservations_lot_id_idx on reservations (tenant_id, lot_id) where lot_id is not null;
create index reservations_order_line_id_idx on reservations (tenant_id, order_line_id);
create index reservations_owner_id_idx on reservations (tenant_id, owner_id) where owner_id is not null;
create index reservations_state_created_at_id_idx on reservations (tenant_id, state, created_at, id);
create index reservations_state_expires_at_idx on reservations (tenant_id, state, expires_at);
create index reservations_stock_key_state_idx on reservations (tenant_id, stock_key, state);
create index reservations_zone_id_idx on reservations (tenant_id, zone_id);

create table risk_clusters (
  tenant_id uuid not null,
  id uuid not null,
  cluster_name text not null,
  severity bigint not null,
  description text not null,
  entity_count bigint not null,
  entity_type text,
  about text,
  min_score bigint not null,
  max_score bigint not null,
  members text not null,
  assigned_at timestamptz not null,
  primary key (tenant_id, id)
);

create table risk_entries (
  tenant_id uuid not null,
  id uuid not null,
  entry_no text not null,
  unit_id uuid not null,
  hazard_family text not null,
  situation text not null,
  activity text,
  possible_harm text,
  differs_by_sex boolean not null,
  existing_measures text,
  scale text not null,
  severity_before text,
  likelihood_before bigint,
  measure text,
  control_level text,
  measure_due_on text,
  measure_done_on text,
  action_id uuid,
  severity_after text,
  likelihood_after bigint,
  owner_user_id uuid,
  review_on text,
  effect_checked_on text,
  effective boolean,
  rating_before bigint,
  rating_after bigint,
  rating_now bigint,
  priority text,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint risk_entries_unit_id_fkey foreign key (tenant_id, unit_id) references work_units (tenant_id, id),
  constraint risk_entries_action_id_fkey foreign key (tenant_id, action_id) references actions (tenant_id, id)
);
create index risk_entries_action_id_idx on risk_entries (tenant_id, action_id) where action_id is not null;
create index risk_entries_created_at_id_idx on risk_entries (tenant_id, created_at, id);
create index risk_entries_rating_now_id_idx on risk_entries (tenant_id, rating_now, id);
create index risk_entries_review_on_id_idx on risk_entries (tenant_id, review_on, id);
create index risk_entries_unit_id_id_idx on risk_entries (tenant_id, unit_id, id);
create index risk_entries_updated_at_id_idx on risk_entries (tenant_id, updated_at, id);
create unique index risk_entries_entry_no_key on risk_entries (tenant_id, entry_no);

create table risk_register_versions (
  tenant_id uuid not null,
  id uuid not null,
  number bigint not null,
  site_id uuid,
  reason text not null,
  note text,
  made_at timestamptz not null,
  made_by uuid,
  units bigint not null,
  entries bigint not null,
  gaps bigint not null,
  content text not null,
  sha256 text not null,
  keep_until text not null,
  sent_on text,
  consulted_on text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint risk_register_versions_site_id_fkey foreign key (tenant_id, site_id) references sites (tenant_id, id)
);
create index risk_register_versions_created_at_id_idx on risk_register_versions (tenant_id, created_at, id);
create unique index risk_register_versions_site_id_number_key on risk_register_versions (tenant_id, site_id, number);

create table routes (
  tenant_id uuid not null,
  id uuid not null,
  route_no text not null,
  status text not null,
  date text not null,
  driver_id uuid not null,
  assigned_worker_id uuid,
  vehicle_id uuid not null,
  planned_km bigint,
  started_at timestamptz,
  finished_at timestamptz,
  driving_min bigint,
  odometer_start_km bigint,
  odometer_end_km bigint,
  distance_km bigint,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint routes_driver_id_fkey foreign key (tenant_id, driver_id) references drivers (tenant_id, id),
  constraint routes_assigned_worker_id_fkey foreign key (tenant_id, assigned_worker_id) references workers (tenant_id, id),
  constraint routes_vehicle_id_fkey foreign key (tenant_id, vehicle_id) references vehicles (tenant_id, id)
);
create index routes_assigned_worker_id_idx on routes (tenant_id, assigned_worker_id) where assigned_worker_id is not null;
create index routes_created_at_id_idx on routes (tenant_id, created_at, id);
create index routes_date_id_idx on routes (tenant_id, date, id);
create index routes_driver_id_started_at_idx on routes (tenant_id, driver_id, started_at);
create index routes_status_created_at_id_idx on routes (tenant_id, status, created_at, id);
create index routes_status_id_idx on routes (tenant_id, status, id);
create index routes_vehicle_id_idx on routes (tenant_id, vehicle_id);
create unique index routes_route_no_key on routes (tenant_id, route_no);

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
create index score_models_created_at_id_idx on score_models (tenant_id, created_at, id);
create index score_models_status_created_at_id_idx on score_models (tenant_id, status, created_at, id);
create index score_models_status_entity_type_idx on score_models (tenant_id, status, entity_type);

create table score_runs (
  tenant_id uuid not null,
  id uuid not null,
  entity_type text not null,
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
create index score_runs_created_at_id_idx on score_runs (tenant_id, created_at, id);
create index score_runs_entity_type_id_idx on score_runs (tenant_id, entity_type, id desc);
create index score_runs_model_id_idx on score_runs (tenant_id, model_id) where model_id is not null;

create table settings (
  tenant_id uuid not null,
  id uuid not null,
  section text not null,
  key text not null,
  value text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create index settings_created_at_id_idx on settings (tenant_id, created_at, id);
create unique index settings_key_key on settings (tenant_id, lower(key));

create table shared_documents (
  tenant_id uuid not null,
  id uuid not null,
  kind text not null,
  record_id uuid,
  name text not null,
  language text,
  narrowed text,
  expires_at timestamptz not null,
  token_hash text not null,
  password_hash text not null,
  wrong_passwords bigint not null,
  opened bigint not null,
  opened_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create index shared_documents_created_at_id_idx on shared_documents (tenant_id, created_at, id);
create index shared_documents_expires_at_id_idx on shared_documents (tenant_id, expires_at, id);
create unique index shared_documents_token_hash_key on shared_documents (tenant_id, token_hash);

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
create index shifts_created_at_id_idx on shifts (tenant_id, created_at, id);
create index shifts_equipment_id_ended_at_hours_units_done_idx on shifts (tenant_id, equipment_id, ended_at, hours, units_done);
create index shifts_status_created_at_id_idx on shifts (tenant_id, status, created_at, id);
create index shifts_team_id_idx on shifts (tenant_id, team_id) where team_id is not null;
create index shifts_vehicle_id_idx on shifts (tenant_id, vehicle_id) where vehicle_id is not null;
create index shifts_worker_id_ended_at_hours_units_done_idx on shifts (tenant_id, worker_id, ended_at, hours, units_done);
create index shifts_zone_id_ended_at_hours_units_done_idx on shifts (tenant_id, zone_id, ended_at, hours, units_done);

create table shipment_lines (
  tenant_id uuid not null,
  id uuid not null,
  shipment_id uuid not null,
  order_id uuid not null,
  order_line_id uuid not null,
  item_id uuid not null,
  quantity bigint not null,
  qty_shipped bigint not null,
  qty_short bigint not null,
  qty_damaged bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint shipment_lines_shipment_id_fkey foreign key (tenant_id, shipment_id) references shipments (tenant_id, id),
  constraint shipment_lines_order_id_fkey foreign key (tenant_id, order_id) references orders (tenant_id, id),
  constraint shipment_lines_order_line_id_fkey foreign key (tenant_id, order_line_id) references order_lines (tenant_id, id),
  constraint shipment_lines_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id)
);
create index shipment_lines_created_at_id_idx on shipment_lines (tenant_id, created_at, id);
create index shipment_lines_item_id_idx on shipment_lines (tenant_id, item_id);
create index shipment_lines_order_id_idx on shipment_lines (tenant_id, order_id);
create index shipment_lines_order_line_id_idx on shipment_lines (tenant_id, order_line_id);
create unique index shipment_lines_shipment_id_order_line_id_key on shipment_lines (tenant_id, shipment_id, order_line_id);

create table shipments (
  tenant_id uuid not null,
  id uuid not null,
  shipment_no text not null,
  direction text not null,
  status text not null,
  order_ids text not null,
  carrier text,
  carrier_id uuid,
  service text,
  tracking_no text,
  sscc text not null,
  packages text not null,
  driver_id uuid,
  assigned_worker_id uuid,
  vehicle_id uuid,
  route_id uuid,
  stop_seq bigint,
  arrived_at timestamptz,
  origin text,
  destination text,
  planned_at timestamptz,
  dispatched_at timestamptz,
  eta timestamptz,
  completed_at timestamptz,
  proof text,
  exception_code text,
  exception_note text,
  freight_cost bigint,
  owner_id uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint shipments_carrier_id_fkey foreign key (tenant_id, carrier_id) references carriers (tenant_id, id),
  constraint shipments_driver_id_fkey foreign key (tenant_id, driver_id) references drivers (tenant_id, id),
  constraint shipments_assigned_worker_id_fkey foreign key (tenant_id, assigned_worker_id) references workers (tenant_id, id),
  constraint shipments_vehicle_id_fkey foreign key (tenant_id, vehicle_id) references vehicles (tenant_id, id),
  constraint shipments_route_id_fkey foreign key (tenant_id, route_id) references routes (tenant_id, id),
  constraint shipments_owner_id_fkey foreign key (tenant_id, owner_id) references goods_owners (tenant_id, id)
);
create index shipments_assigned_worker_id_idx on shipments (tenant_id, assigned_worker_id) where assigned_worker_id is not null;
create index shipments_carrier_id_idx on shipments (tenant_id, carrier_id) where carrier_id is not null;
create index shipments_completed_at_idx on shipments (tenant_id, completed_at);
create index shipments_created_at_id_idx on shipments (tenant_id, created_at, id);
create index shipments_driver_id_idx on shipments (tenant_id, driver_id) where driver_id is not null;
create index shipments_owner_id_idx on shipments (tenant_id, owner_id) where owner_id is not null;
create index shipments_planned_at_id_idx on shipments (tenant_id, planned_at, id);
create index shipments_route_id_idx on shipments (tenant_id, route_id) where route_id is not null;
create index shipments_status_created_at_id_idx on shipments (tenant_id, status, created_at, id);
create index shipments_status_id_idx on shipments (tenant_id, status, id);
create index shipments_status_planned_at_id_idx on shipments (tenant_id, status, planned_at, id);
create index shipments_status_updated_at_id_idx on shipments (tenant_id, status, updated_at, id);
create index shipments_updated_at_id_idx on shipments (tenant_id, updated_at, id);
create index shipments_vehicle_id_idx on shipments (tenant_id, vehicle_id) where vehicle_id is not null;
create unique index shipments_shipment_no_key on shipments (tenant_id, shipment_no);

create table sites (
  tenant_id uuid not null,
  id uuid not null,
  code text not null,
  name text not null,
  gln text,
  address text,
  city text,
  state text,
  zip text,
  country text,
  timezone text,
  company_name text,
  ein text,
  naics text,
  industry_description text,
  nace text,
  nuts text,
  establishment_type bigint,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create index sites_created_at_id_idx on sites (tenant_id, created_at, id);
create unique index sites_code_key on sites (tenant_id, lower(code));

create table sso_connections (
  tenant_id uuid not null,
  id uuid not null,
  kind text not null,
  name text,
  identifier text,
  status text not null,
  issuer text not null,
  metadata_url text,
  metadata_xml text,
  metadata_at timestamptz,
  metadata_tried_at timestamptz,
  client_id text,
  secret text,
  scopes text not null,
  name_id_format text,
  attribute_mapping text not null,
  role_map text not null,
  default_role text,
  enforced boolean not null,
  break_glass_user_id uuid,
  allow_unsolicited boolean not null,
  scim_token_hash text,
  resource_id text,
  authorization_params text not null,
  last_test text,
  last_test_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create index sso_connections_created_at_id_idx on sso_connections (tenant_id, created_at, id);

create table stock_adjustments (
  tenant_id uuid not null,
  id uuid not null,
  adjustment_no text not null,
  status text not null,
  zone_id uuid not null,
  item_id uuid not null,
  lot_id uuid,
  serial text,
  owner_id uuid,
  lpn text,
  stock_status text not null,
  quantity bigint not null,
  value bigint not null,
  reason_code text not null,
  note text,
  decided_by uuid,
  decided_at timestamptz,
  decision_note text,
  movement_id uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint stock_adjustments_zone_id_fkey foreign key (tenant_id, zone_id) references zones (tenant_id, id),
  constraint stock_adjustments_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id),
  constraint stock_adjustments_lot_id_fkey foreign key (tenant_id, lot_id) references lots (tenant_id, id)
);
create index stock_adjustments_created_at_id_idx on stock_adjustments (tenant_id, created_at, id);
create index stock_adjustments_item_id_idx on stock_adjustments (tenant_id, item_id);
create index stock_adjustments_lot_id_idx on stock_adjustments (tenant_id, lot_id) where lot_id is not null;
create index stock_adjustments_status_created_at_id_idx on stock_adjustments (tenant_id, status, created_at, id);
create index stock_adjustments_status_id_idx on stock_adjustments (tenant_id, status, id);
create index stock_adjustments_zone_id_idx on stock_adjustments (tenant_id, zone_id);
create unique index stock_adjustments_adjustment_no_key on stock_adjustments (tenant_id, adjustment_no);

create table stock_counts (
  tenant_id uuid not null,
  id uuid not null,
  zone_id uuid not null,
  item_id uuid not null,
  lot_id uuid,
  serial text,
  owner_id uuid,
  lpn text,
  stock_status text not null,
  counted bigint not null,
  expected bigint,
  variance bigint,
  exact boolean,
  counted_at timestamptz,
  reason_code text,
  worker_id uuid,
  approved_by uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint stock_counts_zone_id_fkey foreign key (tenant_id, zone_id) references zones (tenant_id, id),
  constraint stock_counts_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id),
  constraint stock_counts_lot_id_fkey foreign key (tenant_id, lot_id) references lots (tenant_id, id),
  constraint stock_counts_owner_id_fkey foreign key (tenant_id, owner_id) references goods_owners (tenant_id, id),
  constraint stock_counts_worker_id_fkey foreign key (tenant_id, worker_id) references workers (tenant_id, id)
);
create index stock_counts_counted_at_exact_idx on stock_counts (tenant_id, counted_at, exact);
create index stock_counts_created_at_id_idx on stock_counts (tenant_id, created_at, id);
create index stock_counts_item_id_counted_at_idx on stock_counts (tenant_id, item_id, counted_at);
create index stock_counts_lot_id_idx on stock_counts (tenant_id, lot_id) where lot_id is not null;
create index stock_counts_owner_id_idx on stock_counts (tenant_id, owner_id) where owner_id is not null;
create index stock_counts_worker_id_idx on stock_counts (tenant_id, worker_id) where worker_id is not null;
create index stock_counts_zone_id_idx on stock_counts (tenant_id, zone_id);

create table stock_levels (
  tenant_id uuid not null,
  id uuid not null,
  zone_id uuid not null,
  item_id uuid not null,
  lot_id uuid,
  serial text,
  owner_id uuid,
  lpn text,
  stock_status text not null,
  stock_key text not null,
  quantity bigint not null,
  reserved bigint not null,
  last_counted_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  check (quantity >= 0),
  check (reserved >= 0),
  check (reserved <= quantity),
  primary key (tenant_id, id),
  constraint stock_levels_zone_id_fkey foreign key (tenant_id, zone_id) references zones (tenant_id, id),
  constraint stock_levels_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id),
  constraint stock_levels_lot_id_fkey foreign key (tenant_id, lot_id) references lots (tenant_id, id),
  constraint stock_levels_owner_id_fkey foreign key (tenant_id, owner_id) references goods_owners (tenant_id, id)
);
create index stock_levels_created_at_id_idx on stock_levels (tenant_id, created_at, id);
create index stock_levels_item_id_idx on stock_levels (tenant_id, item_id);
create index stock_levels_lot_id_idx on stock_levels (tenant_id, lot_id) where lot_id is not null;
create index stock_levels_lpn_idx on stock_levels (tenant_id, lpn) where lpn is not null;
create index stock_levels_owner_id_idx on stock_levels (tenant_id, owner_id) where owner_id is not null;
create index stock_levels_zone_id_idx on stock_levels (tenant_id, zone_id);
create unique index stock_levels_stock_key_key on stock_levels (tenant_id, stock_key);

create table stock_movements (
  tenant_id uuid not null,
  id uuid not null,
  occurred_at timestamptz,
  type text not null,
  item_id uuid not null,
  lot_id uuid,
  serial text,
  owner_id uuid,
  lpn text,
  plate_change text,
  from_zone_id uuid,
  to_zone_id uuid,
  from_status text not null,
  to_status text not null,
  quantity bigint not null,
  uom text,
  uom_quantity bigint,
  weight_reason text,
  weight_kg bigint,
  unit_cost bigint,
  posting_no bigint not null,
  reason_code text,
  ref_type text,
  ref_id uuid,
  worker_id uuid,
  idempotency_key text,
  reversal_of uuid,
  reservation_id uuid,
  order_line_id uuid,
  override_reason text,
  approved_by uuid,
  import_job_id uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint stock_movements_item_id_fkey foreign key (tenant_id, item_id) references items (tenant_id, id),
  constraint stock_movements_lot_id_fkey foreign key (tenant_id, lot_id) references lots (tenant_id, id),
  constraint stock_movements_owner_id_fkey foreign key (tenant_id, owner_id) references goods_owners (tenant_id, id),
  constraint stock_movements_from_zone_id_fkey foreign key (tenant_id, from_zone_id) references zones (tenant_id, id),
  constraint stock_movements_to_zone_id_fkey foreign key (tenant_id, to_zone_id) references zones (tenant_id, id),
  constraint stock_movements_worker_id_fkey foreign key (tenant_id, worker_id) references workers (tenant_id, id),
  constraint stock_movements_reversal_of_fkey foreign key (tenant_id, reversal_of) references stock_movements (tenant_id, id)
);
create index stock_movements_created_at_id_idx on stock_movements (tenant_id, created_at, id);
create index stock_movements_from_zone_id_idx on stock_movements (tenant_id, from_zone_id) where from_zone_id is not null;
create index stock_movements_import_job_id_idx on stock_movements (tenant_id, import_job_id) where import_job_id is not null;
create index stock_movements_item_id_occurred_at_idx on stock_movements (tenant_id, item_id, occurred_at desc);
create index stock_movements_lot_id_idx on stock_movements (tenant_id, lot_id) where lot_id is not null;
create index stock_movements_occurred_at_item_id_type_quantity_owner_id_idx on stock_movements (tenant_id, occurred_at, item_id, type, quantity, owner_id);
create index stock_movements_owner_id_idx on stock_movements (tenant_id, owner_id) where owner_id is not null;
create index stock_movements_reversal_of_idx on stock_movements (tenant_id, reversal_of) where reversal_of is not null;
create index stock_movements_to_zone_id_idx on stock_movements (tenant_id, to_zone_id) where to_zone_id is not null;
create index stock_movements_worker_id_idx on stock_movements (tenant_id, worker_id) where worker_id is not null;
create unique index stock_movements_idempotency_key_key on stock_movements (tenant_id, idempotency_key);

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
create index talk_attendances_created_at_id_idx on talk_attendances (tenant_id, created_at, id);
create index talk_attendances_worker_id_idx on talk_attendances (tenant_id, worker_id);
create unique index talk_attendances_talk_id_worker_id_key on talk_attendances (tenant_id, talk_id, worker_id);

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
create index team_scores_created_at_id_idx on team_scores (tenant_id, created_at, id);
create unique index team_scores_team_id_period_key on team_scores (tenant_id, team_id, period);

create table teams (
  tenant_id uuid not null,
  id uuid not null,
  code text not null,
  name text not null,
  lead_user_id uuid,
  site_id uuid,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint teams_site_id_fkey foreign key (tenant_id, site_id) references sites (tenant_id, id)
);
create index teams_created_at_id_idx on teams (tenant_id, created_at, id);
create index teams_site_id_idx on teams (tenant_id, site_id) where site_id is not null;
create unique index teams_code_key on teams (tenant_id, lower(code));

create table tenants ( -- rls: id
  id uuid not null,
  name text not null,
  slug text not null,
  plan text not null,
  status text not null,
  timezone text not null,
  country text,
  currency text not null,
  jurisdictions text not null,
  join_policy text not null,
  email_domains text not null,
  gs1_company_prefix text,
  limits text,
  import_quota bigint,
  photo_quota bigint,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (id)
);
create unique index tenants_slug_key on tenants (lower(slug));

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
create index toolbox_talks_created_at_id_idx on toolbox_talks (tenant_id, created_at, id);
create index toolbox_talks_held_at_idx on toolbox_talks (tenant_id, held_at);
create index toolbox_talks_incident_id_idx on toolbox_talks (tenant_id, incident_id) where incident_id is not null;
create index toolbox_talks_site_id_idx on toolbox_talks (tenant_id, site_id) where site_id is not null;
create index toolbox_talks_team_id_idx on toolbox_talks (tenant_id, team_id) where team_id is not null;

create table training_assignments (
  tenant_id uuid not null,
  id uuid not null,
  course_id uuid not null,
  user_id uuid,
  worker_id uuid,
  assignment_type text not null,
  assignment_reason text,
  due_on text,
  started_at timestamptz,
  completed_at timestamptz,
  result bigint,
  expires_on text,
  trained_on text,
  trainer text,
  evaluated_on text,
  evaluator text,
  certificate_no text,
  issuer text,
  entered_by uuid,
  verified_by uuid,
  verified_at timestamptz,
  close_reason text,
  source_score_id uuid,
  source_incident_id uuid,
  reminded_at timestamptz,
  status text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  check (user_id IS NOT NULL OR worker_id IS NOT NULL),
  primary key (tenant_id, id),
  constraint training_assignments_course_id_fkey foreign key (tenant_id, course_id) references courses (tenant_id, id),
  constraint training_assignments_worker_id_fkey foreign key (tenant_id, worker_id) references workers (tenant_id, id)
);
create index training_assignments_course_id_idx on training_assignments (tenant_id, course_id);
create index training_assignments_created_at_id_idx on training_assignments (tenant_id, created_at, id);
create index training_assignments_due_on_id_idx on training_assignments (tenant_id, due_on, id);
create index training_assignments_status_created_at_id_idx on training_assignments (tenant_id, status, created_at, id);
create index training_assignments_status_due_on_id_idx on training_assignments (tenant_id, status, due_on, id);
create index training_assignments_status_expires_on_idx on training_assignments (tenant_id, status, expires_on);
create index training_assignments_user_id_course_id_idx on training_assignments (tenant_id, user_id, course_id);
create index training_assignments_worker_id_course_id_idx on training_assignments (tenant_id, worker_id, course_id);

create table uoms (
  tenant_id uuid not null,
  id uuid not null,
  code text not null,
  name text not null,
  kind text not null,
  decimals bigint not null,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create index uoms_created_at_id_idx on uoms (tenant_id, created_at, id);
create unique index uoms_code_key on uoms (tenant_id, lower(code));

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
create index user_badges_created_at_id_idx on user_badges (tenant_id, created_at, id);
create unique index user_badges_user_id_badge_id_key on user_badges (tenant_id, user_id, badge_id);

create table vehicles (
  tenant_id uuid not null,
  id uuid not null,
  plate text not null,
  vin text,
  kind text,
  payload_kg bigint,
  volume_m3 bigint,
  odometer_km bigint,
  inspection_due_on text,
  site_id uuid,
  status text not null,
  on_trip boolean not null,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint vehicles_site_id_fkey foreign key (tenant_id, site_id) references sites (tenant_id, id)
);
create index vehicles_created_at_id_idx on vehicles (tenant_id, created_at, id);
create index vehicles_site_id_idx on vehicles (tenant_id, site_id) where site_id is not null;
create index vehicles_status_created_at_id_idx on vehicles (tenant_id, status, created_at, id);
create unique index vehicles_plate_key on vehicles (tenant_id, plate);

create table wall_screens (
  tenant_id uuid not null,
  id uuid not null,
  name text not null,
  site_id uuid,
  first_aid_course_id uuid,
  language text,
  expires_at timestamptz not null,
  token_hash text not null,
  opened_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint wall_screens_site_id_fkey foreign key (tenant_id, site_id) references sites (tenant_id, id),
  constraint wall_screens_first_aid_course_id_fkey foreign key (tenant_id, first_aid_course_id) references courses (tenant_id, id)
);
create index wall_screens_created_at_id_idx on wall_screens (tenant_id, created_at, id);
create index wall_screens_expires_at_id_idx on wall_screens (tenant_id, expires_at, id);
create index wall_screens_first_aid_course_id_idx on wall_screens (tenant_id, first_aid_course_id) where first_aid_course_id is not null;
create index wall_screens_site_id_idx on wall_screens (tenant_id, site_id) where site_id is not null;
create unique index wall_screens_token_hash_key on wall_screens (tenant_id, token_hash);

create table waves (
  tenant_id uuid not null,
  id uuid not null,
  wave_no text not null,
  status text not null,
  order_ids text not null,
  planned_at timestamptz,
  released_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create index waves_created_at_id_idx on waves (tenant_id, created_at, id);
create index waves_status_created_at_id_idx on waves (tenant_id, status, created_at, id);
create index waves_status_id_idx on waves (tenant_id, status, id);
create unique index waves_wave_no_key on waves (tenant_id, wave_no);

create table webhooks (
  tenant_id uuid not null,
  id uuid not null,
  url text not null,
  description text,
  events text not null,
  people_scores boolean not null,
  status text not null,
  disabled_reason text,
  failing_since timestamptz,
  api_version text not null,
  secret text not null,
  old_secret text,
  old_secret_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id)
);
create index webhooks_created_at_id_idx on webhooks (tenant_id, created_at, id);
create index webhooks_status_created_at_id_idx on webhooks (tenant_id, status, created_at, id);

create table work_units (
  tenant_id uuid not null,
  id uuid not null,
  code text not null,
  name text not null,
  site_id uuid,
  headcount bigint,
  activities text not null,
  zone_ids text not null,
  equipment_kinds text not null,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint work_units_site_id_fkey foreign key (tenant_id, site_id) references sites (tenant_id, id)
);
create index work_units_created_at_id_idx on work_units (tenant_id, created_at, id);
create index work_units_site_id_idx on work_units (tenant_id, site_id) where site_id is not null;
create unique index work_units_code_key on work_units (tenant_id, lower(code));

create table workers (
  tenant_id uuid not null,
  id uuid not null,
  employee_no text not null,
  name text not null,
  job_title text,
  isco text,
  team_id uuid,
  site_id uuid,
  employment text not null,
  supervised boolean not null,
  hired_on text,
  left_on text,
  user_id uuid,
  birth_year bigint,
  status text not null,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint workers_team_id_fkey foreign key (tenant_id, team_id) references teams (tenant_id, id),
  constraint workers_site_id_fkey foreign key (tenant_id, site_id) references sites (tenant_id, id)
);
create index workers_created_at_id_idx on workers (tenant_id, created_at, id);
create index workers_site_id_idx on workers (tenant_id, site_id) where site_id is not null;
create index workers_status_created_at_id_idx on workers (tenant_id, status, created_at, id);
create index workers_team_id_idx on workers (tenant_id, team_id) where team_id is not null;
create index workers_user_id_idx on workers (tenant_id, user_id) where user_id is not null;
create unique index workers_employee_no_key on workers (tenant_id, employee_no);

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
create index zone_scores_created_at_id_idx on zone_scores (tenant_id, created_at, id);
create unique index zone_scores_zone_id_period_key on zone_scores (tenant_id, zone_id, period);

create table zones (
  tenant_id uuid not null,
  id uuid not null,
  code text not null,
  name text not null,
  site_id uuid,
  parent_id uuid,
  kind text not null,
  x bigint not null,
  y bigint not null,
  z bigint not null,
  max_capacity bigint not null,
  max_weight_kg bigint,
  pick_sequence bigint not null,
  storage_class text not null,
  mix_policy text not null,
  hazard_tags text not null,
  status text not null,
  load_units bigint not null,
  utilization bigint,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by uuid,
  version bigint not null,
  primary key (tenant_id, id),
  constraint zones_site_id_fkey foreign key (tenant_id, site_id) references sites (tenant_id, id),
  constraint zones_parent_id_fkey foreign key (tenant_id, parent_id) references zones (tenant_id, id)
);
create index zones_created_at_id_idx on zones (tenant_id, created_at, id);
create index zones_parent_id_idx on zones (tenant_id, parent_id) where parent_id is not null;
create index zones_site_id_idx on zones (tenant_id, site_id) where site_id is not null;
create index zones_status_created_at_id_idx on zones (tenant_id, status, created_at, id);
create unique index zones_code_key on zones (tenant_id, lower(code));
