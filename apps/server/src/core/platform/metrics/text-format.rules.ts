import type { Collected, Sample } from '#core/platform/metrics/metric';

/** Prometheus text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats). */
export function toText(metrics: readonly Collected[]): string {
  return metrics.map(toLines).join('\n');
}

function toLines({ name, help, type, values }: Collected): string {
  const head = `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n`;
  return (
    head +
    values.map((sample) => `${sample.metricName ?? name}${labelsOf(sample)} ${numberOf(sample.value)}\n`).join('')
  );
}

function labelsOf({ labels = {} }: Sample): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function numberOf(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? '+Inf' : '-Inf';
}
