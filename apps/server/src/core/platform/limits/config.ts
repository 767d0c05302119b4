import type { Setting } from '#core/data/settings/settings';

/** The global security configuration (specification, "Global security configuration"). */
export type SecurityConfig = {
  dos_enabled: boolean;
  dos_max_requests_per_ip: number;
  dos_time_window_seconds: number;
  dos_block_duration_seconds: number;
  queue_enabled: boolean;
  queue_max_size: number;
  queue_timeout_ms: number;
  ip_blacklist_enabled: boolean;
  ip_blacklist_auto_block: boolean;
  ip_blacklist_auto_block_threshold: number;
  ip_blacklist_auto_block_duration_seconds: number;
  circuit_breaker_enabled: boolean;
  circuit_breaker_cpu_threshold: number;
  circuit_breaker_duration_seconds: number;
  circuit_breaker_check_interval_seconds: number;
  cache_enabled: boolean;
  cache_max_entries: number;
  cache_default_ttl_seconds: number;
};

export const defaultSecurityConfig: SecurityConfig = {
  dos_enabled: true,
  dos_max_requests_per_ip: 20_000,
  dos_time_window_seconds: 60,
  dos_block_duration_seconds: 60,
  queue_enabled: true,
  queue_max_size: 1000,
  queue_timeout_ms: 5000,
  ip_blacklist_enabled: true,
  ip_blacklist_auto_block: true,
  ip_blacklist_auto_block_threshold: 5,
  ip_blacklist_auto_block_duration_seconds: 3600,
  circuit_breaker_enabled: true,
  circuit_breaker_cpu_threshold: 95,
  circuit_breaker_duration_seconds: 30,
  circuit_breaker_check_interval_seconds: 10,
  cache_enabled: true,
  cache_max_entries: 50_000,
  cache_default_ttl_seconds: 60,
};

export const securitySetting: Setting<SecurityConfig> = {
  name: 'security_config',
  complete: (stored) => ({ ...defaultSecurityConfig, ...stored }),
};

/** Size of the principal cache, and lifetime of its entries. */
export function principalCacheSize(config: SecurityConfig): { max: number; maxAgeMs: number } {
  return {
    max: config.cache_enabled ? config.cache_max_entries : 0,
    maxAgeMs: config.cache_default_ttl_seconds * 1000,
  };
}
