alter table tenants add column import_quota bigint;

alter table tenants add column photo_quota bigint;
