import { unique } from '#test/support/factories';

const base = '/api/v1/secure';

type Change = {
  method: 'POST' | 'DELETE';
  url: string;
  body?: unknown;
  status: number;
  resourceType: string;
  resourceId: string;
  fields?: string[];
};

/** Successful calls of all recorded operations on contact links. */
export function contactLinkSuccesses(
  create: (url: string, body: unknown) => Promise<string>,
): Record<string, () => Promise<Change>> {
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
  const added = async (kind: keyof typeof records): Promise<Change> => {
    const { url, contactId, link } = await newLink(kind);
    const body = { contactId, isPrimary: true };
    return { method: 'POST', url, status: 201, body, fields: Object.keys(body), ...link };
  };
  const removed = async (kind: keyof typeof records): Promise<Change> => {
    const { url, contactId, link } = await newLink(kind);
    return { method: 'DELETE', url: `${url}/${contactId}`, status: 204, ...link };
  };
  return {
    addSpaceContact: () => added('Space'),
    removeSpaceContact: () => removed('Space'),
    addResourceContact: () => added('Resource'),
    removeResourceContact: () => removed('Resource'),
    addUserContact: () => added('User'),
    removeUserContact: () => removed('User'),
  };
}
