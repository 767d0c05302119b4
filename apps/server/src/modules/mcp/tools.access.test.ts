import { beforeAll, describe, expect, it } from 'vitest';

import { modules } from '#app/modules';
import { newId } from '#core/base/crypto/ids';
import { callTool, send, toolNames } from '#modules/mcp/testing/connections';
import { listTools } from '#modules/mcp/tools';
import { defaultToolsets } from '#modules/mcp/toolsets';
import { appOf, keyOf, trailOf } from '#test/support/directory';
import { createMember, createTenant, logIn, type Tenant } from '#test/support/factories';
import { useService, type Call } from '#test/support/harness';

const test = useService();
const publicTools = ['get_health', 'get_system_info'];
const spaceFlags = { spaces: { read: true, write: true } };
let tenant: Tenant;
let admin: Record<string, string>;

beforeAll(async () => {
  tenant = await createTenant(test);
  admin = headersOf({ token: tenant.admin.token });
});

function headersOf({ token, headers = {} }: Call): Record<string, string> {
  return token === undefined ? headers : { authorization: `Bearer ${token}` };
}

const all = { 'x-mcp-toolsets': 'all' };
const tools = listTools(modules);
const everything = tools.map(({ definition }) => definition.name);
const usual = ['system', 'spaces', 'resources', 'types', 'calendar', 'contacts', 'people'];
const byDefault = tools.filter(({ toolset }) => usual.includes(toolset)).map(({ definition }) => definition.name);

/** A key of the tenant that may write by tools after `allow`. */
async function keyToChange(): Promise<{ headers: Record<string, string>; allow(): Promise<void> }> {
  const { token } = tenant.admin;
  const body = { name: 'Key', permissions: spaceFlags };
  const created = await test.call('POST', '/api/v1/secure/api-keys', { token, body });
  const url = `/api/v1/secure/api-keys/${created.body.data.id}`;
  return {
    headers: { 'x-api-key': created.body.fullKey },
    async allow() {
      const changed = await test.call('PATCH', url, { token, body: { mcp_write_enabled: true } });
      expect(changed).toMatchObject({ status: 200 });
    },
  };
}

describe('tools/list', () => {
  it('shows all tools to an administrator, and at most 30 by default', async () => {
    expect(await toolNames(test, { ...admin, ...all })).toEqual(everything);
    expect(await toolNames(test, admin)).toEqual(byDefault);
    expect(byDefault.length).toBeLessThanOrEqual(30);
  });

  it('is the same each time', async () => {
    expect(await toolNames(test, admin)).toEqual(await toolNames(test, admin));
  });

  it('shows a user the tools that their groups allow', async () => {
    const plain = headersOf(await createMember(test, tenant));
    const names = await toolNames(test, { ...plain, ...all });
    expect(names).toEqual(expect.arrayContaining(['list_spaces', 'create_contact', 'create_event']));
    for (const name of ['create_space', 'list_users', 'list_groups', 'list_audit_logs', 'create_tag'])
      expect(names).not.toContain(name);
    const reader = headersOf(await createMember(test, tenant, { permissions: ['audit_logs.read'] }));
    expect(await toolNames(test, { ...reader, ...all })).toContain('list_audit_logs');
  });

  it('shows a key the reading tools that its flags allow', async () => {
    const key = headersOf(await keyOf(test, tenant, spaceFlags));
    const reading = ['list_spaces', 'get_space', 'list_space_contacts', 'list_space_tags', 'list_space_files'];
    expect(await toolNames(test, { ...key, ...all })).toEqual(
      everything.filter((name) => [...publicTools, ...reading].includes(name)),
    );
    expect(await toolNames(test, headersOf(await keyOf(test, tenant, {})))).toEqual(publicTools);
  });

  it('shows a key the writing tools after writing was enabled', async () => {
    const key = await keyToChange();
    await key.allow();
    const names = await toolNames(test, { ...key.headers, ...all });
    expect(names).toEqual(expect.arrayContaining(['list_spaces', 'create_space', 'update_space', 'tag_space']));
    expect(names).not.toContain('delete_space');
  });

  it('shows an app account the tools that its current flags allow', async () => {
    const app = headersOf(await appOf(test, tenant, spaceFlags));
    const names = await toolNames(test, app);
    expect(names).toEqual(expect.arrayContaining(['list_spaces', 'create_space', 'update_space']));
    expect(names).not.toContain('list_contacts');
  });

  it('shows only public tools without credentials, and to a session before step-up', async () => {
    expect(await toolNames(test, all)).toEqual(publicTools);
    const person = await createMember(test, tenant, { isTenantAdmin: true });
    const account = 'select account_id from users where tenant_id = $1 and id = $2';
    await test.service.services.database.credential(tenant.tenantId).interactive.all({
      kind: 'write',
      text: `insert into two_factor_methods (account_id, method, enabled_at, created_at)
             values ((${account}), 'totp', now(), now())`,
      values: [tenant.tenantId, person.userId],
      prepare: false,
    });
    const pending = headersOf(await logIn(test, person));
    expect(await toolNames(test, { ...pending, ...all })).toEqual(publicTools);
    const refused = await callTool(test, 'list_spaces', {}, pending);
    expect(JSON.parse(refused.content[0].text)).toMatchObject({ details: { code: 'TWO_FACTOR_REQUIRED' } });
  });
});

describe('toolsets', () => {
  it('are chosen by header or in the address, in any order and spelling', async () => {
    const byHeader = await toolNames(test, { ...admin, 'x-mcp-toolsets': 'geo, Spaces' });
    expect(byHeader).toEqual(everything.filter((name) => /space$|spaces$|place/.test(name) && !/tag/.test(name)));
    expect(await toolNames(test, admin, '?toolsets=spaces,geo')).toEqual(byHeader);
    expect(await toolNames(test, admin, '?toolsets=')).toEqual(byDefault);
    expect(await toolNames(test, admin, '?toolsets=all')).toEqual(everything);
  });

  it('400: an unknown toolset, with the list of known ones', async () => {
    for (const toolsets of ['no-such', 'spaces,no-such', '__proto__', 'constructor']) {
      const answer = await send(test, 'tools/list', {}, { ...admin, 'x-mcp-toolsets': toolsets });
      expect(answer).toMatchObject({ status: 400, body: { error: { code: -32_600 } } });
      expect(answer.body.error.message).toContain('calendar');
      expect(answer.body.error.data.details.known).toEqual(expect.arrayContaining(['all', ...defaultToolsets]));
    }
  });

  it('-32602: a tool of a toolset that was not chosen, with the name of the toolset', async () => {
    const answer = await send(test, 'tools/call', { name: 'list_tags', arguments: {} }, admin);
    expect(answer.body.error).toMatchObject({ code: -32_602, message: expect.stringContaining('taxonomy') });
  });
});

describe('a call without access is refused for any arguments', () => {
  const refusal = async (name: string, given: Record<string, unknown>, headers: Record<string, string>) => {
    const result = await callTool(test, name, given, { ...all, ...headers });
    expect(result).toMatchObject({ isError: true });
    expect(result.structuredContent).toBeUndefined();
    return JSON.parse(result.content[0].text);
  };

  it('401 in the result: no credentials', async () => {
    expect(await refusal('list_spaces', { limit: 'x', more: 1 }, {})).toMatchObject({
      error: 'AUTHENTICATION_ERROR',
      statusCode: 401,
    });
  });

  it('403 in the result: without the flag or the permission, like the route', async () => {
    const key = headersOf(await keyOf(test, tenant, spaceFlags));
    expect(await refusal('list_users', {}, key)).toMatchObject({ error: 'AUTHORIZATION_ERROR', statusCode: 403 });
    const plain = headersOf(await createMember(test, tenant));
    const byTool = await refusal('create_space', { name: 'Mine', more: 1 }, plain);
    const byRoute = await test.call('POST', '/api/v1/secure/spaces', { headers: plain, body: { name: 'Mine' } });
    expect({ ...byTool, requestId: 0, timestamp: 0 }).toEqual({ ...byRoute.body, requestId: 0, timestamp: 0 });
  });

  it('403 in the result: a key with the flag before writing is enabled', async () => {
    const key = await keyToChange();
    const name = newId();
    expect(await refusal('create_space', { name }, key.headers)).toMatchObject({
      statusCode: 403,
      details: { code: 'MCP_WRITE_DISABLED' },
    });
    const { body } = await test.call('GET', `/api/v1/secure/spaces?search=${name}`, { token: tenant.admin.token });
    expect(body.data).toEqual([]);
    await key.allow();
    const result = await callTool(test, 'create_space', { name }, key.headers);
    expect(result.structuredContent.data).toMatchObject({ name });
    const [row] = await trailOf(test, tenant.tenantId, result.structuredContent.data.id);
    expect(row).toMatchObject({ action: 'space.created', details: { actor: { type: 'api_key' } } });
  });

  it('is a security event, like the refused request to the route', async () => {
    const plain = await createMember(test, tenant);
    await refusal('create_space', { name: 'Mine' }, headersOf(plain));
    const rows = () =>
      test.service.services.database.platform().all({
        kind: 'read',
        text: `select details from security_events where event_type = 'permission_denied' and user_id = $1`,
        values: [plain.userId],
        prepare: false,
      });
    await expect.poll(rows).toMatchObject([{ details: { operation: 'createSpace' } }]);
  });

  it('401: revoked and wrong credentials, before the message is read', async () => {
    const dead = await createMember(test, tenant);
    await test.call('POST', '/api/v1/public/auth/logout', { token: dead.token });
    for (const headers of [headersOf(dead), { 'x-api-key': 'svc_sk_x' }, { authorization: 'Basic eDp5' }])
      expect((await send(test, 'tools/call', { name: 'get_health' }, headers)).status).toBe(401);
    const both = { ...admin, 'x-api-key': 'svc_sk_x' };
    expect((await send(test, 'tools/list', {}, both)).status).toBe(400);
  });
});
