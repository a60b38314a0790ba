-- Whoever has a session as this is applied is known from where it began, or a flood
-- of strangers would keep everybody out until the next sign-in. IPv6 addresses are
-- known by their network, which this does not tell: they wait for that sign-in.
update users set signed_in_from = (
  select '["' || s.address || '"]' from sessions s
  where s.user_id = users.id and s.address like '%.%' and s.address not like '%:%'
    and (s.aal = 'aal2' or not exists (select 1 from mfa_factors f where f.user_id = users.id and f.status = 'verified'))
  order by s.created_at desc, s.id limit 1)
where signed_in_from is null and exists (select 1 from sessions s where s.user_id = users.id);
