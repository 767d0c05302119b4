-- What searches read of a tenant, side by side: its rows lie on as many pages of the table as there are rows.

create index contacts_texts on contacts (tenant_id, id) include (search_text) where octet_length(search_text) <= 1000;
create index contacts_long_texts on contacts (tenant_id, id) where octet_length(search_text) > 1000;
create index spaces_texts on spaces (tenant_id, id) include (search_text) where octet_length(search_text) <= 1000;
create index spaces_long_texts on spaces (tenant_id, id) where octet_length(search_text) > 1000;
create index resources_texts on resources (tenant_id, id) include (search_text) where octet_length(search_text) <= 1000;
create index resources_long_texts on resources (tenant_id, id) where octet_length(search_text) > 1000;
comment on index contacts_texts is 'Bounded, because an entry of an index has room for 2,704 bytes; longer texts are found by contacts_long_texts and read from the table.';

-- The plan of a search does not depend on its words, and making it takes longer than running it. Local to the transaction, and
-- a function for the reason that app_tenant is one.
create function app_one_plan() returns void language plpgsql as $$
begin
  set local plan_cache_mode = force_generic_plan;
end $$;
