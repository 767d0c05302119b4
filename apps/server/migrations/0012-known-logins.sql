-- From where people have logged in before, so that they are told of a login from anywhere else.

create table known_logins (
  account_id uuid not null,
  origin text not null,
  first_seen_at timestamptz(3) not null,
  last_seen_at timestamptz(3) not null,
  primary key (account_id, origin)
);
create index known_logins_old on known_logins (last_seen_at);
comment on table known_logins is 'Of the account, whichever tenant it entered: what is new to one of them alone is no news, and what is new is in all.';
comment on column known_logins.origin is 'Keyed hash of the kind of browser and the network: it recognises, and tells nothing.';

alter table known_logins enable row level security;
alter table known_logins force row level security;
create policy credential on known_logins to atrium_credential using (true) with check (true);

grant select, insert, update, delete on known_logins to atrium_credential;
