-- Forms of the console stored a list that was left empty as a list with one
-- element, the text "[]" (and one that was filled in, with that text before what
-- was filled in). Only lists of free texts took it; others were refused. An
-- unescaped quote beside a bracket or a comma begins or ends an element, so the
-- replacements below change no other element.

update checklist_templates
set kinds = replace(replace(replace(kinds, ',"[]"', ''), '["[]",', '['), '["[]"]', '[]'), version = version + 1
where kinds like '%"[]"%';

update orders
set tags = replace(replace(replace(tags, ',"[]"', ''), '["[]",', '['), '["[]"]', '[]'), version = version + 1
where tags like '%"[]"%';

update shipments
set sscc = replace(replace(replace(sscc, ',"[]"', ''), '["[]",', '['), '["[]"]', '[]'), version = version + 1
where sscc like '%"[]"%';

update tenants
set email_domains = replace(replace(replace(email_domains, ',"[]"', ''), '["[]",', '['), '["[]"]', '[]'), version = version + 1
where email_domains like '%"[]"%';

update courses
set categories = replace(replace(replace(categories, ',"[]"', ''), '["[]",', '['), '["[]"]', '[]'), version = version + 1
where categories like '%"[]"%';

update courses
set required_for = replace(replace(replace(required_for, ',"[]"', ''), '["[]",', '['), '["[]"]', '[]'), version = version + 1
where required_for like '%"[]"%';

update carriers
set services = replace(replace(replace(services, ',"[]"', ''), '["[]",', '['), '["[]"]', '[]'), version = version + 1
where services like '%"[]"%';

update zones
set hazard_tags = replace(replace(replace(hazard_tags, ',"[]"', ''), '["[]",', '['), '["[]"]', '[]'), version = version + 1
where hazard_tags like '%"[]"%';
