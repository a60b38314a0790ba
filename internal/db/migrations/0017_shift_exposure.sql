-- The hours of one person, zone or machine are read from the index alone:
-- without them in it SQLite went through everybody's shifts of the window.
drop index shifts_worker_id_ended_at_idx;
create index shifts_worker_id_ended_at_hours_units_done_idx on shifts (tenant_id, worker_id, ended_at, hours, units_done);
drop index shifts_zone_id_ended_at_idx;
create index shifts_zone_id_ended_at_hours_units_done_idx on shifts (tenant_id, zone_id, ended_at, hours, units_done);
drop index shifts_equipment_id_ended_at_idx;
create index shifts_equipment_id_ended_at_hours_units_done_idx on shifts (tenant_id, equipment_id, ended_at, hours, units_done);
