import type { ProbeOutcome } from './outcome.ts';
import type { ProbeTarget } from './target.ts';

/** The metric of a probe proxy. */
export const PROBE_REQUESTS = {
  name: 'fleetrelay_probe_requests_total',
  type: 'counter',
  help: 'Requests of probes, by their kind and what was answered.',
  labels: ['type', 'outcome'],
} as const;

const TYPES: readonly ProbeTarget['type'][] = ['http', 'tcp', 'grpc'];
const OUTCOMES: readonly ProbeOutcome['type'][] = ['healthy', 'unhealthy', 'unknown'];

/** Counts probes. Written by hand, because the library for metrics takes 10 MiB in every Pod. */
export function createProbeMetrics() {
  const counts = new Map<string, number>();
  const labelsOf = (type: string, outcome: string): string => `type="${type}",outcome="${outcome}"`;
  for (const type of TYPES) for (const outcome of OUTCOMES) counts.set(labelsOf(type, outcome), 0);
  return {
    count(type: ProbeTarget['type'], outcome: ProbeOutcome['type']): void {
      const labels = labelsOf(type, outcome);
      counts.set(labels, (counts.get(labels) ?? 0) + 1);
    },
    /** In the text format of Prometheus. */
    text(): string {
      const { name, type, help } = PROBE_REQUESTS;
      const lines = [...counts].map(([labels, count]) => `${name}{${labels}} ${count}`);
      return `${[`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join('\n')}\n`;
    },
  };
}
