/** The floor: node:http and the stock `pg` driver, nothing else. Started by the bench with the connection as argument. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import pg from 'pg';

const columns = `tenant_id, id, first_name, middle_name, last_name, email, phone, url, address, notes, created_at, updated_at, created_by, updated_by`;
const statements = {
  read: `select ${columns} from contacts where tenant_id = $1 and id = $2`,
  list: `select ${columns} from contacts where tenant_id = $1 order by id desc limit 50`,
  create: `insert into bench_contacts (${columns}) values ($1, uuidv7(), $2, $3, $4, $5, $6, $7, $8, $9, now(), now(), $10, $10) returning ${columns}`,
} as const;

const { connection, tenantId, userId } = JSON.parse(process.argv[2]!) as {
  connection: pg.PoolConfig;
  tenantId: string;
  userId: string;
};
const pool = new pg.Pool(connection);

const query = (name: keyof typeof statements, values: unknown[]) =>
  pool.query<Record<string, unknown>>({ name, text: statements[name], values });

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = request.url!;
  if (request.method === 'POST') {
    const body = JSON.parse(await readBody(request)) as Record<string, unknown>;
    const names = ['firstName', 'middleName', 'lastName', 'email', 'phone', 'url', 'address', 'notes'];
    const { rows } = await query('create', [tenantId, ...names.map((name) => body[name] ?? null), userId]);
    return send(response, 201, { data: rows[0] });
  }
  if (url.startsWith('/contacts/')) {
    const { rows } = await query('read', [tenantId, url.slice(10)]);
    return send(response, rows.length === 0 ? 404 : 200, { data: rows[0] });
  }
  const { rows } = await query('list', [tenantId]);
  return send(response, 200, { data: rows });
}

function send(response: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    .end(body);
}

function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => (text += chunk));
    request.on('end', () => resolve(text));
    request.on('error', reject);
  });
}

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    process.stderr.write(`floor: ${String(error)}\n`);
    response.writeHead(500, { 'content-length': 0 }).end();
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`);
});
