import { storeFile } from '#modules/storage/testing/uploads';
import { createMember, unique, type Tenant } from '#test/support/factories';
import type { TestService } from '#test/support/harness';
import { create } from '#test/support/directory';

type Arguments = Record<string, unknown>;

/** Valid arguments for every tool; each call creates new records, so that tools may delete them. */
export function sampleArguments(test: TestService, tenant: Tenant): Record<string, () => Promise<Arguments>> {
  const { token } = tenant.admin;
  const by = { token };
  const made = async (collection: Parameters<typeof create>[2], body?: object) =>
    (await create(test, by, collection, body)).id;
  const newContact = async () => {
    const answer = await test.call('POST', '/api/v1/secure/contacts', { token, body: { firstName: 'Ada' } });
    return answer.body.data.id as string;
  };
  const newGroup = async () => {
    const body = { name: unique('group'), permissions: [] };
    return (await test.call('POST', '/api/v1/secure/groups', { token, body })).body.data.id as string;
  };
  const link = async (collection: 'spaces' | 'resources' | 'users', id: string) => {
    const contactId = await newContact();
    await test.call('POST', `/api/v1/secure/${collection}/${id}/contacts`, { token, body: { contactId } });
    return { id, contactId };
  };
  const event = async () => ({
    title: 'Meeting',
    local_start: '2026-12-01T09:00',
    local_end: '2026-12-01T10:00',
    timezone: 'Europe/Vienna',
    entities: [{ entity_type: 'space', entity_id: await made('spaces') }],
  });
  const range = { from: '2026-12-01T00:00:00Z', to: '2026-12-31T00:00:00Z' };
  const of = (collection: Parameters<typeof create>[2]) => async () => ({ id: await made(collection) });
  const none = () => Promise.resolve({});
  const category = async () => {
    const [id, spaceId] = [await made('categories'), await made('spaces')];
    const entity = { entity_type: 'space', entity_id: spaceId };
    return {
      id,
      ...entity,
      link: () => test.call('POST', `/api/v1/secure/taxonomy/categories/${id}/link`, { token, body: entity }),
    };
  };
  const ofUser = async () => ({ id: (await createMember(test, tenant)).userId });
  return {
    get_health: () => Promise.resolve({ level: 'ready' }),
    get_system_info: none,
    list_spaces: () => Promise.resolve({ limit: 5, search: 'hall', parent_id: 'null' }),
    get_space: of('spaces'),
    create_space: async () => ({
      name: 'Hall',
      parent_id: await made('spaces'),
      capacity: 4,
      geo: { lat: 48, lng: 16 },
    }),
    update_space: async () => ({ id: await made('spaces'), description: 'Tall' }),
    delete_space: of('spaces'),
    list_resources: () => Promise.resolve({ limit: 5, sort: '-name' }),
    get_resource: of('resources'),
    create_resource: async () => ({ name: 'Lamp', space_id: await made('spaces') }),
    update_resource: async () => ({ id: await made('resources'), status: 'maintenance' }),
    delete_resource: of('resources'),
    list_type_definitions: none,
    get_type_definition: of('types'),
    list_calendars: () => Promise.resolve({ limit: 3 }),
    find_free_busy: async () => ({ ...range, entities: (await event()).entities }),
    list_events: () => Promise.resolve(range),
    get_event: async () => ({ id: await made('events', await event()) }),
    create_event: event,
    update_event: async () => ({ id: await made('events', await event()), title: 'Party' }),
    delete_event: async () => ({ id: await made('events', await event()) }),
    list_contacts: () => Promise.resolve({ search: 'Ada' }),
    get_contact: async () => ({ id: await newContact() }),
    create_contact: () => Promise.resolve({ firstName: 'Ada', email: 'ada@example.com' }),
    update_contact: async () => ({ id: await newContact(), notes: null }),
    delete_contact: async () => ({ id: await newContact() }),
    get_profile: none,
    list_users: none,
    get_user: ofUser,
    list_contact_references: async () => ({ id: (await link('spaces', await made('spaces'))).contactId }),
    list_space_contacts: async () => ({ id: (await link('spaces', await made('spaces'))).id }),
    add_space_contact: async () => ({ id: await made('spaces'), contactId: await newContact() }),
    remove_space_contact: async () => link('spaces', await made('spaces')),
    list_resource_contacts: async () => ({ id: (await link('resources', await made('resources'))).id }),
    add_resource_contact: async () => ({ id: await made('resources'), contactId: await newContact() }),
    remove_resource_contact: async () => link('resources', await made('resources')),
    list_user_contacts: ofUser,
    add_user_contact: async () => ({ ...(await ofUser()), contactId: await newContact() }),
    remove_user_contact: async () => link('users', (await ofUser()).id),
    list_tags: none,
    create_tag: () => Promise.resolve({ name: unique('tag') }),
    list_space_tags: of('spaces'),
    tag_space: async () => ({ id: await made('spaces'), tagId: await made('tags') }),
    untag_space: async () => ({ id: await made('spaces'), tagId: await made('tags') }),
    list_resource_tags: of('resources'),
    tag_resource: async () => ({ id: await made('resources'), tagId: await made('tags') }),
    untag_resource: async () => ({ id: await made('resources'), tagId: await made('tags') }),
    list_categories: () => Promise.resolve({ language: 'en' }),
    get_category: of('categories'),
    list_entity_categories: async () => ({ entity_type: 'space', entity_id: await made('spaces') }),
    list_category_links: of('categories'),
    link_category: async () => {
      const { id, entity_type, entity_id } = await category();
      return { id, entity_type, entity_id };
    },
    unlink_category: async () => {
      const { id, entity_type, entity_id, link: add } = await category();
      await add();
      return { id, entity_type, entity_id };
    },
    list_groups: none,
    get_group: async () => ({ id: await newGroup() }),
    list_group_members: async () => ({ id: await newGroup() }),
    list_pending_flow_tasks: () => Promise.resolve({ language: 'en' }),
    list_own_flow_task_completions: none,
    list_files: none,
    get_file: async () => ({ id: await storeFile(test, 'text', { token }) }),
    list_space_files: of('spaces'),
    list_resource_files: of('resources'),
    list_contact_files: async () => ({ id: await newContact() }),
    translate_text: () => Promise.resolve({ text: 'Hello', source_language: 'en', target_language: 'de' }),
    translate_entity: async () => ({ entity_type: 'space', entity_id: await made('spaces'), target_languages: ['de'] }),
    list_translation_marks: () => Promise.resolve({ entity_type: 'space' }),
    search_places: () => Promise.resolve({ q: 'Stephansplatz 3 & Wien', limit: 2, language: 'de' }),
    find_place_at: () => Promise.resolve({ lat: 48.2085, lng: 16.373, language: 'de' }),
    list_audit_logs: () => Promise.resolve({ limit: 5 }),
    list_audit_actions: none,
  };
}
