alter table risk_clusters add column about text;
update risk_clusters set about = 'places' where entity_type in ('zone', 'equipment');
