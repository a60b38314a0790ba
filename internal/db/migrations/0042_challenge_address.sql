alter table challenges add column address text;
