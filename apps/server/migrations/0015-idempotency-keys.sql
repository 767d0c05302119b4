-- What was answered to a request with an Idempotency-Key, so that it is done once however often it is sent.

create table idempotency_keys (
  tenant_id uuid not null,
  scope text not null,
  fingerprint text not null,
  claim uuid not null,
  state text not null check (state in ('claimed', 'answered', 'unknown', 'too_long')),
  sealed_answer text,
  lease_ends_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  primary key (tenant_id, scope),
  check ((state = 'answered') = (sealed_answer is not null))
);
create index idempotency_keys_by_age on idempotency_keys (tenant_id, expires_at);
comment on column idempotency_keys.scope is 'Keyed hash over who called, the method, the path with its ids and the key.';
comment on column idempotency_keys.fingerprint is 'Keyed hash over query and body, which may hold a password: it compares, and tells nothing.';
comment on column idempotency_keys.claim is 'Of the request that may settle the row; another one once the row has expired and was made anew.';
comment on column idempotency_keys.state is 'claimed: being worked on, or its process died, which is what an ended lease means; unknown: it failed when something may have been done.';
comment on column idempotency_keys.sealed_answer is 'Encrypted, because answers may show a secret for the only time.';

alter table idempotency_keys enable row level security;
alter table idempotency_keys force row level security;
create policy own_tenant on idempotency_keys using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy platform_old on idempotency_keys to atrium_platform using (true);

grant select, insert, update, delete on idempotency_keys to atrium_tenant;
grant select (tenant_id, scope, expires_at), delete on idempotency_keys to atrium_platform;
grant select, delete on idempotency_keys to atrium_purge;
