-- An action that comes from an incident is one of that incident, which does not
-- close before it.
update actions set incident_id = source_id where source = 'incident' and incident_id is null
  and exists (select 1 from incidents i where i.tenant_id = actions.tenant_id and i.id = actions.source_id);
