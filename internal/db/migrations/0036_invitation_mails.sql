-- Mails of invitations on their way. What waited for one when this was made has
-- been mailed, or was lost with the process that was to do it.
create table invitation_mails (
  tenant_id uuid not null,
  invitation_id uuid not null,
  status text not null,
  tries bigint not null,
  made_at timestamptz not null,
  next_at timestamptz not null,
  primary key (tenant_id, invitation_id)
);

create index invitation_mails_status_next_at_idx on invitation_mails (status, next_at);

create index invitation_mails_made_at_idx on invitation_mails (tenant_id, made_at);
