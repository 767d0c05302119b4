import { access } from '#core/base/access/access';
import { defineRoute, type Route } from '#core/http/route';
import { getProfile, updateProfile } from '#modules/users/profile.service';
import { LocaleNotOffered, UserNotFound } from '#modules/users/users.errors';
import * as schemas from '#modules/users/users.schemas';

export const profileRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/profile',
    operationId: 'getProfile',
    summary: 'Get your profile',
    access: access.member(),
    schema: { response: { 200: schemas.ProfileAnswer } },
    errors: [UserNotFound],
    tool: {
      toolset: 'people',
      description: 'Returns the profile of the user who is logged in. API keys and app accounts do not have one.',
    },
    handler: ({ actor, services }) => getProfile({ services, actor }),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/secure/profile',
    operationId: 'updateProfile',
    summary: 'Update your names, locale, phone number and time zone',
    access: access.member(),
    schema: { body: schemas.UpdateProfileBody, response: { 200: schemas.ProfileAnswer } },
    errors: [UserNotFound, LocaleNotOffered],
    audit: 'profile.updated',
    handler: ({ actor, body, services }) => updateProfile({ services, actor }, body),
  }),
];
