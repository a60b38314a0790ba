-- A run scores entities of one type: its key needs no type, and takes in rows faster without it.
drop index predictive_scores_run_id_entity_type_entity_id_key;

create unique index predictive_scores_run_id_entity_id_key on predictive_scores (tenant_id, run_id, entity_id);
