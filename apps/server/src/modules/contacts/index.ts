import { defineModule } from '#core/http/route';
import { ContactNotFound, SpaceNotFound } from '#modules/contacts/contacts.errors';
import { contactRoutes } from '#modules/contacts/contacts.routes';

/** Contact records and their links to spaces. */
export const contactsModule = defineModule({
  name: 'contacts',
  description: 'Contact records and their links to spaces',
  routes: contactRoutes,
  // Only a contact or a space deleted in the same instant gets as far as the constraint.
  constraints: { contact_links_contact: ContactNotFound, contact_links_space: SpaceNotFound },
});
