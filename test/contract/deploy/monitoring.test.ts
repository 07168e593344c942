import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { noProgram } from '../../support/programs.ts';
import { promtool } from '../../support/promtool.ts';
import { readAlerts } from '../prometheus/rules.ts';
import { AGENT_RELEASES, SERVER_RELEASES } from './releases.ts';
import { lintChart, type Manifest, PROJECT, type Release, renderChart, renderOverlay } from './rendering.ts';

const OPERATOR = 'monitoring.coreos.com/v1';
const ALL = readAlerts().map(({ alert }) => alert);
const OF_AGENTS = readAlerts('fleetrelay-agent').map(({ alert }) => alert);

describe.skipIf(noProgram('helm'))('monitoring by the charts', () => {
  const labels = { release: 'kube-prometheus-stack' };
  const monitored = (release: Release | undefined, monitoring: object): Release => {
    if (release === undefined) throw new Error('no such release');
    return { ...release, values: { ...release.values, monitoring } };
  };

  test('there is none unless it is asked for', async () => {
    for (const [chart, release] of [
      ['fleetrelay', SERVER_RELEASES.least],
      ['fleetrelay-agent', AGENT_RELEASES.least],
    ] as const) {
      const objects = await renderChart(chart, monitored(release, {}));
      expect(objects.filter(({ apiVersion }) => apiVersion === OPERATOR)).toEqual([]);
      expect(objects.filter(({ metadata }) => metadata.name.endsWith('dashboard'))).toEqual([]);
    }
  });

  test.for(['least', 'most'])('management server, %s', async (name) => {
    const release = monitored(SERVER_RELEASES[name], { enabled: true, interval: '15s', labels });
    expect(await lintChart('fleetrelay', release.values)).toBe('');
    const objects = await renderChart('fleetrelay', release);
    const monitor = only(objects, 'ServiceMonitor');
    expect(monitor.metadata.labels).toMatchObject(labels);
    expect(monitor.spec.endpoints).toEqual([{ port: 'metrics', interval: '15s' }]);
    const selected = objects.filter(
      ({ kind, metadata }) => kind === 'Service' && isSelected(metadata.labels, monitor.spec.selector.matchLabels),
    );
    const ports = selected.flatMap(({ spec }) => spec.ports).filter(({ name: port }) => port === 'metrics');
    expect(ports.map(({ targetPort }) => targetPort)).toEqual(['metrics']);
    expect(only(objects, 'PrometheusRule').metadata.labels).toMatchObject(labels);
    await rulesAre(only(objects, 'PrometheusRule'), ALL);
    const dashboard = objects.find(({ metadata }) => metadata.name.endsWith('-dashboard'));
    expect(dashboard?.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
    expect(JSON.parse(dashboard?.data['fleetrelay.json'])).toEqual(shippedDashboard());
  });

  test('agent', async () => {
    const release = monitored(AGENT_RELEASES.least, { enabled: true, labels });
    expect(await lintChart('fleetrelay-agent', release.values)).toBe('');
    const objects = await renderChart('fleetrelay-agent', release);
    const monitor = only(objects, 'PodMonitor');
    const pod = only(objects, 'Deployment').spec.template;
    expect(isSelected(pod.metadata.labels, monitor.spec.selector.matchLabels)).toBe(true);
    const [{ port }] = monitor.spec.podMetricsEndpoints;
    expect(pod.spec.containers[0].ports.map(({ name }: { readonly name: string }) => name)).toContain(port);
    await rulesAre(only(objects, 'PrometheusRule'), OF_AGENTS);
  });

  test('alerts and dashboard can be left out, and a misspelt value is refused', async () => {
    const without = monitored(SERVER_RELEASES.least, { enabled: true, rules: false, dashboard: false });
    const kinds = (await renderChart('fleetrelay', without)).map(({ kind }) => kind);
    expect(kinds).toContain('ServiceMonitor');
    expect(kinds).not.toContain('PrometheusRule');
    expect(kinds.filter((kind) => kind === 'ConfigMap')).toHaveLength(1);
    const misspelt = monitored(SERVER_RELEASES.least, { enabled: true, rule: true });
    await expect(renderChart('fleetrelay', misspelt)).rejects.toThrow(/rule/);
  });
});

describe.skipIf(noProgram('kubectl'))('monitoring by kustomize', () => {
  const overlay = (base: string, component: string): string =>
    [
      'apiVersion: kustomize.config.k8s.io/v1beta1',
      'kind: Kustomization',
      `resources: [../../../../deploy/kustomize/${base}]`,
      `components: [../../../../deploy/kustomize/components/${component}]`,
    ].join('\n');

  test('management server', async () => {
    const objects = await renderOverlay({ 'kustomization.yaml': overlay('management-server', 'monitoring-server') });
    const monitor = only(objects, 'ServiceMonitor');
    const services = objects.filter(
      ({ kind, metadata }) => kind === 'Service' && isSelected(metadata.labels, monitor.spec.selector.matchLabels),
    );
    const ports = services.flatMap(({ spec }) => spec.ports).map(({ name }) => name);
    expect(ports.filter((name) => name === monitor.spec.endpoints[0].port)).toHaveLength(1);
    await rulesAre(only(objects, 'PrometheusRule'), ALL);
    const dashboard = objects.find(({ metadata }) => metadata.name === 'fleetrelay-dashboard');
    expect(dashboard?.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
    expect(JSON.parse(dashboard?.data['fleetrelay.json'])).toEqual(shippedDashboard());
  });

  test('agent', async () => {
    const objects = await renderOverlay({ 'kustomization.yaml': overlay('agent', 'monitoring-agent') });
    const monitor = only(objects, 'PodMonitor');
    const pod = only(objects, 'Deployment').spec.template;
    expect(isSelected(pod.metadata.labels, monitor.spec.selector.matchLabels)).toBe(true);
    const ports = pod.spec.containers[0].ports.map(({ name }: { readonly name: string }) => name);
    expect(ports).toContain(monitor.spec.podMetricsEndpoints[0].port);
    await rulesAre(only(objects, 'PrometheusRule'), OF_AGENTS);
  });
});

function only(objects: readonly Manifest[], kind: string): Manifest {
  const [first, ...others] = objects.filter((object) => object.kind === kind);
  if (first === undefined || others.length > 0) throw new Error(`not one ${kind}`);
  return first;
}

function isSelected(labels: Readonly<Record<string, string>> = {}, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([name, value]) => labels[name] === value);
}

/** The alerts are there by name, and promtool takes them as they were rendered. */
async function rulesAre({ spec }: Manifest, alerts: readonly string[]): Promise<void> {
  const groups = spec.groups as readonly { readonly rules: readonly { readonly alert: string }[] }[];
  expect(groups.flatMap(({ rules }) => rules.map(({ alert }) => alert))).toEqual(alerts);
  expect(JSON.stringify(spec)).toContain('{{ $labels.cluster }}');
  if (noProgram('promtool')) return;
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-rules-'));
  try {
    writeFileSync(join(folder, 'rules.json'), JSON.stringify(spec));
    expect(await promtool('check', 'rules', join(folder, 'rules.json'))).toContain(`${alerts.length} rules found`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function shippedDashboard(): unknown {
  return JSON.parse(readFileSync(join(PROJECT, 'deploy', 'grafana', 'fleetrelay.json'), 'utf8'));
}
