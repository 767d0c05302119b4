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

/** Statements of a table that the operations of its module write. */
export const tableQueries = ({
  snakes,
  pascal,
}: Names) => `import { queryBuilder, read, write } from '#core/data/db/query';

export type ${pascal}Row = { tenant_id: string; id: string; name: string; created_at: string; updated_at: string };

const builder = queryBuilder<{ ${snakes}: ${pascal}Row }>();

const columns = ['tenant_id', 'id', 'name', 'created_at', 'updated_at'] as const;

export const find${pascal} = read<{ tenantId: string; id: string }, ${pascal}Row>((p) =>
  builder.selectFrom('${snakes}').select(columns).where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

export const insert${pascal} = write<${pascal}Row, ${pascal}Row>((p) => {
  const row = Object.fromEntries(columns.map((name) => [name, p[name]])) as ${pascal}Row;
  return builder.insertInto('${snakes}').values(row).returning(columns);
});
`;
