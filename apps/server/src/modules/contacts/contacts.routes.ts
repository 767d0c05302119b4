import { access } from '#core/access/access';
import { defineRoute, type Route } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
import {
  addContactToSpace,
  listContactReferences,
  listContactsOfSpace,
  removeContactFromSpace,
} from '#modules/contacts/contact-links.service';
import { ContactLinkNotFound, ContactNotFound, SpaceNotFound } from '#modules/contacts/contacts.errors';
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
    handler: ({ actor, db, params, services }) => deleteContact({ db, actor, now: services.now }, params.id),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/contacts/{id}/references',
    operationId: 'listContactReferences',
    summary: 'Where a contact is used',
    access: access.member(),
    schema: { params: IdParams, query: schemas.PartOfList, response: { 200: schemas.ContactReferences } },
    errors: [ContactNotFound],
    handler: ({ db, params, query }) => listContactReferences(db, params.id, query),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/spaces/{id}/contacts',
    operationId: 'listSpaceContacts',
    summary: 'Contacts of a space, the primary one first',
    access: access.member('spaces.read'),
    schema: { params: IdParams, query: schemas.PartOfList, response: { 200: schemas.ContactLinkList } },
    errors: [SpaceNotFound],
    handler: ({ db, params, query }) => listContactsOfSpace(db, params.id, query),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/spaces/{id}/contacts',
    operationId: 'addSpaceContact',
    summary: 'Link a contact to a space, or make a linked one primary',
    access: access.member('spaces.write'),
    schema: { params: IdParams, body: schemas.LinkContactBody, response: { 201: schemas.ContactLinkAnswer } },
    errors: [SpaceNotFound, ContactNotFound],
    audit: 'space_contact.added',
    handler: ({ actor, body, db, params, services }) =>
      addContactToSpace({ db, actor, now: services.now }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/secure/spaces/{id}/contacts/{contactId}',
    operationId: 'removeSpaceContact',
    summary: 'Unlink a contact from a space',
    access: access.member('spaces.write'),
    schema: { params: schemas.SpaceContactParams, response: { 204: null } },
    errors: [ContactLinkNotFound],
    audit: 'space_contact.removed',
    handler: ({ actor, db, params, services }) =>
      removeContactFromSpace({ db, actor, now: services.now }, params.id, params.contactId),
  }),
];
