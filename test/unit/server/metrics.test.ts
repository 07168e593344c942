import { expect, test } from 'vitest';
import { parseClusterName } from '../../../src/model/fleet/ids.ts';
import { must } from '../../../src/model/values/result.ts';
import {
  createServerMetrics,
  type ReplicaFigures,
  type Scrape,
  type StoreFigures,
} from '../../../src/server/metrics.ts';
import { runServer } from '../../support/running-server.ts';
import { clusterView, fleetView } from '../../support/server-api.ts';

test('a scrape has samples of that moment and no earlier ones', async () => {
  let clusters = [clusterView('east'), clusterView('west', { inSync: false })];
  const cause = { cluster: 'west', reason: 'SnapshotMissing', message: '' };
  const safeMode = { mode: 'scoped', causes: [cause] } as const;
  const metrics = createServerMetrics([], '1.2.3');
  const text = () =>
    metrics.text(
      scrapeOf({
        fleet: fleetView({ clusters, safeMode }),
        relay: relayView(clusters.map(({ name }) => ({ cluster: name, push: true, pull: false }))),
        replica: { ...REPLICA, snapshots: new Set(['west']) },
      }),
    );
  const first = await text();
  expect(first).toContain('relay_push_clients_connected{cluster="east"} 1');
  expect(first).toContain('relay_push_clients_warmed{cluster="west"} 1');
  expect(first).toContain('relay_push_clients_warmed{cluster="east"} 0');
  expect(first).toContain('relay_pull_clients_connected{cluster="east"} 0');
  expect(first).toContain('fleetrelay_cluster_in_sync{cluster="west"} 0');
  expect(first).toContain('fleetrelay_cluster_drifted_objects{cluster="west"} 0');
  expect(first).toContain('fleetrelay_cluster_objects{cluster="east",state="applied"} 2');
  expect(first).toContain('fleetrelay_source_state{source="main",state="synced"} 1');
  expect(first).toContain('fleetrelay_held_removals{cluster="east"} 1');
  expect(first).toContain('fleetrelay_safe_mode_active{cluster="west"} 1');
  expect(first).toContain('fleetrelay_safe_mode_active{cluster="east"} 0');
  expect(first).toContain('fleetrelay_build_info{version="1.2.3"} 1');
  expect(first).toContain('process_cpu_seconds_total');
  const ours = first.split('\n').filter((line) => /^(fleetrelay|relay)_/.test(line));
  expect(ours.filter((line) => /undefined|NaN/.test(line))).toEqual([]);

  clusters = [clusterView('east')];
  expect(await text()).not.toContain('"west"');
});

test('counters count, each set of metrics for itself', async () => {
  const scrape = (outputsAccepted: number) =>
    scrapeOf({ relay: { ...relayView([]), outputsAccepted, ended: { WrongToken: 3 } } });
  const [counted, untouched] = [createServerMetrics([], 'v'), createServerMetrics([], 'v')];
  await counted.text(scrape(1));
  counted.engineCommit(0.002, 12);
  const text = await counted.text(scrape(2));
  expect(text).toContain('fleetrelay_output_deltas_total{outcome="accepted"} 2');
  expect(text).toContain('fleetrelay_relay_streams_ended_total{reason="WrongToken"} 3');
  expect(text).toContain('fleetrelay_wrong_tokens_total 2');
  expect(text).toContain('fleetrelay_registrations_total{outcome="Issued"} 3');
  expect(text).toContain('fleetrelay_certificate_expiry_timestamp_seconds{certificate="server"} 1800000000');
  expect(text).toContain('fleetrelay_status_branch_state{state="synced"} 1');
  expect(text).toContain('fleetrelay_engine_commit_seconds_bucket{le="0.005"} 1');
  expect(text).toContain('fleetrelay_engine_computed_total 12');
  expect(await untouched.text(scrape(2))).toContain('fleetrelay_engine_computed_total 0');
});

test('a cluster without a connected agent has samples too, and is not warm by its snapshot alone', async () => {
  const certificate = { issuedAt: 1_700_000_000_000, expiresAt: 1_700_086_400_000 };
  const relay = relayView([{ cluster: 'east', push: true, pull: true, certificate }]);
  const replica = { ...REPLICA, snapshots: new Set(['east', 'west']) };
  const text = await createServerMetrics([], 'v').text(scrapeOf({ relay, replica }));
  expect(text).toContain('relay_push_clients_connected{cluster="west"} 0');
  expect(text).toContain('relay_pull_clients_connected{cluster="west"} 0');
  expect(text).toContain('relay_push_clients_warmed{cluster="east"} 1');
  expect(text).toContain('relay_push_clients_warmed{cluster="west"} 0');
  expect(text).toContain('fleetrelay_client_certificate_issue_timestamp_seconds{cluster="east"} 1700000000');
  expect(text).toContain('fleetrelay_client_certificate_expiry_timestamp_seconds{cluster="east"} 1700086400');
});

test('leader, admission, store and guards', async () => {
  const safeMode = { mode: 'scoped', causes: [{ cluster: 'west', reason: 'Missing', message: 'm' }] } as const;
  const metrics = createServerMetrics([], 'v');
  metrics.storeWrite(0.02);
  const replica = { ...REPLICA, leads: false, problem: 'no replica leads' };
  const text = await metrics.text(scrapeOf({ fleet: fleetView({ safeMode }), replica }));
  for (const line of [
    'fleetrelay_safe_mode_active{cluster="west"} 1',
    'fleetrelay_safe_mode_active{cluster="east"} 0',
    'fleetrelay_leader 0',
    'fleetrelay_replicas_alive 2',
    'fleetrelay_admission_paused 1',
    'fleetrelay_admission_epoch 5',
    'fleetrelay_admission_sequence 9',
    'fleetrelay_admission_timestamp_seconds 1800000000',
    'fleetrelay_held_removals_by_guard{guard="TooManyRemovals"} 4',
    'fleetrelay_removals_approved_total 3',
    'fleetrelay_approvals_used_total 2',
    'fleetrelay_store_up 0',
    'fleetrelay_store_writes_total 12',
    'fleetrelay_store_write_errors_total{reason="MemoryFull"} 2',
    'fleetrelay_store_records_refilled_total 70',
    'fleetrelay_agent_refusals_total{cluster="south",reason="WrongToken"} 5',
    'fleetrelay_store_write_seconds_bucket{le="0.05"} 1',
  ])
    expect(text.split('\n')).toContain(line);
});

test('the metrics of domains are gauges or counters with the samples of that moment', async () => {
  const definition = { labels: ['colour'], help: 'Flowers.' };
  const metrics = createServerMetrics(
    [
      { ...definition, name: 'flowers', type: 'gauge' },
      { ...definition, name: 'unknown_total', type: 'counter' },
    ],
    '1.2.3',
  );
  const textOf = (red: number) => metrics.text(scrapeOf({ ofDomains: new Map([['flowers', [['red', red]]]]) }));
  expect(await textOf(1)).toContain('# HELP flowers Flowers.\n# TYPE flowers gauge\nflowers{colour="red"} 1\n');
  const text = await textOf(2);
  expect(text).toContain('flowers{colour="red"} 2\n');
  // A metric without samples is declared all the same.
  expect(text).toContain('# TYPE unknown_total counter\n');
});

test('the last refusal of an agent is a time with its reason and address, also of a name that is not declared', async () => {
  const refusal = { reason: 'WrongToken', message: 'm', address: '10.0.0.7', at: '2026-01-01T00:00:00Z' };
  const fleet = fleetView({
    clusters: [clusterView('east', { refusal })],
    undeclaredAgents: { esat: { ...refusal, reason: 'UnknownCluster' } },
  });
  const lines = (await createServerMetrics([], '1.2.3').text(scrapeOf({ fleet }))).split('\n');
  const name = 'fleetrelay_agent_refusal_timestamp_seconds';
  expect(lines).toContain(`${name}{cluster="east",reason="WrongToken",address="10.0.0.7"} 1767225600`);
  expect(lines).toContain(`${name}{cluster="esat",reason="UnknownCluster",address="10.0.0.7"} 1767225600`);
});

test('the server sends the content type of Prometheus', async () => {
  const health = { ready: () => ({ ok: true, reasons: [] }) };
  const server = await runServer({ health, metrics: async () => 'up 1\n' });
  const response = await fetch(`${server.url}/metrics`);
  expect(response.headers.get('Content-Type')).toContain('text/plain; version=0.0.4');
  expect(await response.text()).toBe('up 1\n');
  await server.stop();
});

type Client = Scrape['relay']['clients'][number];

const REPLICA: ReplicaFigures = {
  leads: true,
  problem: '',
  admitted: { epoch: 5, sequence: 9 },
  admittedAt: 1_800_000_000_000,
  alive: 2,
  snapshots: new Set(),
  heldByGuard: new Map([['TooManyRemovals', 4]]),
  approvals: { granted: 3, used: 2 },
  refusals: new Map([['south', new Map([['WrongToken', 5]])]]),
};

const STORE: StoreFigures = { up: false, writes: 12, errors: new Map([['MemoryFull', 2]]), refilled: 70 };

function scrapeOf(shown: Partial<Scrape> = {}): Scrape {
  const pullRequests = [{ source: 'main', outcome: 'planned', count: 3 }];
  const own = { fleet: fleetView(), relay: relayView([]), replica: REPLICA, store: STORE, pullRequests };
  return { ...own, ofDomains: new Map(), ...shown };
}

function relayView(clients: readonly (Omit<Client, 'cluster'> & { readonly cluster: string })[]): Scrape['relay'] {
  return {
    clients: clients.map((client) => ({ ...client, cluster: must(parseClusterName(client.cluster)) })),
    bytesIn: 0,
    bytesOut: 0,
    outputsAccepted: 0,
    outputsRejected: 0,
    inputDeltas: 0,
    memory: { held: 0, queued: 0, waiting: 0 },
    inputDeltasRefused: 0,
    results: 0,
    wrongTokens: 2,
    registrations: { Issued: 3, WrongToken: 1 },
    ofClusters: {
      streams: { east: 3 },
      bytesIn: { east: 1_000 },
      decoded: { east: 40 },
      unknownResults: { east: 2 },
      enrolledAgain: { east: 1 },
    },
    certificates: [{ what: 'server', expiresAt: 1_800_000_000_000 }],
    ended: {},
  };
}
