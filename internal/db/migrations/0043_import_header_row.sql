-- The line that a file's header begins on; 0 = it has none.
alter table import_jobs add column header_row bigint;
