/** Names that mean a part of an installation, or that programs look up by default (RFC 2142, RFC 6761). */
const reserved = new Set(
  `
  www www1 www2 web api app apps admin administrator root console dashboard portal system internal public private secure
  localhost localdomain local broadcasthost loopback invalid
  mail email webmail smtp imap pop pop3 mx autoconfig autodiscover
  ns ns1 ns2 dns ftp sftp ssh vpn proxy gateway wpad isatap
  auth oauth sso login logout signin signup register account accounts identity
  cdn static assets media files images img status health metrics docs help support billing
  realtime ws webhook webhooks mcp
  abuse hostmaster postmaster webmaster security noreply no-reply
  `
    .trim()
    .split(/\s+/),
);

/** Whether the domain is reserved. */
export function isReservedDomain(domain: string): boolean {
  return reserved.has(domain);
}
