import { unique } from '#test/support/factories';
import type { SampleContext, Success, Successes } from '#test/support/samples';

const base = '/api/v1/secure';

const fields = {
  firstName: 'canary',
  lastName: 'canary',
  email: 'canary@example.com',
  phone: '5550canary',
  address: { city: 'canary', canary: 'canary' },
  notes: 'canary',
};

/** Successful calls of all recorded operations on contacts and their links. */
export function contactSuccesses({ create }: SampleContext): Successes {
  const contacts = `${base}/contacts`;
  const onNewContact = async () => {
    const resourceId = await create(contacts);
    return { url: `${contacts}/${resourceId}`, resourceType: 'contact', resourceId };
  };
  const records = {
    Space: () => create(`${base}/spaces`, { name: 'Hall' }),
    Resource: () => create(`${base}/resources`, { name: 'Projector' }),
    User: () => create(`${base}/users`, { email: `${unique('user')}@example.com` }),
  };
  const newLink = async (kind: keyof typeof records) => {
    const contactId = await create(`${base}/contacts`, {});
    const url = `${base}/${kind.toLowerCase()}s/${await records[kind]()}/contacts`;
    return { url, contactId, link: { resourceType: 'contact_link', resourceId: await create(url, { contactId }) } };
  };
  const added = async (kind: keyof typeof records): Promise<Success> => {
    const { url, contactId, link } = await newLink(kind);
    const body = { contactId, isPrimary: true };
    return { method: 'POST', url, status: 201, body, fields: Object.keys(body), ...link };
  };
  const removed = async (kind: keyof typeof records): Promise<Success> => {
    const { url, contactId, link } = await newLink(kind);
    return { method: 'DELETE', url: `${url}/${contactId}`, status: 204, ...link };
  };
  return {
    createContact: () =>
      Promise.resolve({ method: 'POST', url: contacts, status: 201, body: fields, resourceType: 'contact' }),
    updateContact: async () => ({
      method: 'PATCH',
      status: 200,
      body: fields,
      fields: Object.keys(fields),
      ...(await onNewContact()),
    }),
    deleteContact: async () => ({ method: 'DELETE', status: 200, ...(await onNewContact()) }),
    addSpaceContact: () => added('Space'),
    removeSpaceContact: () => removed('Space'),
    addResourceContact: () => added('Resource'),
    removeResourceContact: () => removed('Resource'),
    addUserContact: () => added('User'),
    removeUserContact: () => removed('User'),
  };
}
