-- Rows that are there before anything is done: the places of numbers given out.

insert into outbox_head values (1, 0);
insert into notices_head values (1, 0);
