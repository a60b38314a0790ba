alter table import_jobs add column lease_claim bigint;
