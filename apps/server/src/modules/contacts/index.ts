import { defineModule } from '#core/http/route';
import { contactLinkRoutes } from '#modules/contacts/contact-links.routes';
import { ContactNotFound, ResourceNotFound, SpaceNotFound, UserNotFound } from '#modules/contacts/contacts.errors';
import { contactRoutes } from '#modules/contacts/contacts.routes';

export { removeContactsOfUser } from '#modules/contacts/contact-links.service';

/** Contact records and their links to spaces, resources and users. */
export const contactsModule = defineModule({
  name: 'contacts',
  description: 'Manage contacts, and link them to spaces, resources and users',
  routes: [...contactRoutes, ...contactLinkRoutes],
  // The service checks first; only a concurrent deletion of the contact or the record reaches a constraint.
  constraints: {
    contact_links_contact: ContactNotFound,
    contact_links_space: SpaceNotFound,
    contact_links_resource: ResourceNotFound,
    contact_links_user: UserNotFound,
  },
});
