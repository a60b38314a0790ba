alter table sso_connections add column metadata_tried_at timestamptz;
