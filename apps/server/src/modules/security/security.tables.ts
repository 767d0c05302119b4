/** The rules are kept and applied in the core; this module is how people change them. */
export type { IpRuleRow, IpRuleTables } from '#core/limits/address-rules.queries';
