import { newId } from '#core/base/crypto/ids';
import { contactSuccesses } from '#modules/contacts/testing/successes';
import { createMember } from '#test/support/factories';
import type { Body, Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    createContact: () => contactFields(),
    updateContact: () => contactFields(),
    addSpaceContact: ({ contactId }) => ({ contactId, isPrimary: true }),
    addResourceContact: ({ contactId }) => ({ contactId, isPrimary: true }),
    addUserContact: ({ contactId }) => ({ contactId, isPrimary: true }),
  },
  ids: {
    'getContact params.id': 'contact',
    'updateContact params.id': 'contact',
    'deleteContact params.id': 'contact',
    'listContactReferences params.id': 'contact',
    'listSpaceContacts params.id': 'space',
    'addSpaceContact params.id': 'space',
    'addSpaceContact body.contactId': 'contact',
    'removeSpaceContact params.id': 'space',
    'removeSpaceContact params.contactId': 'contact',
    'listResourceContacts params.id': 'resource',
    'addResourceContact params.id': 'resource',
    'addResourceContact body.contactId': 'contact',
    'removeResourceContact params.id': 'resource',
    'removeResourceContact params.contactId': 'contact',
    'listUserContacts params.id': 'user',
    'addUserContact params.id': 'user',
    'addUserContact body.contactId': 'contact',
    'removeUserContact params.id': 'user',
    'removeUserContact params.contactId': 'contact',
  },
  records: async ({ tenant, create, ids, secret }) => {
    const contact = await create('/api/v1/secure/contacts', { notes: secret });
    const links = [`spaces/${ids.space}`, `resources/${ids.resource}`, `users/${tenant.admin.userId}`];
    for (const path of links) await create(`/api/v1/secure/${path}/contacts`, { contactId: contact, isPrimary: true });
    return { contact };
  },
  tools: ({ test, tenant, create, made }) => {
    const newContact = () => create('/api/v1/secure/contacts', { firstName: 'Ada' });
    const ofUser = async () => ({ id: (await createMember(test, tenant)).userId });
    const link = async (collection: 'spaces' | 'resources' | 'users', id: string) => {
      const contactId = await newContact();
      await create(`/api/v1/secure/${collection}/${id}/contacts`, { contactId });
      return { id, contactId };
    };
    return {
      listContacts: () => Promise.resolve({ search: 'Ada' }),
      getContact: async () => ({ id: await newContact() }),
      createContact: () => Promise.resolve({ firstName: 'Ada', email: 'ada@example.com' }),
      updateContact: async () => ({ id: await newContact(), notes: null }),
      deleteContact: async () => ({ id: await newContact() }),
      listContactReferences: async () => ({ id: (await link('spaces', await made('spaces'))).contactId }),
      listSpaceContacts: async () => ({ id: (await link('spaces', await made('spaces'))).id }),
      addSpaceContact: async () => ({ id: await made('spaces'), contactId: await newContact() }),
      removeSpaceContact: async () => link('spaces', await made('spaces')),
      listResourceContacts: async () => ({ id: (await link('resources', await made('resources'))).id }),
      addResourceContact: async () => ({ id: await made('resources'), contactId: await newContact() }),
      removeResourceContact: async () => link('resources', await made('resources')),
      listUserContacts: ofUser,
      addUserContact: async () => ({ ...(await ofUser()), contactId: await newContact() }),
      removeUserContact: async () => link('users', (await ofUser()).id),
    };
  },
  successes: contactSuccesses,
};

function contactFields(): Body {
  return {
    firstName: 'Ada',
    middleName: 'King',
    lastName: 'Lovelace',
    email: 'ada@example.com',
    phone: '+44 20 7946 0958',
    url: 'https://example.com/ada',
    address: { street: 'St James Square', city: 'London', floor: '2' },
    notes: `Noted ${newId()}`,
  };
}
