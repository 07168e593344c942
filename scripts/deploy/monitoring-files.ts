import { load } from 'js-yaml';
import { printYaml } from '../../src/manifest/print-yaml.ts';
import type { JsonObject } from '../../src/model/text/json.ts';
import { dashboard } from './dashboard.ts';

const HEADER = '# Generated from deploy/prometheus/fleetrelay.rules.yaml. Do not edit; run "npm run generate".\n';
const SERVER = 'deploy/kustomize/components/monitoring-server';
const AGENT = 'deploy/kustomize/components/monitoring-agent';
const MONITORING = 'monitoring.coreos.com/v1';

/** Path below the project → text: the dashboard, and what carries it and the rules into clusters. */
export function monitoringFiles(rules: string): ReadonlyMap<string, string> {
  const { groups } = load(rules) as { readonly groups: readonly { readonly name: string }[] };
  const ofAgents = { groups: groups.filter(({ name }) => name === 'fleetrelay-agent') } as unknown as JsonObject;
  const panels = `${JSON.stringify(dashboard(), null, 2)}\n`;
  return new Map([
    ['deploy/grafana/fleetrelay.json', panels],
    ['deploy/helm/fleetrelay/files/fleetrelay.json', panels],
    ['deploy/helm/fleetrelay/files/fleetrelay.rules.yaml', rules],
    ['deploy/helm/fleetrelay-agent/files/fleetrelay-agent.rules.yaml', HEADER + printYaml(ofAgents)],
    [`${SERVER}/fleetrelay.json`, panels],
    [`${SERVER}/monitor.yaml`, documents(serverMonitor(), rulesOf('fleetrelay-server', { groups } as JsonObject))],
    [
      `${SERVER}/kustomization.yaml`,
      component({
        configMapGenerator: [
          {
            name: 'fleetrelay-dashboard',
            files: ['fleetrelay.json'],
            options: { disableNameSuffixHash: true, labels: { grafana_dashboard: '1' } },
          },
        ],
      }),
    ],
    [`${AGENT}/monitor.yaml`, documents(agentMonitor(), rulesOf('fleetrelay-agent', ofAgents))],
    [`${AGENT}/kustomization.yaml`, component({})],
  ]);
}

function serverMonitor(): JsonObject {
  const endpoints = [{ port: 'metrics', interval: '30s' }];
  return monitor('ServiceMonitor', 'fleetrelay-server', { endpoints });
}

function agentMonitor(): JsonObject {
  const podMetricsEndpoints = [{ port: 'health', interval: '30s' }];
  return monitor('PodMonitor', 'fleetrelay-agent', { podMetricsEndpoints });
}

function monitor(kind: string, name: string, endpoints: JsonObject): JsonObject {
  const selector = { matchLabels: { 'app.kubernetes.io/name': name } };
  return { apiVersion: MONITORING, kind, metadata: metadataOf(name), spec: { selector, ...endpoints } };
}

function rulesOf(name: string, spec: JsonObject): JsonObject {
  return { apiVersion: MONITORING, kind: 'PrometheusRule', metadata: metadataOf(name), spec };
}

function metadataOf(name: string): JsonObject {
  return { name, labels: { 'app.kubernetes.io/name': name, 'app.kubernetes.io/part-of': 'fleetrelay' } };
}

function component(content: JsonObject): string {
  const said = { apiVersion: 'kustomize.config.k8s.io/v1alpha1', kind: 'Component', resources: ['monitor.yaml'] };
  return HEADER + printYaml({ ...said, ...content });
}

function documents(...objects: readonly JsonObject[]): string {
  return HEADER + objects.map((object) => printYaml(object)).join('---\n');
}
