-- Which import jobs keep a file: for quotas, retention and the sweep.
create index import_jobs_blob_key_idx on import_jobs (tenant_id, blob_key);
