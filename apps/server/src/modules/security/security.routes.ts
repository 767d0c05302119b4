import { access } from '#core/access/access';
import { defineRoute } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
import { createIpRule, deleteIpRule, getIpRule, listIpRules, updateIpRule } from '#modules/security/ip-rules.service';
import { getSecurityConfig, updateSecurityConfig } from '#modules/security/security-config.service';
import { IpRuleNotFound, RangeTaken, RuleExpiresInThePast, WouldLockOut } from '#modules/security/security.errors';
import * as schemas from '#modules/security/security.schemas';

const base = '/api/v1/system/security';
const rules = `${base}/ip-rules` as const;

export const securityRoutes = [
  defineRoute({
    method: 'GET',
    path: `${base}/config`,
    operationId: 'getSecurityConfig',
    summary: 'The security configuration of the installation',
    access: access.systemAdmin(),
    schema: { response: { 200: schemas.SecurityConfigAnswer } },
    handler: ({ services }) => getSecurityConfig(services),
  }),
  defineRoute({
    method: 'PATCH',
    path: `${base}/config`,
    operationId: 'updateSecurityConfig',
    summary: 'Change the security configuration, in force in all processes at once',
    access: access.systemAdmin(),
    schema: {
      query: schemas.ForceQuery,
      body: schemas.UpdateSecurityConfigBody,
      response: { 200: schemas.SecurityConfigAnswer },
    },
    errors: [WouldLockOut],
    audit: 'security_config.updated',
    handler: ({ actor, body, query, services }) =>
      updateSecurityConfig({ services, actor, force: query.force ?? false }, body),
  }),
  defineRoute({
    method: 'GET',
    path: rules,
    operationId: 'listIpRules',
    summary: 'Allowed and blocked addresses, the newest first',
    access: access.systemAdmin(),
    schema: { query: schemas.ListIpRulesQuery, response: { 200: schemas.IpRulePage } },
    handler: ({ query, services, setHeader }) => listIpRules({ services, setHeader }, query),
  }),
  defineRoute({
    method: 'POST',
    path: rules,
    operationId: 'createIpRule',
    summary: 'Allow or block an address or a range; what is allowed is never blocked',
    access: access.systemAdmin(),
    schema: { query: schemas.ForceQuery, body: schemas.CreateIpRuleBody, response: { 201: schemas.IpRuleAnswer } },
    errors: [RuleExpiresInThePast, RangeTaken, WouldLockOut],
    audit: 'ip_rule.created',
    handler: ({ actor, body, query, services }) => createIpRule({ services, actor, force: query.force ?? false }, body),
  }),
  defineRoute({
    method: 'GET',
    path: `${rules}/{id}`,
    operationId: 'getIpRule',
    summary: 'One rule',
    access: access.systemAdmin(),
    schema: { params: IdParams, response: { 200: schemas.IpRuleAnswer } },
    errors: [IpRuleNotFound],
    handler: ({ params, services }) => getIpRule(services, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: `${rules}/{id}`,
    operationId: 'updateIpRule',
    summary: 'Change what a rule says, or until when',
    access: access.systemAdmin(),
    schema: {
      params: IdParams,
      query: schemas.ForceQuery,
      body: schemas.UpdateIpRuleBody,
      response: { 200: schemas.IpRuleAnswer },
    },
    errors: [IpRuleNotFound, WouldLockOut],
    audit: 'ip_rule.updated',
    handler: ({ actor, body, params, query, services }) =>
      updateIpRule({ services, actor, force: query.force ?? false }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${rules}/{id}`,
    operationId: 'deleteIpRule',
    summary: 'Delete a rule',
    access: access.systemAdmin(),
    schema: { params: IdParams, query: schemas.ForceQuery, response: { 204: null } },
    errors: [IpRuleNotFound, WouldLockOut],
    audit: 'ip_rule.deleted',
    handler: ({ actor, params, query, services }) =>
      deleteIpRule({ services, actor, force: query.force ?? false }, params.id),
  }),
];
