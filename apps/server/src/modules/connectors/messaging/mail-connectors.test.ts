import { beforeAll, describe, expect, it } from 'vitest';

import { minimal, path } from '#modules/connectors/testing/connectors';
import { createTenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
let token: string;

beforeAll(async () => {
  token = (await createTenant(test)).admin.token;
});

const smtp = {
  category: 'communication',
  api_base_url: 'smtp://mail.example.com:587',
  config: { adapter: 'smtp', from: 'Atrium <no-reply@atrium.example>' },
  auth_config: { user: 'atrium', password: 'canary' },
};
const create = (body: Record<string, unknown>) =>
  test.call('POST', path, { token, body: { ...minimal(), ...smtp, ...body } });

describe('createConnector for mail', () => {
  it.each([
    'smtp://mail.example.com',
    'smtp://mail.example.com:25',
    'smtp://mail.example.com:587/',
    'smtps://mail.example.com',
    'smtps://mail.example.com:465',
    'SMTPS://mail.example.com:2525',
    'smtp://93.184.216.34:587',
    'smtp://[2606:4700:4700::1111]:587',
  ])('201: %s', async (api_base_url) => {
    expect((await create({ api_base_url })).status).toBe(201);
  });

  it('201: its api_key names the adapter', async () => {
    const other = (await createTenant(test)).admin.token;
    const body = { ...minimal(), ...smtp, api_key: 'smtp', config: { from: 'no-reply@atrium.example' } };
    expect((await test.call('POST', path, { token: other, body })).status).toBe(201);
  });

  it.each([
    'smtp://user@mail.example.com:587',
    'smtp://user:password@mail.example.com',
    'smtp://mail.example.com/#part',
    'smtp://',
    'smtpx://mail.example.com',
    'lmtp://mail.example.com:24',
  ])('400: %s', async (api_base_url) => {
    expectError(await create({ api_base_url }), 400, 'VALIDATION_ERROR');
  });

  it.each([
    'smtp://127.0.0.1:587',
    'smtp://2130706433:587',
    'smtp://0x7f.1:25',
    'smtp://127%2e0%2e0%2e1:25',
    'smtp://①②⑦.⓪.⓪.①:25',
    'smtp://[::1]:587',
    'smtps://[::ffff:10.0.0.1]',
    'smtps://[64:ff9b::7f00:1]',
    'smtp://169.254.169.254:25',
    'smtp://mail.example.com:22',
    'smtp://mail.example.com:80',
    'smtp://mail.example.com:5432',
    'smtp://mail.example.com:6379',
    'smtp://mail.example.com/path',
    'smtp://mail.example.com?pool=true',
    'http://mail.example.com:25',
    'https://mail.example.com:2525',
  ])('422: %s is not an allowed address', async (api_base_url) => {
    expectError(await create({ api_base_url }), 422, 'UNPROCESSABLE_ENTITY', 'ADDRESS_NOT_ALLOWED');
  });

  it.each<[string, Record<string, unknown>]>([
    ['api_base_url', { api_base_url: 'https://mail.example.com' }],
    ['api_base_url', { config: { adapter: 'webhook' } }],
    ['api_base_url', { category: 'app_service', config: {} }],
    ['config.from', { config: { adapter: 'smtp', from: null } }],
    ['config.from', { config: { adapter: 'smtp', from: 'invalid' } }],
    ['config.from', { config: { adapter: 'smtp', from: 'a@example.com, b@example.com' } }],
    ['config.from', { config: { adapter: 'smtp', from: 'Atrium <a@example.com>\r\nBcc: b@example.com' } }],
    ['config.channels', { config: { ...smtp.config, channels: ['sms'] } }],
    ['auth_config.user', { auth_config: { user: '' } }],
    ['auth_config.password', { auth_config: { password: 5 } }],
    ['auth_config.password', { auth_config: { user: 'atrium', password: 'canary\r\nRCPT TO:<a@example.com>' } }],
  ])('422: %s in %j', async (problem, body) => {
    const answer = await create(body);
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'INVALID_CONFIG');
    expect(answer.body.details.problem).toContain(problem);
    expect(answer.text).not.toContain('canary');
  });
});

describe('updateConnector for mail', () => {
  it.each([
    ['another host', 'smtp://other.example.com:587'],
    ['another port', 'smtp://mail.example.com:25'],
    ['another scheme', 'smtps://mail.example.com:587'],
  ])('422: %s without the credentials', async (_what, api_base_url) => {
    const { id } = (await create({})).body.data;
    const moved = await test.call('PATCH', `${path}/${id}`, { token, body: { api_base_url } });
    expectError(moved, 422, 'UNPROCESSABLE_ENTITY', 'CREDENTIALS_REQUIRED');
  });

  it('422: another category, which has no adapter for mail servers', async () => {
    const { id } = (await create({})).body.data;
    const body = { category: 'app_service', config: {} };
    const answer = await test.call('PATCH', `${path}/${id}`, { token, body });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'INVALID_CONFIG');
  });

  it('200: a new address together with the credentials', async () => {
    const { id } = (await create({})).body.data;
    const body = { api_base_url: 'smtps://other.example.com', auth_config: { user: 'a', password: 'b' } };
    expect((await test.call('PATCH', `${path}/${id}`, { token, body })).status).toBe(200);
  });
});
