import { access } from '#core/access/access';
import { defineRoute, type Route } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
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
    summary: 'Contacts of the tenant, newest first, with search and filters',
    access: access.member(),
    schema: { query: schemas.ListContactsQuery, response: { 200: schemas.ContactPage } },
    tool: {
      toolset: 'contacts',
      description:
        'Lists contact records, the newest first, page by page. `search` looks in names, e-mail, phone and city; `email` and `phone` match exactly.',
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
      description:
        'Creates a contact record. It belongs to nothing yet: the contact_links tools link it to a space or a resource.',
      destructive: false,
    },
    handler: ({ actor, body, db, services }) => createContact({ db, actor, now: services.now }, body),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/contacts/{id}',
    operationId: 'getContact',
    summary: 'One contact',
    access: access.member(),
    schema: { params: IdParams, response: { 200: schemas.ContactAnswer } },
    errors: [ContactNotFound],
    tool: {
      toolset: 'contacts',
      description: 'One contact by its id.',
    },
    handler: ({ db, params }) => getContact(db, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/secure/contacts/{id}',
    operationId: 'updateContact',
    summary: 'Change fields of a contact; null clears one',
    access: access.member(),
    schema: { params: IdParams, body: schemas.UpdateContactBody, response: { 200: schemas.ContactAnswer } },
    errors: [ContactNotFound],
    audit: 'contact.updated',
    tool: {
      toolset: 'contacts',
      description: 'Changes the given fields of a contact and keeps the others; null clears a field.',
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
      description: 'Deletes a contact and its links to spaces, resources and people for good.',
    },
    handler: ({ actor, db, params, services }) => deleteContact({ db, actor, services }, params.id),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/contacts/{id}/references',
    operationId: 'listContactReferences',
    summary: 'Where a contact is used: spaces, resources, and those users whose contacts the caller may list',
    access: access.member(),
    schema: { params: IdParams, query: schemas.PartOfList, response: { 200: schemas.ContactReferences } },
    errors: [ContactNotFound],
    tool: {
      toolset: 'contact_links',
      description:
        'Where a contact is used: spaces, resources and people, of the latter those that the caller may see.',
    },
    handler: ({ actor, db, params, query }) => listContactReferences({ db, actor }, params.id, query),
  }),
];
