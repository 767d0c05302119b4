import Type from 'typebox';

/** Data for programs, as the API answers it. */
export const NotificationData = Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), {
  title: 'NotificationData',
  description: 'Data for programs; empty if none was sent.',
});
