-- Each tenant names its app accounts by itself: an address that another tenant, or a person, has is none of its business.
-- The statements of a worker of the version before still work, so that a rolling restart refuses no login.
alter table app_account_directory drop constraint app_account_directory_pkey;
alter table app_account_directory add constraint app_account_directory_pkey primary key (tenant_id, email);
comment on table app_account_directory is 'Directory: which app account of the tenant logs in with an address. Keeps the addresses of app accounts unique within a tenant.';
drop index app_account_directory_by_tenant;

alter table known_logins add column proven_at timestamptz(3);
comment on column known_logins.proven_at is 'When the password, or a provider of the installation, last proved the account from there. Null where another session or the provider of one tenant led there: that gives no budget of failed logins.';
