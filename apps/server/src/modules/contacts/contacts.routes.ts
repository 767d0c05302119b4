import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute, type Route } from '#core/http/route';
import { listContactReferences } from '#modules/contacts/contact-links.service';
import { ContactNotFound } from '#modules/contacts/contacts.errors';
import * as schemas from '#modules/contacts/contacts.schemas';
import {
  createContact,
  deleteContact,
  getContact,
  listContacts,
  updateContact,
} from '#modules/contacts/contacts.service';

export const contactRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/contacts',
    operationId: 'listContacts',
    summary: 'List contacts, the newest first, with search and filters',
    access: access.member(),
    schema: { query: schemas.ListContactsQuery, response: { 200: schemas.ContactPage } },
    tool: {
      toolset: 'contacts',
      description:
        'Lists contacts, the newest first, page by page. `search` finds words in names, e-mail address, phone number and city; `email` and `phone` match the complete value.',
    },
    handler: ({ db, query, setHeader }) => listContacts({ db, setHeader }, query),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/contacts',
    operationId: 'createContact',
    summary: 'Create a contact',
    access: access.member(),
    schema: { body: schemas.CreateContactBody, response: { 201: schemas.ContactAnswer } },
    audit: 'contact.created',
    tool: {
      toolset: 'contacts',
      description: 'Creates a contact without links. The contact_links tools link it to a space, a resource or a user.',
      destructive: false,
    },
    handler: ({ actor, body, db, services }) => createContact({ db, actor, now: services.now }, body),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/contacts/{id}',
    operationId: 'getContact',
    summary: 'Get a contact',
    access: access.member(),
    schema: { params: IdParams, response: { 200: schemas.ContactAnswer } },
    errors: [ContactNotFound],
    tool: {
      toolset: 'contacts',
      description: 'Gets a contact by its id.',
    },
    handler: ({ db, params }) => getContact(db, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/secure/contacts/{id}',
    operationId: 'updateContact',
    summary: 'Update fields of a contact; null clears a field',
    access: access.member(),
    schema: { params: IdParams, body: schemas.UpdateContactBody, response: { 200: schemas.ContactAnswer } },
    errors: [ContactNotFound],
    audit: 'contact.updated',
    tool: {
      toolset: 'contacts',
      description: 'Updates the given fields of a contact and keeps the others. Null clears a field.',
    },
    handler: ({ actor, body, db, params, services }) =>
      updateContact({ db, actor, now: services.now }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/secure/contacts/{id}',
    operationId: 'deleteContact',
    summary: 'Delete a contact and its links',
    access: access.member(),
    schema: { params: IdParams, response: { 200: schemas.ContactDeleted } },
    errors: [ContactNotFound],
    audit: 'contact.deleted',
    tool: {
      toolset: 'contacts',
      description: 'Deletes a contact permanently, with its links to spaces, resources and users.',
    },
    handler: ({ actor, db, params, services }) => deleteContact({ db, actor, services }, params.id),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/contacts/{id}/references',
    operationId: 'listContactReferences',
    summary: 'List the spaces, resources and users of a contact; other users require users.read',
    access: access.member(),
    schema: { params: IdParams, query: schemas.ListPage, response: { 200: schemas.ContactReferences } },
    errors: [ContactNotFound],
    tool: {
      toolset: 'contact_links',
      description:
        'Lists the spaces, resources and users that a contact is linked to. Users are left out if the caller may not list their contacts.',
    },
    handler: ({ actor, db, params, query }) => listContactReferences({ db, actor }, params.id, query),
  }),
];
