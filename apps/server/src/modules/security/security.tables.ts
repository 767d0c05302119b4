/** The core stores and applies the rules; this module is their API. */
export type { IpRuleRow, IpRuleTables } from '#core/platform/limits/address-rules.queries';
