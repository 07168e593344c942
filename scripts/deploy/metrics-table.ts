import { load } from 'js-yaml';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { agentMetrics, createAgentMeter } from '../../src/compose/agent/agent-metrics.ts';
import { PROBE_REQUESTS } from '../../src/probes/probe-metrics.ts';
import type { MetricDefinition } from '../../src/server/metric-set.ts';
import { createServerMetrics } from '../../src/server/metrics.ts';
import { between } from './marks.ts';

/** Every metric of ours that a server shows. */
export function serverMetricDefinitions(): readonly MetricDefinition[] {
  const unasked = (): never => {
    throw new Error('nothing is scraped here');
  };
  const deps = { fleet: unasked, relay: unasked, replica: unasked, store: unasked, pullRequests: unasked };
  return createServerMetrics(deps, '').definitions;
}

/** Every metric that an agent shows. */
export function agentMetricDefinitions(): readonly MetricDefinition[] {
  const { set } = createAgentMeter({ version: '', cluster: '' }, createSystemClock());
  agentMetrics(set, { health: () => undefined });
  return set.definitions;
}

/** Every metric that a probe proxy shows. */
export const probeProxyMetricDefinitions: readonly MetricDefinition[] = [PROBE_REQUESTS];

/** The text with its tables of metrics and of alerts made anew. `rules`: the text of the rule file. */
export function withMetricTables(text: string, rules: string): string {
  const tables = [
    ...table('Management server', serverMetricDefinitions()),
    ...table('Agent', agentMetricDefinitions()),
    ...table('Probe proxy', probeProxyMetricDefinitions),
  ].join('\n');
  return between(between(text, 'metrics', `${tables}\n`), 'alerts', `${alertTable(rules)}\n`);
}

function table(title: string, definitions: readonly MetricDefinition[]): readonly string[] {
  const rows = [...definitions]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, type, labels, help }) => {
      const named = labels.map((label) => `\`${label}\``).join(', ');
      return `| \`${name}\` | ${type} | ${named} | ${help} |`;
    });
  return [`**${title}**`, '', '| metric | type | labels | what it says |', '|---|---|---|---|', ...rows, ''];
}

interface Alert {
  readonly alert: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly description: string; readonly action: string };
}

function alertTable(rules: string): string {
  const { groups } = load(rules) as { readonly groups: readonly { readonly rules: readonly Alert[] }[] };
  const rows = groups
    .flatMap(({ rules: alerts }) => alerts)
    .map(({ alert, labels, for: patience = 'at once', annotations }) => {
      const { description, action } = annotations;
      return `| \`${alert}\` | ${labels.severity} | ${patience} | ${withoutTemplates(description)} | ${withoutTemplates(action)} |`;
    });
  return ['| alert | severity | after | what it means | what to do |', '|---|---|---|---|---|', ...rows, ''].join('\n');
}

function withoutTemplates(text: string): string {
  return text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => label.toUpperCase());
}
