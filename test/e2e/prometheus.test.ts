import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  agentMetricDefinitions,
  probeProxyMetricDefinitions,
  serverMetricDefinitions,
} from '../../scripts/docs/metrics-page.ts';
import type { MetricDefinition } from '../../src/server/metric-set.ts';
import { metricsNamedIn, PROJECT, RULE_FILE, readAlerts } from '../contract/prometheus/rules.ts';
import { type Fleet, startFleet, until } from '../support/fleet-processes.ts';
import { freePort } from '../support/free-port.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';
import { noProgram, programPath } from '../support/programs.ts';

const FILES = {
  'clusters/east.yaml': clusterYaml('east'),
  'clusters/west.yaml': clusterYaml('west'),
  'placements/apps.yaml': placementYaml('apps', 'apps/**'),
  'apps/a.yaml': configMapYaml('a', 'one'),
};

let fleet: Fleet;
let agentMetrics: string;

beforeAll(async () => {
  fleet = await startFleet(FILES);
  await fleet.agent('east').start({ args: ['--metrics', '127.0.0.1:0'] });
  const up = await until('the agent is up', () =>
    fleet.agent('east').logs.find(({ message }) => message === 'the agent is up'),
  );
  agentMetrics = String(up.health);
  await until('the object is there', () => fleet.live('east', 'ConfigMap/web/a'));
});

afterAll(() => fleet?.stop());

const textOf = async (address: string): Promise<string> => (await fetch(`${address}/metrics`)).text();

test('a server and an agent show the metrics of the documents, with those labels, and no others', async () => {
  await until('east is warm', async () =>
    (await textOf(fleet.server.metrics())).includes('relay_push_clients_warmed{cluster="east"} 1'),
  );
  const server = await textOf(fleet.server.metrics());
  sameMetrics(server, serverMetricDefinitions());
  sameMetrics(await textOf(agentMetrics), agentMetricDefinitions());
  const lines = server.split('\n');
  for (const line of [
    'relay_pull_clients_connected{cluster="east"} 1',
    'relay_pull_clients_connected{cluster="west"} 0',
    'relay_push_clients_warmed{cluster="west"} 0',
    'fleetrelay_leader 1',
    'fleetrelay_store_up 1',
    'fleetrelay_admission_paused 0',
    'fleetrelay_registrations_total{outcome="Issued"} 1',
  ])
    expect(lines).toContain(line);
  const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(server)?.[1]);
  expect(value('fleetrelay_admission_sequence')).toBeGreaterThan(0);
  expect(value('fleetrelay_store_writes_total')).toBeGreaterThan(0);
  expect(value('fleetrelay_store_write_seconds_count')).toBeGreaterThan(0);
  const left = value('fleetrelay_client_certificate_expiry_timestamp_seconds\\{cluster="east"\\}') - Date.now() / 1000;
  expect(left / 86_400).toBeGreaterThan(80);
  expect(left / 86_400).toBeLessThan(91);
});

test('alerts and dashboard ask for metrics that are shown', () => {
  const shown = new Set(
    [...serverMetricDefinitions(), ...agentMetricDefinitions(), ...probeProxyMetricDefinitions].flatMap(
      ({ name, type }) => (type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name]),
    ),
  );
  for (const path of [RULE_FILE, join(PROJECT, 'deploy', 'grafana', 'fleetrelay.json')]) {
    const named = metricsNamedIn(readFileSync(path, 'utf8'));
    expect(named.length).toBeGreaterThan(15);
    for (const name of named) expect(shown, `${name} in ${path}`).toContain(name);
  }
});

describe.skipIf(noProgram('prometheus'))('a real Prometheus', () => {
  let prometheus: ChildProcess | undefined;
  let address: string;

  beforeAll(async () => {
    const folder = fleet.sandbox.path;
    const config = join(folder, 'prometheus.json');
    const port = await freePort();
    address = `http://127.0.0.1:${port}`;
    const job = (name: string, url: string) => ({
      job_name: name,
      static_configs: [{ targets: [url.replace('http://', '')] }],
    });
    writeFileSync(
      config,
      JSON.stringify({
        global: { scrape_interval: '5s', scrape_timeout: '5s', evaluation_interval: '1s' },
        rule_files: [RULE_FILE],
        scrape_configs: [job('fleetrelay', fleet.server.metrics()), job('fleetrelay-agent', agentMetrics)],
      }),
    );
    const args = [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'tsdb')}`];
    prometheus = spawn(programPath('prometheus'), [...args, `--web.listen-address=127.0.0.1:${port}`], {
      stdio: 'ignore',
    });
  });

  afterAll(async () => {
    if (prometheus === undefined || prometheus.exitCode !== null) return;
    const ended = once(prometheus, 'exit');
    prometheus.kill('SIGKILL');
    await ended;
  });

  const ask = async (path: string) =>
    ((await (await fetch(`${address}/api/v1/${path}`)).json()) as { readonly data: unknown }).data;

  test('scrapes both, takes the rules, and sees who is away', async () => {
    const targets = await until('both are scraped', async () => {
      const { activeTargets } = (await ask('targets')) as { readonly activeTargets: readonly Target[] };
      return activeTargets.length === 2 && activeTargets.every(({ health }) => health === 'up') && activeTargets;
    });
    expect(targets.map(({ labels }) => labels.job).sort()).toEqual(['fleetrelay', 'fleetrelay-agent']);
    const { groups } = (await ask('rules')) as { readonly groups: readonly { readonly rules: readonly Rule[] }[] };
    const rules = groups.flatMap(({ rules }) => rules);
    expect(rules.map(({ name }) => name).sort()).toEqual(
      readAlerts()
        .map(({ alert }) => alert)
        .sort(),
    );
    // What it could not scrape in time once is there as well until the next time.
    const alerts = await until('one alert is there', async () => {
      const { alerts } = (await ask('alerts')) as { readonly alerts: readonly Alert[] };
      return alerts.length === 1 && alerts;
    });
    // East is connected and in sync; west is declared, and no agent of it connected.
    expect(alerts.map(({ labels, state }) => ({ ...labels, state }))).toEqual([
      {
        alertname: 'FleetrelayAgentNotConnected',
        job: 'fleetrelay',
        cluster: 'west',
        severity: 'warning',
        state: 'pending',
      },
    ]);
    expect(alerts[0]?.annotations.summary).toBe('The agent of cluster west is not connected');
  });
});

interface Target {
  readonly health: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface Rule {
  readonly name: string;
}

interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: string;
}

function sameMetrics(text: string, definitions: readonly MetricDefinition[]): void {
  const ours = [...text.matchAll(/^# TYPE ((?:fleetrelay|relay)_\w+) (\w+)$/gm)].map(
    ([, name, type]) => `${name} ${type}`,
  );
  expect(ours.sort()).toEqual(definitions.map(({ name, type }) => `${name} ${type}`).sort());
  for (const { name, type, labels } of definitions) {
    const known = type === 'histogram' ? [...labels, 'le'] : labels;
    for (const [, , inner = ''] of text.matchAll(new RegExp(`^${name}(_bucket|_sum|_count)?\\{(.*)\\} `, 'gm'))) {
      for (const [, label] of inner.matchAll(/(\w+)="/g)) expect(known, `${name}: ${label}`).toContain(label);
    }
  }
}
