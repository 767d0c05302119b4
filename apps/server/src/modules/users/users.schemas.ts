import Type, { type Static } from 'typebox';

import {
  Email,
  TimeZone,
  Timestamp,
  Uuid,
  closed,
  dataOf,
  nullable,
  pageOf,
  paging,
  sortable,
} from '#core/base/schemas';

const PersonName = Type.String({ minLength: 1, maxLength: 255, pattern: '\\S', format: 'line' });

export const Phone = Type.String({
  maxLength: 40,
  pattern: '^[ ().-]*\\+[ ().-]*[1-9](?:[ ().-]*[0-9]){6,14}[ ().-]*$',
  description:
    'Phone number in E.164 form: `+`, country code and number. Spaces and `( ) . -` between the digits are removed.',
});

const Locale = Type.String({
  pattern: '^[a-z]{2}$',
  description: 'Preferred language: a language of the tenant, or one of en, de, fr, es, it.',
});

const userFields = {
  displayName: Type.Optional(PersonName),
  fullName: Type.Optional(PersonName),
  locale: Type.Optional(Locale),
  isTenantAdmin: Type.Optional(Type.Boolean()),
};

export const InviteUserBody = closed({
  email: Email,
  ...userFields,
  groupIds: Type.Optional(
    Type.Array(Uuid, { maxItems: 50, uniqueItems: true, description: 'Groups that the user joins, by identifier.' }),
  ),
});
export type InviteUserBody = Static<typeof InviteUserBody>;

export const CreateUserBody = closed({
  email: Email,
  password: Type.Optional(
    Type.String({
      minLength: 8,
      maxLength: 256,
      format: 'password',
      description:
        'Password of the new account. Without it, or for a person with an account, the user is invited by mail.',
    }),
  ),
  ...userFields,
});
export type CreateUserBody = Static<typeof CreateUserBody>;

export const UpdateUserBody = closed({
  ...userFields,
  phone: Type.Optional(nullable(Phone)),
  status: Type.Optional(Type.Enum(['active', 'suspended'], { description: 'Suspended users have no access.' })),
});
export type UpdateUserBody = Static<typeof UpdateUserBody>;

const User = closed(
  {
    id: Uuid,
    email: Email,
    displayName: Type.String(),
    fullName: Type.String(),
    locale: Type.String(),
    phone: nullable(Type.String()),
    status: Type.Enum(['invited', 'active', 'suspended'], { description: 'Status of the user in the tenant.' }),
    isTenantAdmin: Type.Boolean(),
    groups: Type.Array(Type.String(), { description: 'Names of the groups of the user.' }),
    last_login_at: Type.With(nullable(Timestamp), {
      description: 'Time of the latest login in the tenant (RFC 3339, UTC); null before the first.',
    }),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'User' },
);

export const UpdateProfileBody = closed({
  displayName: userFields.displayName,
  fullName: userFields.fullName,
  locale: userFields.locale,
  phone: Type.Optional(nullable(Phone)),
  timezone: Type.Optional(nullable(TimeZone)),
});
export type UpdateProfileBody = Static<typeof UpdateProfileBody>;

export const ProfileAnswer = dataOf(
  closed(
    {
      displayName: Type.String(),
      fullName: Type.String(),
      locale: Type.String(),
      phone: nullable(Type.String()),
      timezone: nullable(Type.String()),
    },
    { title: 'Profile' },
  ),
);

export const UserAnswer = dataOf(User);
export const UserPage = pageOf(User);

export const ListUsersQuery = Type.Object({
  ...paging,
  sort: sortable(['created_at', 'email', 'displayName', 'last_login_at']),
  search: Type.Optional(
    Type.String({ maxLength: 200, description: 'Words to search for in names and e-mail address.' }),
  ),
  email: Type.Optional(Type.String({ maxLength: 254, description: 'Exact e-mail address; case is ignored.' })),
  status: Type.Optional(Type.Enum(['invited', 'active', 'suspended'], { description: 'Status of the users to list.' })),
  isTenantAdmin: Type.Optional(Type.Boolean()),
});
export type ListUsersQuery = Static<typeof ListUsersQuery>;
