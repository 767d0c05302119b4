import { MailNotTaken, deliverMail, type MailServer } from '#core/platform/mail/mail-delivery';
import { mailTargetOf } from '#core/platform/outbound/target';
import { ProviderFailure } from '#modules/connectors/calls/failures';
import type { SendingAdapter } from '#modules/connectors/messaging/adapter';
import type { ProviderSettings } from '#modules/connectors/provider';

const address = String.raw`[^\s<>()@,;:"\\]{1,64}@[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?`;
/** An address, or a name and the address in angle brackets. */
const sender = new RegExp(`^(?:${address}|[^\\p{Cc}<>@,;:"\\\\]{1,100} <${address}>)$`, 'iu');
const oneLine = /^[^\p{Cc}]{1,512}$/u;

/**
 * A mail server: the base URL is `smtp://host:587`, where the connection has to be upgraded to TLS, or
 * `smtps://host:465`. `config.from` is the sender, `auth_config` holds `user` and `password`.
 */
export const smtp: SendingAdapter = {
  channels: ['email'],
  defaultChannels: ['email'],
  needs: { config: { from: sender }, auth_config: { user: oneLine, password: oneLine } },
  problem: ({ baseUrl }) =>
    mailTargetOf(baseUrl) === undefined ? 'api_base_url has to be smtp://host:port or smtps://host:port.' : undefined,
  async send(settings, { to, subject = '', text }, { id }, { outbound, signal }) {
    const from = settings.config['from'] as string;
    const mail = { from, to, subject, text, messageId: `<${id}@${domainOf(from)}>` };
    await deliverMail(outbound, serverOf(settings), mail, signal).catch((cause: unknown) => {
      throw cause instanceof MailNotTaken ? new ProviderFailure(cause.kind, { cause, mayPass: cause.mayPass }) : cause;
    });
  },
};

function serverOf({ baseUrl, credentials }: ProviderSettings): MailServer {
  const { user, password } = credentials as { user: string; password: string };
  return { ...mailTargetOf(baseUrl)!, user, password };
}

function domainOf(from: string): string {
  return from.slice(from.lastIndexOf('@') + 1).replace('>', '');
}
