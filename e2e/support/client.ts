import { randomBytes } from 'node:crypto';

export type Answer = { status: number; headers: Headers; body: any };

/** A person talking to the service; knows nothing but HTTP. */
export class Client {
  readonly base: string;
  accessToken: string | undefined;
  refreshToken: string | undefined;
  tenantId: string | undefined;

  constructor(base: string) {
    this.base = base;
  }

  async call(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<Answer> {
    const headers = new Headers(more);
    if (this.accessToken !== undefined) headers.set('authorization', `Bearer ${this.accessToken}`);
    if (body !== undefined) headers.set('content-type', 'application/json');
    const response = await fetch(`${this.base}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  }

  get(path: string): Promise<Answer> {
    return this.call('GET', path);
  }

  post(path: string, body?: unknown): Promise<Answer> {
    return this.call('POST', path, body);
  }

  async logIn(email: string, password: string): Promise<Answer> {
    const answer = await this.post('/api/v1/public/auth/login', { email, password });
    this.take(answer.body);
    return answer;
  }

  take(tokens: { accessToken?: string; refreshToken?: string; user?: { tenantId: string } }): void {
    this.accessToken = tokens.accessToken;
    this.refreshToken = tokens.refreshToken;
    this.tenantId = tokens.user?.tenantId ?? this.tenantId;
  }

  async createContact(firstName: string): Promise<string> {
    const answer = await this.post('/api/v1/secure/contacts', { firstName });
    if (answer.status !== 201) throw new Error(`createContact answered ${answer.status}`);
    return answer.body.data.id as string;
  }

  /** Every row of a list, page by page. */
  async all(path: string): Promise<any[]> {
    const rows: any[] = [];
    for (;;) {
      const separator = path.includes('?') ? '&' : '?';
      const { status, body } = await this.get(`${path}${separator}limit=200&offset=${rows.length}`);
      if (status !== 200) throw new Error(`${path} answered ${status}`);
      rows.push(...body.data);
      if (!body.pagination.hasMore) return rows;
    }
  }
}

export const password = 'a rather long password';

/** A new tenant with its administrator, logged in. */
export async function newTenant(base: string): Promise<{ client: Client; email: string }> {
  const client = new Client(base);
  const name = `e2e-${randomBytes(6).toString('hex')}`;
  const email = `${name}@example.com`;
  const registered = await client.post('/api/v1/public/auth/register', {
    email,
    password,
    tenantName: name,
    tenantDomain: name,
  });
  if (registered.status !== 201) throw new Error(`register answered ${registered.status}`);
  const loggedIn = await client.logIn(email, password);
  if (loggedIn.status !== 200) throw new Error(`login answered ${loggedIn.status}`);
  return { client, email };
}
