-- Which tenant can read the codes of a second factor, and what such a code makes a session worth in other tenants.

alter table two_factor_methods add column enrolled_in uuid;
comment on column two_factor_methods.enrolled_in is 'The tenant in which a delivered factor was set up: only its connectors, and those of the installation, deliver its codes. Null: only those of the installation.';
alter table two_factor_codes add column account_wide boolean not null default true;
comment on column two_factor_codes.account_wide is 'False where a connector of the tenant could read the code: it proves nothing beyond that tenant.';
alter table sessions add column assurance_account_wide boolean not null default true;
comment on column sessions.assurance_account_wide is 'False where a connector of the tenant delivered the code behind assurance 2: it does not count in other tenants.';

alter table one_time_tokens drop constraint one_time_tokens_purpose_check;
alter table one_time_tokens add constraint one_time_tokens_purpose_check check (purpose in ('password_reset', 'tenant_selection', 'invitation', 'email_verification', 'provider_login', 'account_disowning'));

-- The tables force their policies on their owner, so the rows are changed in the role that sees them.
set local role atrium_credential;
-- Where the account is in one tenant only, that tenant alone decides about its factors anyway.
update two_factor_methods
   set enrolled_in = (select min(m.tenant_id::text)::uuid from memberships m
                       where m.account_id = two_factor_methods.account_id having count(*) = 1)
 where method in ('sms', 'chatapp');
update two_factor_codes set account_wide = false where method in ('sms', 'chatapp');
update sessions set assurance_account_wide = false
 where assurance = 2 and ended_at is null
   and account_id in (select account_id from two_factor_methods where method in ('sms', 'chatapp') and enabled_at is not null);
reset role;

-- An account that its address's owner disowns leaves its tenants, with the credentials that it handed out there.

grant update (deleted_at, updated_at) on api_keys to atrium_credential;
grant delete on api_key_directory to atrium_credential;
