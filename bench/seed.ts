import pg from 'pg';

import type { Atrium } from './processes/start.ts';

export type Person = { email: string; password: string };

export type Seed = { tenantId: string; userId: string; token: string; contactIds: string[]; people: Person[] };

export const contactCount = 10_000;
type Served = Pick<Atrium, 'base'>;

const readIds = 500;
const peopleAtOnce = 8;

/** A tenant with 10,000 contacts, ids to read spread over all of them, and people of further tenants who log in. */
export async function seed(atrium: Atrium, peopleCount: number): Promise<Seed> {
  const people = Array.from({ length: peopleCount }, (_, at) => ({
    email: `person-${at}@bench.example`,
    password: `correct horse ${at}`,
  }));
  const [first, ...others] = people;
  const registered = await register(atrium, first!);
  for (let at = 0; at < others.length; at += peopleAtOnce) {
    await Promise.all(others.slice(at, at + peopleAtOnce).map((person) => register(atrium, person)));
  }
  const { tenantId, id: userId } = registered.user;
  const contactIds = await insertContacts(atrium, tenantId, userId);
  // The reader logs in once and never again: a person's oldest sessions end when there are too many.
  return { tenantId, userId, contactIds, people: others, token: await logIn(atrium, first!) };
}

/** Registers a person with a tenant of their own at any process of the service, and logs them in. */
export async function enter(base: string, person: Person): Promise<{ tenantId: string; token: string }> {
  const { user } = await register({ base }, person);
  return { tenantId: user.tenantId, token: await logIn({ base }, person) };
}

export async function logIn(atrium: Served, person: Person): Promise<string> {
  const { accessToken } = await post<{ accessToken: string }>(atrium, 'login', person);
  return accessToken;
}

function register(atrium: Served, { email, password }: Person) {
  const name = email.slice(0, email.indexOf('@'));
  return post<{ user: { id: string; tenantId: string } }>(atrium, 'register', {
    email,
    password,
    tenantName: name,
    tenantDomain: name,
  });
}

async function insertContacts(atrium: Atrium, tenantId: string, userId: string): Promise<string[]> {
  const client = new pg.Client(atrium.connection);
  await client.connect();
  try {
    // Ids a second apart, as if the contacts had come in over three hours.
    await client.query(
      `insert into contacts (tenant_id, id, first_name, last_name, email, phone, address, notes,
                             created_at, updated_at, created_by, updated_by)
       select $1, uuidv7(make_interval(secs => n - $3)), 'First ' || n, 'Last ' || n % 997, 'contact-' || n || '@example.com',
              '+49 30 ' || 1000000 + n, jsonb_build_object('street', 'Main Street ' || n, 'city', 'Berlin', 'country_code', 'DE'),
              'Met at the fair, wants to hear from us again.', now(), now(), $2, $2
         from generate_series(1, $3::int) n`,
      [tenantId, userId, contactCount],
    );
    await client.query(`insert into row_counts (tenant_id, table_name, slot, amount) values ($1, 'contacts', 0, $2)`, [
      tenantId,
      contactCount,
    ]);
    await client.query('create table bench_contacts (like contacts including all)');
    await client.query('vacuum analyze contacts');
    const { rows } = await client.query<{ id: string }>(
      'select id from contacts where tenant_id = $1 order by random() limit $2',
      [tenantId, readIds],
    );
    return rows.map((row) => row.id);
  } finally {
    await client.end();
  }
}

async function post<Answer>(atrium: Served, operation: string, body: unknown): Promise<Answer> {
  const response = await fetch(`${atrium.base}/api/v1/public/auth/${operation}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${operation} answered ${response.status}: ${text}`);
  return JSON.parse(text) as Answer;
}
