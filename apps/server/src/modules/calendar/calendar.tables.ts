export type EntityType = 'space' | 'resource' | 'user';

/** A space, resource or user that events can book. */
export type Entity = { entity_type: EntityType; entity_id: string };

/** Local times; `fold` decides which instant is meant if a local time occurs twice. */
export type LocalTimes = { local_start: string; local_end: string; timezone: string; fold: 'earlier' | 'later' };
