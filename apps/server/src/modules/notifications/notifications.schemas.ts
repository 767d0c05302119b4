import Type from 'typebox';

/** What a notification carries for programs, as it is answered. */
export const NotificationData = Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), {
  title: 'NotificationData',
});
