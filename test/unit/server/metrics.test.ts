import { expect, test } from 'vitest';
import { createServerMetrics, type RelayView } from '../../../src/server/metrics.ts';
import { runServer } from '../../support/running-server.ts';
import { clusterView, fleetView } from '../../support/server-api.ts';

test('shows what is at the moment of the scrape, and nothing of what is gone', async () => {
  let clusters = [clusterView('east'), clusterView('west', { inSync: false })];
  const metrics = createServerMetrics(
    {
      fleet: () => fleetView({ clusters }),
      relay: () => relayView(clusters.map(({ name }) => ({ cluster: name, push: true, pull: false }))),
    },
    '1.2.3',
  );
  const first = await metrics.text();
  expect(first).toContain('relay_push_clients_connected{cluster="east"} 1');
  expect(first).toContain('relay_push_clients_warmed{cluster="west"} 1');
  expect(first).toContain('relay_pull_clients_connected{cluster="east"} 0');
  expect(first).toContain('fleetrelay_cluster_in_sync{cluster="west"} 0');
  expect(first).toContain('fleetrelay_cluster_objects{cluster="east",state="applied"} 2');
  expect(first).toContain('fleetrelay_source_state{source="main",state="synced"} 1');
  expect(first).toContain('fleetrelay_held_removals 1');
  expect(first).toContain('fleetrelay_build_info{version="1.2.3"} 1');
  expect(first).toContain('process_cpu_seconds_total');

  clusters = [clusterView('east')];
  expect(await metrics.text()).not.toContain('west');
});

test('counts what happens, each set of metrics for itself', async () => {
  let accepted = 1;
  const deps = {
    fleet: () => fleetView(),
    relay: () => ({ ...relayView([]), outputsAccepted: accepted, ended: { WrongToken: 3 } }),
  };
  const [counted, untouched] = [createServerMetrics(deps, 'v'), createServerMetrics(deps, 'v')];
  await counted.text();
  accepted = 2;
  counted.engineCommit(0.002, 12);
  const text = await counted.text();
  expect(text).toContain('fleetrelay_output_deltas_total{outcome="accepted"} 2');
  expect(text).toContain('fleetrelay_relay_streams_ended_total{reason="WrongToken"} 3');
  expect(text).toContain('fleetrelay_status_branch_state{state="synced"} 1');
  expect(text).toContain('fleetrelay_engine_commit_seconds_bucket{le="0.005"} 1');
  expect(text).toContain('fleetrelay_engine_computed_total 12');
  expect(await untouched.text()).toContain('fleetrelay_engine_computed_total 0');
});

test('is served as Prometheus expects it', async () => {
  const server = await runServer({ metrics: async () => 'up 1\n' });
  const response = await fetch(`${server.url}/metrics`);
  expect(response.headers.get('Content-Type')).toContain('text/plain; version=0.0.4');
  expect(await response.text()).toBe('up 1\n');
  await server.stop();
});

function relayView(clients: RelayView['clients']): RelayView {
  return {
    clients,
    bytesIn: 0,
    bytesOut: 0,
    outputsAccepted: 0,
    outputsRejected: 0,
    inputDeltas: 0,
    results: 0,
    ended: {},
  };
}
