alter table sso_connections add column resource_id text;

alter table sso_connections add column authorization_params text not null default '{}';
