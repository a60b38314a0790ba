-- A row is sealed seconds after it was written: until then its place in the
-- chain is no business of the index, and no cost of the request.
drop index audit_seal_no_idx;

create index audit_seal_no_idx on audit (tenant_id, seal_no) where seal_no is not null;
