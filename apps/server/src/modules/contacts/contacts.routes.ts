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
    handler: ({ actor, db, params, query }) => listContactReferences({ db, actor }, params.id, query),
  }),
];
