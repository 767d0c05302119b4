import type { Names } from './names.ts';

/** A migration that creates the table of one kind of record. */
export const migration = ({ snakes, words }: Names) => `-- Records of the kind "${words}".

create table ${snakes} (
  tenant_id uuid not null,
  id uuid not null,
  name text not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
comment on table ${snakes} is 'Records of the kind "${words}".';

grant select, insert, update, delete on ${snakes} to atrium_tenant;

select app_protect_tenant_tables('${snakes}');
`;
