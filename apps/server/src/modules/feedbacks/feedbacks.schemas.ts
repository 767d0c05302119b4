import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, nullable, pageOf, paging, sortable } from '#core/base/schemas';

const EntityType = Type.Enum(['space', 'resource']);
const Status = Type.Enum(['new', 'in_progress', 'resolved', 'dismissed'], { description: 'Processing status.' });
const Rating = Type.Integer({ minimum: 1, maximum: 5, description: 'Rating from 1 to 5.' });
const rating = { description: 'Rating from 1 to 5; null if the author gave none.' };
const message = { description: 'Text of the feedback.' };

export const CreateFeedbackBody = closed({
  entity_type: EntityType,
  entity_id: Uuid,
  rating: Type.Optional(nullable(Rating, rating)),
  message: Type.String({ minLength: 1, maxLength: 2000, pattern: '\\S', ...message }),
});
export type CreateFeedbackBody = Static<typeof CreateFeedbackBody>;

export const UpdateFeedbackBody = closed({ status: Status });
export type UpdateFeedbackBody = Static<typeof UpdateFeedbackBody>;

const Feedback = closed(
  {
    id: Uuid,
    tenant_id: Uuid,
    entity_type: EntityType,
    entity_id: Uuid,
    rating: nullable(Rating, rating),
    message: Type.String(message),
    status: Status,
    created_by: nullable(Uuid),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'Feedback' },
);

export const FeedbackAnswer = dataOf(Feedback);
export const FeedbackPage = pageOf(Feedback);

export const ListFeedbacksQuery = Type.Object({
  ...paging,
  sort: sortable(['created_at']),
  entity_type: Type.Optional(EntityType),
  entity_id: Type.Optional(Uuid),
  status: Type.Optional(Status),
  rating: Type.Optional(Rating),
  created_by: Type.Optional(Type.String({ format: 'uuid', description: 'Author, by identifier.' })),
});
export type ListFeedbacksQuery = Static<typeof ListFeedbacksQuery>;
