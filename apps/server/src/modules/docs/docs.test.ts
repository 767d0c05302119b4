import { describe, expect, it } from 'vitest';

import { expectError, useService } from '#test/support/harness';

const test = useService();

describe('the API description', () => {
  it('openapi.json names every route with its errors and who may call it', async () => {
    const answer = await test.call('GET', '/openapi.json');
    expect(answer.status).toBe(200);
    expect(answer.body.openapi).toBe('3.1.0');
    const operation = answer.body.paths['/api/v1/secure/contacts/{id}'].get;
    expect(operation.operationId).toBe('getContact');
    expect(operation.description).toBe('Who may call: member of the tenant.');
    expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['200', '400', '401', '404']));
    expect(answer.body.components.schemas.Contact.additionalProperties).toBe(false);
  });

  it('the reference page loads scripts only from this service', async () => {
    const page = await test.call('GET', '/docs');
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.headers['content-security-policy']).toContain("script-src 'self'");
    const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
    expect(links).toHaveLength(3);
    for (const link of links) expect((await test.call('GET', link)).status).toBe(200);
  });

  it.each(['package.json', '..%2fpackage.json', '__proto__', 'constructor', 'index.html'])('404: %s', async (asset) => {
    expectError(await test.call('GET', `/docs/${asset}`), 404, 'NOT_FOUND');
  });
});
