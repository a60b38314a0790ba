alter table sites add column nace text;

alter table sites add column nuts text;

alter table workers add column isco text;
