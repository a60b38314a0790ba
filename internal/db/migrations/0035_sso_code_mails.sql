-- How many codes were mailed to the postmaster of a domain, or for a tenant,
-- since when: beside sso_domains, whose rows whoever claims a domain removes.
create table sso_code_mails (
  counted_for text not null,
  sent bigint not null,
  since timestamptz not null,
  sent_at timestamptz not null,
  primary key (counted_for)
);

create index sso_code_mails_sent_idx on sso_code_mails (sent_at);
