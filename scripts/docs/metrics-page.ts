import { load } from 'js-yaml';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createPinoLog } from '../../src/adapters/system/pino-log.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import { agentMetrics, createAgentMeter } from '../../src/compose/agent/agent-metrics.ts';
import { agentDomains } from '../../src/domains/agents.ts';
import { PROBE_REQUESTS } from '../../src/domains/health/probes/probe-metrics.ts';
import { servedDomains } from '../../src/domains/servers.ts';
import type { MetricDefinition } from '../../src/server/metric-set.ts';
import { createServerMetrics } from '../../src/server/metrics.ts';
import { code, generatedFrom, page, prose, section, table } from './markdown.ts';

/** Every metric of ours that a server shows. */
export function serverMetricDefinitions(): readonly MetricDefinition[] {
  const ofDomains = servedDomains.flatMap(({ server }) => server?.metrics ?? []);
  return createServerMetrics(ofDomains, '').definitions;
}

/** Every metric that an agent shows. */
export function agentMetricDefinitions(): readonly MetricDefinition[] {
  const deps = { clock: createSystemClock(), random: createSystemRandom(), log: createPinoLog({ level: 'error' }) };
  const { set } = createAgentMeter({ version: '', cluster: '' }, deps.clock);
  for (const open of agentDomains) open({ ...deps, metrics: set });
  agentMetrics(set, { health: () => undefined });
  return set.definitions;
}

/** Every metric that a probe proxy shows. */
export const probeProxyMetricDefinitions: readonly MetricDefinition[] = [PROBE_REQUESTS];

/** The page of metrics and alerts. `rules`: the text of the rule file. */
export function metricsPage(rules: string): string {
  return page([
    generatedFrom('the declarations of the metrics and deploy/prometheus/fleetrelay.rules.yaml'),
    '',
    '# Metrics and alerts',
    '',
    'Find what a metric says, and what to do about an alert. [How they are scraped, and the dashboard](../../deploy/prometheus/README.md)',
    'is said beside the rule file.',
    '',
    'Only the metrics of Shoots name objects: 500 Shoots at most, by namespace and name, while `fleetrelay_shoots_by_condition` and',
    '`fleetrelay_shoot_operations_total` count all of them. Of the others there are as many series as there are clusters, sources and',
    'reasons. Reasons are constant words. Metrics of the process (`process_*`, `nodejs_*`) come from prom-client, for the server only.',
    '',
    ...section('Metrics of the management server', metricTable(serverMetricDefinitions())),
    ...section('Metrics of an agent', metricTable(agentMetricDefinitions())),
    ...section('Metrics of a probe proxy', metricTable(probeProxyMetricDefinitions)),
    ...section('Alerts', alertTable(rules)),
  ]);
}

function metricTable(definitions: readonly MetricDefinition[]): readonly string[] {
  const rows = [...definitions]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, type, labels, help }) => [code(name), type, labels.map(code).join(', '), prose(help)]);
  return table(['metric', 'type', 'labels', 'what it says'], rows);
}

interface Alert {
  readonly alert: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly description: string; readonly action: string };
}

function alertTable(rules: string): readonly string[] {
  const { groups } = load(rules) as { readonly groups: readonly { readonly rules: readonly Alert[] }[] };
  const rows = groups
    .flatMap(({ rules: alerts }) => alerts)
    .map(({ alert, labels, for: patience = 'at once', annotations }) => {
      const { description, action } = annotations;
      return [
        code(alert),
        labels.severity,
        patience,
        prose(withoutTemplates(description)),
        prose(withoutTemplates(action)),
      ];
    });
  return table(['alert', 'severity', 'after', 'what it means', 'what to do'], rows);
}

function withoutTemplates(text: string): string {
  return text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => label.toUpperCase());
}
