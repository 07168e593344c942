import { flag, type MetricSet } from './metric-set.ts';
import type { RelayClientView, Scrape } from './scrape.ts';

/** Agents, streams, and what goes over them. */
export function relayMetrics(set: MetricSet, scrape: () => Scrape): void {
  clientMetrics(set, scrape);
  trafficMetrics(set, scrape);
  trustMetrics(set, scrape);
}

function clientMetrics(set: MetricSet, scrape: () => Scrape): void {
  // Whoever should be here and is not has a sample as well: nobody can alert on what is missing.
  const perCluster = (
    value: (client: RelayClientView) => boolean,
  ): (readonly [{ readonly cluster: string }, number])[] => {
    const { fleet, relay } = scrape();
    const values = new Map(fleet.clusters.map(({ name }) => [name, 0]));
    for (const client of relay.clients) values.set(client.cluster, flag(value(client)));
    return [...values].map(([cluster, is]) => [{ cluster }, is]);
  };
  set.gauge('relay_push_clients_connected', 'Connected relay push clients, by cluster.', ['cluster'], () =>
    perCluster(({ push }) => push),
  );
  set.gauge('relay_pull_clients_connected', 'Connected relay pull clients, by cluster.', ['cluster'], () =>
    perCluster(({ pull }) => pull),
  );
  set.gauge(
    'relay_push_clients_warmed',
    'Connected relay push clients that have sent a complete input snapshot, by cluster.',
    ['cluster'],
    () => perCluster(({ push, cluster }) => push && scrape().replica.snapshots.has(cluster)),
  );
}

function trafficMetrics(set: MetricSet, scrape: () => Scrape): void {
  set.total('fleetrelay_relay_bytes_total', 'Bytes on the relay, by direction.', ['direction'], () => [
    [{ direction: 'in' }, scrape().relay.bytesIn],
    [{ direction: 'out' }, scrape().relay.bytesOut],
  ]);
  set.total('fleetrelay_output_deltas_total', 'Output deltas answered, by the answer.', ['outcome'], () => [
    [{ outcome: 'accepted' }, scrape().relay.outputsAccepted],
    [{ outcome: 'rejected' }, scrape().relay.outputsRejected],
  ]);
  set.total('fleetrelay_input_deltas_total', 'Input deltas taken.', [], () => [[{}, scrape().relay.inputDeltas]]);
  set.total('fleetrelay_results_total', 'Results of objects taken.', [], () => [[{}, scrape().relay.results]]);
  set.total('fleetrelay_relay_streams_ended_total', 'Relay streams that have ended, by reason.', ['reason'], () =>
    Object.entries(scrape().relay.ended).map(([reason, count]) => [{ reason }, count]),
  );
}

function trustMetrics(set: MetricSet, scrape: () => Scrape): void {
  set.total('fleetrelay_wrong_tokens_total', 'Wrong tokens, on streams and in registrations.', [], () => [
    [{}, scrape().relay.wrongTokens],
  ]);
  set.total('fleetrelay_registrations_total', 'Questions for client certificates, by outcome.', ['outcome'], () =>
    Object.entries(scrape().relay.registrations).map(([outcome, count]) => [{ outcome }, count]),
  );
  set.gauge(
    'fleetrelay_certificate_expiry_timestamp_seconds',
    "When the server's certificate, or an authority that signs certificates now, runs out, in seconds since 1970.",
    ['certificate'],
    () => scrape().relay.certificates.map(({ what, expiresAt }) => [{ certificate: what }, expiresAt / 1000]),
  );
  const ofClients = (name: string, help: string, when: 'issuedAt' | 'expiresAt'): void =>
    set.gauge(name, help, ['cluster'], () =>
      scrape().relay.clients.flatMap(({ cluster, certificate }) =>
        certificate === undefined ? [] : [[{ cluster }, certificate[when] / 1000] as const],
      ),
    );
  ofClients(
    'fleetrelay_client_certificate_issue_timestamp_seconds',
    'When the newest client certificate of a connected agent was issued, in seconds since 1970.',
    'issuedAt',
  );
  ofClients(
    'fleetrelay_client_certificate_expiry_timestamp_seconds',
    'When the newest client certificate of a connected agent runs out, in seconds since 1970.',
    'expiresAt',
  );
}
