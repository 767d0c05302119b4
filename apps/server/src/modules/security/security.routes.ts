import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute } from '#core/http/route';
import { createIpRule, deleteIpRule, getIpRule, listIpRules, updateIpRule } from '#modules/security/ip-rules.service';
import { getSecurityConfig, updateSecurityConfig } from '#modules/security/security-config.service';
import { IpRuleNotFound, RangeTaken, RuleExpiresInThePast, SelfLockout } from '#modules/security/security.errors';
import * as schemas from '#modules/security/security.schemas';

const base = '/api/v1/system/security';
const rules = `${base}/ip-rules` as const;

export const securityRoutes = [
  defineRoute({
    method: 'GET',
    path: `${base}/config`,
    operationId: 'getSecurityConfig',
    summary: 'Get the security configuration',
    access: access.systemAdmin(),
    schema: { response: { 200: schemas.SecurityConfigAnswer } },
    handler: ({ services }) => getSecurityConfig(services),
  }),
  defineRoute({
    method: 'PATCH',
    path: `${base}/config`,
    operationId: 'updateSecurityConfig',
    summary: 'Update the security configuration; the change applies to all processes at once',
    access: access.systemAdmin(),
    schema: {
      query: schemas.ForceQuery,
      body: schemas.UpdateSecurityConfigBody,
      response: { 200: schemas.SecurityConfigAnswer },
    },
    errors: [SelfLockout],
    audit: 'security_config.updated',
    handler: ({ actor, body, query, services }) =>
      updateSecurityConfig({ services, actor, force: query.force ?? false }, body),
  }),
  defineRoute({
    method: 'GET',
    path: rules,
    operationId: 'listIpRules',
    summary: 'List address rules, newest first',
    access: access.systemAdmin(),
    schema: { query: schemas.ListIpRulesQuery, response: { 200: schemas.IpRulePage } },
    handler: ({ query, services, setHeader }) => listIpRules({ services, setHeader }, query),
  }),
  defineRoute({
    method: 'POST',
    path: rules,
    operationId: 'createIpRule',
    summary: 'Create a rule that allows or blocks an address or a range',
    access: access.systemAdmin(),
    schema: { query: schemas.ForceQuery, body: schemas.CreateIpRuleBody, response: { 201: schemas.IpRuleAnswer } },
    errors: [RuleExpiresInThePast, RangeTaken, SelfLockout],
    audit: 'ip_rule.created',
    handler: ({ actor, body, query, services }) => createIpRule({ services, actor, force: query.force ?? false }, body),
  }),
  defineRoute({
    method: 'GET',
    path: `${rules}/{id}`,
    operationId: 'getIpRule',
    summary: 'Get an address rule',
    access: access.systemAdmin(),
    schema: { params: IdParams, response: { 200: schemas.IpRuleAnswer } },
    errors: [IpRuleNotFound],
    handler: ({ params, services }) => getIpRule(services, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: `${rules}/{id}`,
    operationId: 'updateIpRule',
    summary: 'Update the action, reason or expiry of an address rule',
    access: access.systemAdmin(),
    schema: {
      params: IdParams,
      query: schemas.ForceQuery,
      body: schemas.UpdateIpRuleBody,
      response: { 200: schemas.IpRuleAnswer },
    },
    errors: [IpRuleNotFound, SelfLockout],
    audit: 'ip_rule.updated',
    handler: ({ actor, body, params, query, services }) =>
      updateIpRule({ services, actor, force: query.force ?? false }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${rules}/{id}`,
    operationId: 'deleteIpRule',
    summary: 'Delete an address rule',
    access: access.systemAdmin(),
    schema: { params: IdParams, query: schemas.ForceQuery, response: { 204: null } },
    errors: [IpRuleNotFound, SelfLockout],
    audit: 'ip_rule.deleted',
    handler: ({ actor, params, query, services }) =>
      deleteIpRule({ services, actor, force: query.force ?? false }, params.id),
  }),
];
