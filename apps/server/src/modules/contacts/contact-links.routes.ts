import { access, type Access } from '#core/access/access';
import { defineRoute, type Route } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
import {
  addContactTo,
  entityNotFound,
  linkActions,
  listContactsOf,
  removeContactFrom,
  type Entity,
} from '#modules/contacts/contact-links.service';
import { ContactLinkNotFound, ContactNotFound } from '#modules/contacts/contacts.errors';
import * as schemas from '#modules/contacts/contacts.schemas';

type MemberAccess = Extract<Access, { kind: 'member' }>;

/** How one kind of record has contacts. */
type Linkable = {
  type: Entity['type'];
  /** As operations are called: `listSpaceContacts`. */
  name: 'Space' | 'Resource' | 'User';
  path: `/${string}`;
  a: string;
  /** What is added to the summaries. */
  who: { reads: string; writes: string };
  reading: MemberAccess;
  writing: MemberAccess;
};

const linkables: readonly Linkable[] = [
  {
    type: 'space',
    name: 'Space',
    path: '/api/v1/secure/spaces/{id}/contacts',
    a: 'a space',
    who: { reads: '', writes: '' },
    reading: access.member('spaces.read'),
    writing: access.member('spaces.write'),
  },
  {
    type: 'resource',
    name: 'Resource',
    path: '/api/v1/secure/resources/{id}/contacts',
    a: 'a resource',
    who: { reads: '', writes: '' },
    reading: access.member('resources.read'),
    writing: access.member('resources.write'),
  },
  {
    type: 'user',
    name: 'User',
    path: '/api/v1/secure/users/{id}/contacts',
    a: 'a user',
    who: { reads: '; those of others with users.read', writes: '; for others with users.manage' },
    reading: access.member('users.read'),
    writing: access.member(),
  },
];

export const contactLinkRoutes: readonly Route[] = linkables.flatMap(routesOf);

function routesOf({ type, name, path, a, who, reading, writing }: Linkable): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path,
      operationId: `list${name}Contacts`,
      summary: `Contacts of ${a}, the primary one first${who.reads}`,
      access: reading,
      schema: { params: IdParams, query: schemas.PartOfList, response: { 200: schemas.ContactLinkList } },
      errors: [entityNotFound[type]],
      tool: { toolset: 'contact_links', description: `Lists the contacts of ${a}, the primary one first.` },
      handler: ({ actor, db, params, query }) => listContactsOf({ db, actor }, { type, id: params.id }, query),
    }),
    defineRoute({
      method: 'POST',
      path,
      operationId: `add${name}Contact`,
      summary: `Link a contact to ${a}, or make a linked one primary${who.writes}`,
      access: writing,
      schema: { params: IdParams, body: schemas.LinkContactBody, response: { 201: schemas.ContactLinkAnswer } },
      errors: [entityNotFound[type], ContactNotFound],
      audit: linkActions[type].added,
      tool: {
        toolset: 'contact_links',
        description: `Links a contact to ${a}, or makes a linked one the primary one, which the one before then is no more.`,
        destructive: true,
        idempotent: true,
      },
      handler: ({ actor, body, db, params, services }) =>
        addContactTo({ db, actor, now: services.now }, { type, id: params.id }, body),
    }),
    defineRoute({
      method: 'DELETE',
      path: `${path}/{contactId}`,
      operationId: `remove${name}Contact`,
      summary: `Unlink a contact from ${a}${who.writes}`,
      access: writing,
      schema: { params: schemas.LinkedContactParams, response: { 204: null } },
      errors: [ContactLinkNotFound],
      audit: linkActions[type].removed,
      tool: { toolset: 'contact_links', description: `Unlinks a contact from ${a}; the contact itself stays.` },
      handler: ({ actor, db, params, services }) =>
        removeContactFrom({ db, actor, now: services.now }, { type, id: params.id }, params.contactId),
    }),
  ];
}
