-- Workers of the version before do not know these columns. What they write during a rolling restart must not count in other tenants.

alter table sessions alter column assurance_account_wide set default false;
alter table two_factor_codes alter column account_wide set default false;

-- Their step-up raises `assurance` alone, so the other column must say false before. It has no meaning at assurance 1.
set local role atrium_credential;
update sessions set assurance_account_wide = false where assurance = 1 and assurance_account_wide and ended_at is null;
reset role;
