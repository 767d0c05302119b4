/** Types of records that can be translated. */
export const entityTypeNames = ['space', 'resource', 'tag', 'category'] as const;
export type EntityType = (typeof entityTypeNames)[number];

/** Properties of a record that are translated. */
export const fields = ['name', 'description'] as const;
export type Field = (typeof fields)[number];
