import { describe, expect, it } from 'vitest';

import { readOrdinaryCall } from '#modules/mcp/ordinary-calls';
import { envelope } from '#modules/mcp/testing/connections';

const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'get_space' };
const params = { name: 'get_space', arguments: { id: 'x' }, _meta: envelope };
const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };

describe('readOrdinaryCall', () => {
  it('reads a tool call of both revisions', () => {
    const call = { id: 1, name: 'get_space', given: { id: 'x' } };
    const clientInfo = envelope['io.modelcontextprotocol/clientInfo'];
    expect(readOrdinaryCall(message, headers)).toEqual({ ...call, isModern: true, clientInfo });
    const old = { ...message, params: { name: 'get_space', arguments: { id: 'x' }, _meta: { progressToken: 5 } } };
    const read = { ...call, isModern: false, clientInfo: undefined };
    expect(readOrdinaryCall(old, {})).toEqual(read);
    expect(readOrdinaryCall(old, { 'mcp-protocol-version': '2025-11-25' })).toEqual(read);
    expect(readOrdinaryCall({ ...message, params: { name: 'get_space' } }, {})).toEqual({ ...read, given: {} });
  });

  const meta = (more: object) => ({ ...message, params: { ...params, _meta: { ...envelope, ...more } } });

  it.each([
    ['another method', { ...message, method: 'tools/list' }],
    ['no id', { jsonrpc: '2.0', method: 'tools/call', params }],
    ['an invalid id', { ...message, id: 1.5 }],
    ['an additional field in the message', { ...message, more: 1 }],
    ['an additional field in the parameters', { ...message, params: { ...params, requestState: 'x' } }],
    ['arguments that are a list', { ...message, params: { ...params, arguments: [] } }],
    ['an invalid name', { ...message, params: { ...params, name: 5 } }],
    ['an additional field in the envelope', meta({ 'com.example/more': 1 })],
    ['another revision in the envelope', meta({ 'io.modelcontextprotocol/protocolVersion': '2099-01-01' })],
    ['invalid capabilities', meta({ 'io.modelcontextprotocol/clientCapabilities': { sampling: 1 } })],
    ['an invalid client', meta({ 'io.modelcontextprotocol/clientInfo': { name: 'x' } })],
    [
      'a client with more fields',
      meta({ 'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1', icons: 5 } }),
    ],
    [
      'capabilities with more fields',
      meta({ 'io.modelcontextprotocol/clientCapabilities': { roots: { listChanged: 5 } } }),
    ],
    ['an invalid token', meta({ progressToken: {} })],
  ])('leaves to the SDK: %s', (_what, doubtful) => {
    expect(readOrdinaryCall(doubtful, headers)).toBeUndefined();
  });

  it.each(Object.keys(headers))('leaves to the SDK: a different or missing %s', (name) => {
    expect(readOrdinaryCall(message, { ...headers, [name]: 'other' })).toBeUndefined();
    expect(readOrdinaryCall(message, { ...headers, [name]: undefined })).toBeUndefined();
  });

  it('leaves to the SDK: an older message with more fields', () => {
    const said = { 'io.modelcontextprotocol/related-task': 5 };
    expect(readOrdinaryCall({ ...message, params: { name: 'get_space', _meta: said } }, {})).toBeUndefined();
  });

  it('leaves to the SDK: an older message with an unknown revision', () => {
    const old = { ...message, params: { name: 'get_space' } };
    expect(readOrdinaryCall(old, { 'mcp-protocol-version': '1999-01-01' })).toBeUndefined();
    expect(readOrdinaryCall(old, { 'mcp-protocol-version': '2026-07-28' })).toBeUndefined();
  });
});
