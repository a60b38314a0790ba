-- What was answered to requests that carry an Idempotency-Key, for a day.
-- id is a digest of caller, method, path and key; print one of the request.
create table idempotency_keys (
  tenant_id uuid not null,
  id text not null,
  print text not null,
  claim text not null,
  claimed_until timestamptz not null,
  made_at timestamptz not null,
  status bigint,
  head text,
  body text,
  primary key (tenant_id, id)
);

create index idempotency_keys_made_idx on idempotency_keys (made_at);
