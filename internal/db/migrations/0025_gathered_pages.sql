-- What a mail about critical incidents tells of, so that more can come to it
-- before it goes out.
alter table safety_mails add column about text;
