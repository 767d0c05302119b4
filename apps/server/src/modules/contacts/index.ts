import { defineModule } from '#core/http/route';
import { contactLinkRoutes } from '#modules/contacts/contact-links.routes';
import { ContactNotFound, ResourceNotFound, SpaceNotFound, UserNotFound } from '#modules/contacts/contacts.errors';
import { contactRoutes } from '#modules/contacts/contacts.routes';

export { removeContactsOfUser } from '#modules/contacts/contact-links.service';

/** Contact records and their links to spaces, resources and users. */
export const contactsModule = defineModule({
  name: 'contacts',
  description: 'Contact records and their links to spaces, resources and users',
  routes: [...contactRoutes, ...contactLinkRoutes],
  // Only a contact or a record deleted in the same instant gets as far as the constraint.
  constraints: {
    contact_links_contact: ContactNotFound,
    contact_links_space: SpaceNotFound,
    contact_links_resource: ResourceNotFound,
    contact_links_user: UserNotFound,
  },
});
