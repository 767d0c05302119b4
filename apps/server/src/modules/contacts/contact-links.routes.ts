import { access, type Access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute, type Route } from '#core/http/route';
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

/** A kind of record that has contacts, and who may read and change its links. */
type Linkable = {
  type: Entity['type'];
  /** Part of the operation names, such as `listSpaceContacts`. */
  name: 'Space' | 'Resource' | 'User';
  path: `/${string}`;
  noun: string;
  /** Appended to the summaries: who may read and write. */
  accessNotes: { reads: string; writes: string };
  reading: MemberAccess;
  writing: MemberAccess;
};

const linkables: readonly Linkable[] = [
  {
    type: 'space',
    name: 'Space',
    path: '/api/v1/secure/spaces/{id}/contacts',
    noun: 'a space',
    accessNotes: { reads: '', writes: '' },
    reading: access.member('spaces.read'),
    writing: access.member('spaces.write'),
  },
  {
    type: 'resource',
    name: 'Resource',
    path: '/api/v1/secure/resources/{id}/contacts',
    noun: 'a resource',
    accessNotes: { reads: '', writes: '' },
    reading: access.member('resources.read'),
    writing: access.member('resources.write'),
  },
  {
    type: 'user',
    name: 'User',
    path: '/api/v1/secure/users/{id}/contacts',
    noun: 'a user',
    accessNotes: {
      reads: '; those of other users require users.read',
      writes: '; for other users this requires users.manage',
    },
    reading: access.member('users.read'),
    writing: access.member(),
  },
];

export const contactLinkRoutes: readonly Route[] = linkables.flatMap(routesOf);

function routesOf({ type, name, path, noun, accessNotes, reading, writing }: Linkable): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path,
      operationId: `list${name}Contacts`,
      summary: `List the contacts of ${noun}, the primary one first${accessNotes.reads}`,
      access: reading,
      schema: { params: IdParams, query: schemas.ListPage, response: { 200: schemas.ContactLinkList } },
      errors: [entityNotFound[type]],
      tool: { toolset: 'contact_links', description: `Lists the contacts of ${noun}, the primary one first.` },
      handler: ({ actor, db, params, query }) => listContactsOf({ db, actor }, { type, id: params.id }, query),
    }),
    defineRoute({
      method: 'POST',
      path,
      operationId: `add${name}Contact`,
      summary: `Link a contact to ${noun}, or make a linked contact primary${accessNotes.writes}`,
      access: writing,
      schema: { params: IdParams, body: schemas.LinkContactBody, response: { 201: schemas.ContactLinkAnswer } },
      errors: [entityNotFound[type], ContactNotFound],
      audit: linkActions[type].added,
      tool: {
        toolset: 'contact_links',
        description: `Links a contact to ${noun}, or makes a linked contact the primary one. It replaces the previous primary contact.`,
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
      summary: `Unlink a contact from ${noun}${accessNotes.writes}`,
      access: writing,
      schema: { params: schemas.LinkedContactParams, response: { 204: null } },
      errors: [ContactLinkNotFound],
      audit: linkActions[type].removed,
      tool: { toolset: 'contact_links', description: `Unlinks a contact from ${noun}. The contact itself is kept.` },
      handler: ({ actor, db, params, services }) =>
        removeContactFrom({ db, actor, now: services.now }, { type, id: params.id }, params.contactId),
    }),
  ];
}
