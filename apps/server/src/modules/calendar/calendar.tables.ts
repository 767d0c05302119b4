export type EntityType = 'space' | 'resource' | 'user';

/** Something whose time can be taken. */
export type Entity = { entity_type: EntityType; entity_id: string };

/** What clocks show, and which one is meant where they show it twice. */
export type LocalTimes = { local_start: string; local_end: string; timezone: string; fold: 'earlier' | 'later' };
