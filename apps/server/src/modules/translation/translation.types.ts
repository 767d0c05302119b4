/** What can be translated in its place. */
export const entityTypeNames = ['space', 'resource', 'tag', 'category'] as const;
export type EntityType = (typeof entityTypeNames)[number];

/** The texts of a record that are translated. */
export const fields = ['name', 'description'] as const;
export type Field = (typeof fields)[number];
