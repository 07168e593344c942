/** One time series as promtool writes them: what it is called, and its values, one a minute. */
export type Series = readonly [series: string, values: string];

/** When an alert fires, and when something that looks like it does not. */
export interface AlertCase {
  /** The problem begins at once, unless `begins` says at which minute. */
  readonly fires: readonly Series[];
  readonly begins?: number;
  /** Labels of the one alert that fires then. */
  readonly labels: Readonly<Record<string, string>>;
  readonly silent: readonly Series[];
}

const A = 'namespace="n",job="j",instance="a"';
const B = 'namespace="n",job="j",instance="b"';
const DAY = 86_400;

const is = (name: string, values: string, labels = '', at = A): Series => [
  `${name}{${at}${labels === '' ? '' : `,${labels}`}}`,
  values,
];
const west = 'cluster="west"';
const refused = `${west},reason="WrongToken",address="10.0.0.7"`;
const state = (name: string): string => `source="main",state="${name}"`;

const ended = (reason: string, values: string): Series =>
  is('fleetrelay_relay_streams_ended_total', values, `reason="${reason}"`);

/** Promtool's time starts at 0: so do these times of certificates. */
const certificate = (days: number): Series =>
  is('fleetrelay_certificate_expiry_timestamp_seconds', `${days * DAY}x200`, 'certificate="server"');

const clientCertificate = (issuedDays: number, endsDays: number): readonly Series[] => [
  is('fleetrelay_client_certificate_issue_timestamp_seconds', `${issuedDays * DAY}x200`, west),
  is('fleetrelay_client_certificate_expiry_timestamp_seconds', `${endsDays * DAY}x200`, west),
];

const commits = (slow: number): readonly Series[] => [
  is('fleetrelay_engine_commit_seconds_bucket', `0+${100 - slow}x60`, 'le="1"'),
  is('fleetrelay_engine_commit_seconds_bucket', `0+${100 - slow}x60`, 'le="2.5"'),
  is('fleetrelay_engine_commit_seconds_bucket', '0+100x60', 'le="10"'),
  is('fleetrelay_engine_commit_seconds_bucket', '0+100x60', 'le="+Inf"'),
];

const admission = (at: string, epoch: number, sequence: number): readonly Series[] => [
  is('fleetrelay_admission_epoch', `${epoch}x60`, '', at),
  is('fleetrelay_admission_sequence', `${sequence}x60`, '', at),
];

const ofMesh = (status: string): string => `mesh="default",status="${status}"`;

const dataplanes = (byStatus: Readonly<Record<string, string>>, at = A): readonly Series[] =>
  Object.entries(byStatus).map(([status, values]) => is('fleetrelay_dataplanes', values, ofMesh(status), at));

/** Shoots with this status of APIServerAvailable. */
const shoots = (status: string, values: string, over: Readonly<Record<string, string>> = {}, at = A): Series => {
  const labels = { operation: 'Reconcile', is_seed: 'false', purpose: 'production', iaas: 'aws', ...over };
  const texts = Object.entries({ condition: 'APIServerAvailable', status, ...labels });
  return is('fleetrelay_shoots_by_condition', values, texts.map(([name, text]) => `${name}="${text}"`).join(','), at);
};

/** What is no outage: a tenth, a short time, Seeds, other purposes, deletions, and what is only Progressing. */
const NO_OUTAGE: readonly Series[] = [
  shoots('True', '90x60'),
  shoots('False', '10x20 60x8 10x60'),
  shoots('Progressing', '20x60'),
  shoots('False', '50x60', { is_seed: 'true' }),
  shoots('False', '50x60', { purpose: 'testing' }),
  shoots('False', '50x60', { operation: 'Delete' }),
];

/** Of every alert. */
export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  FleetrelayServerGone: {
    fires: [is('fleetrelay_build_info', '1x9 stale', 'version="1"')],
    begins: 10,
    labels: { namespace: 'n', job: 'j' },
    // A restart, under another name and with another version.
    silent: [
      is('fleetrelay_build_info', '1x9 stale', 'version="1"'),
      is('fleetrelay_build_info', '_x10 1x50', 'version="2"', B),
    ],
  },
  FleetrelayServerNotReady: {
    fires: [is('fleetrelay_ready', '0x60'), is('fleetrelay_ready', '1x60', '', B)],
    labels: { instance: 'a' },
    silent: [is('fleetrelay_ready', '0x3 1x60')],
  },
  FleetrelayNoLeader: {
    fires: [is('fleetrelay_leader', '0x60'), is('fleetrelay_leader', '0x60', '', B)],
    labels: { job: 'j' },
    silent: [is('fleetrelay_leader', '0x60'), is('fleetrelay_leader', '1x60', '', B)],
  },
  FleetrelayTwoLeaders: {
    fires: [is('fleetrelay_leader', '1x60'), is('fleetrelay_leader', '1x60', '', B)],
    labels: { job: 'j' },
    // Two fleets.
    silent: [
      is('fleetrelay_leader', '1x60'),
      is('fleetrelay_leader', '1x60', '', 'namespace="n",job="k",instance="c"'),
    ],
  },
  FleetrelayAdmissionPaused: {
    fires: [is('fleetrelay_admission_paused', '1x60')],
    labels: { instance: 'a' },
    silent: [is('fleetrelay_admission_paused', '1x3 0x60')],
  },
  FleetrelayReplicaBehind: {
    fires: [...admission(A, 2, 7), ...admission(B, 2, 9)],
    labels: { instance: 'a' },
    // A higher sequence of an older epoch is another fleet's matter here: c and d are alone in their jobs.
    silent: [
      ...admission(A, 2, 9),
      ...admission(B, 2, 9),
      ...admission('namespace="n",job="k",instance="c"', 1, 70),
      ...admission('namespace="n",job="l",instance="d"', 3, 1),
    ],
  },
  FleetrelayStoreDown: {
    fires: [is('fleetrelay_store_up', '0x60')],
    labels: { instance: 'a' },
    silent: [is('fleetrelay_store_up', '0x0 1x60')],
  },
  FleetrelayStoreWritesFail: {
    fires: [is('fleetrelay_store_write_errors_total', '0+1x60', 'reason="MemoryFull"')],
    begins: 1,
    labels: { reason: 'MemoryFull' },
    silent: [
      is('fleetrelay_store_write_errors_total', '0+1x60', 'reason="Conflict"'),
      is('fleetrelay_store_write_errors_total', '4x60', 'reason="DiskFull"'),
    ],
  },
  FleetrelayAgentNotConnected: {
    fires: [
      is('relay_pull_clients_connected', '0x60', west),
      is('relay_pull_clients_connected', '0x60', west, B),
      is('relay_pull_clients_connected', '1x60', 'cluster="east"'),
    ],
    labels: { cluster: 'west', job: 'j' },
    // It is at the other replica, or its Shoot is hibernated.
    silent: [
      is('relay_pull_clients_connected', '0x60', west),
      is('relay_pull_clients_connected', '1x60', west, B),
      is('relay_pull_clients_connected', '0x60', 'cluster="east"'),
      is('fleetrelay_cluster_asleep', '1x60', 'cluster="east"'),
    ],
  },
  FleetrelayAgentNotWarmed: {
    fires: [is('relay_push_clients_warmed', '0x60', west), is('relay_pull_clients_connected', '1x60', west)],
    labels: { cluster: 'west' },
    // One that is not there at all is told by another alert.
    silent: [
      is('relay_push_clients_warmed', '0x60', west),
      is('relay_pull_clients_connected', '0x60', west),
      is('relay_push_clients_warmed', '0x60', 'cluster="east"'),
      is('relay_push_clients_warmed', '1x60', 'cluster="east"', B),
      is('relay_pull_clients_connected', '1x60', 'cluster="east"', B),
    ],
  },
  FleetrelayClusterAboveLimits: {
    fires: [
      is('fleetrelay_cluster_within_limits', '0x60', west),
      is('fleetrelay_cluster_within_limits', '1x60', 'cluster="east"'),
    ],
    labels: { cluster: 'west' },
    silent: [is('fleetrelay_cluster_within_limits', '0x7 1x60', west)],
  },
  FleetrelaySafeModeActive: {
    fires: [
      is('fleetrelay_safe_mode_active', '1x60', west),
      is('fleetrelay_safe_mode_active', '0x60', 'cluster="east"'),
    ],
    labels: { cluster: 'west' },
    silent: [is('fleetrelay_safe_mode_active', '1x7 0x60', west)],
  },
  FleetrelayClusterNotApplied: {
    fires: [is('fleetrelay_cluster_objects', '3x60', `${west},state="failed"`)],
    labels: { cluster: 'west' },
    silent: [
      is('fleetrelay_cluster_objects', '3x60', `${west},state="pending"`),
      is('fleetrelay_cluster_objects', '0x60', `${west},state="failed"`),
    ],
  },
  FleetrelayDeltasRejected: {
    fires: [is('fleetrelay_output_deltas_total', '0+1x60', 'outcome="rejected"')],
    begins: 15,
    labels: { instance: 'a' },
    silent: [
      is('fleetrelay_output_deltas_total', '0 1x60', 'outcome="rejected"'),
      is('fleetrelay_output_deltas_total', '0+50x60', 'outcome="accepted"'),
    ],
  },
  FleetrelayHeldRemovals: {
    fires: [is('fleetrelay_held_removals', '12x60', west), is('fleetrelay_held_removals', '0x60', west, B)],
    labels: { cluster: 'west' },
    silent: [is('fleetrelay_held_removals', '0x60', west)],
  },
  FleetrelaySourceFailing: {
    fires: [
      is('fleetrelay_source_state', '1x60', state('failing')),
      is('fleetrelay_source_state', '0x60', state('synced')),
    ],
    labels: { source: 'main' },
    silent: [
      is('fleetrelay_source_state', '1x60', state('synced')),
      is('fleetrelay_source_state', '1x5 0x60', state('failing')),
    ],
  },
  FleetrelaySourceRefused: {
    fires: [is('fleetrelay_source_state', '1x60', state('refused'))],
    labels: { source: 'main' },
    silent: [is('fleetrelay_source_state', '1x60', state('failing'))],
  },
  FleetrelaySourcePartial: {
    fires: [is('fleetrelay_source_partial', '1x60', 'source="main"')],
    labels: { source: 'main' },
    silent: [is('fleetrelay_source_partial', '0x60', 'source="main"')],
  },
  FleetrelayStatusNotWritten: {
    fires: [is('fleetrelay_status_branch_state', '1x60', 'state="failing"')],
    labels: { state: 'failing' },
    silent: [is('fleetrelay_status_branch_state', '1x60', 'state="pending"')],
  },
  FleetrelayCertificateEndsSoon: {
    fires: [certificate(20)],
    labels: { certificate: 'server' },
    silent: [
      certificate(200),
      is('fleetrelay_certificate_expiry_timestamp_seconds', `${3 * DAY}x200`, 'certificate="root"'),
    ],
  },
  FleetrelayCertificateEndsNow: {
    fires: [certificate(6)],
    labels: { certificate: 'server' },
    silent: [certificate(20)],
  },
  FleetrelayClientCertificateNotRenewed: {
    fires: clientCertificate(-85, 5),
    labels: { cluster: 'west' },
    // One day of a life of two is no problem.
    silent: clientCertificate(-1, 1),
  },
  FleetrelayFreshTokenNeededSoon: {
    fires: clientCertificate(-77, 13),
    labels: { cluster: 'west' },
    // One day of a life of two is no problem, nor are fifteen of ninety.
    silent: clientCertificate(-1, 1),
  },
  FleetrelayEnrolledAgain: {
    fires: [is('fleetrelay_enrolments_again_total', '0x5 1x60', west)],
    labels: { cluster: 'west' },
    silent: [is('fleetrelay_enrolments_again_total', '3x60', west)],
  },
  FleetrelayAgentRefused: {
    fires: [is('fleetrelay_agent_refusal_timestamp_seconds', '0+60x60', refused)],
    labels: { cluster: 'west', reason: 'WrongToken', address: '10.0.0.7' },
    silent: [is('fleetrelay_agent_refusal_timestamp_seconds', '0x60', refused)],
  },
  FleetrelayWrongTokens: {
    fires: [is('fleetrelay_wrong_tokens_total', '0+1x60'), is('fleetrelay_wrong_tokens_total', '0+1x60', '', B)],
    begins: 10,
    labels: { job: 'j' },
    silent: [is('fleetrelay_wrong_tokens_total', '0 3x60')],
  },
  FleetrelayConnectionsTurnedAway: {
    fires: [ended('TooManyConnections', '0+1x60'), ended('TooManyIdleConnections', '0+1x60')],
    begins: 6,
    labels: { instance: 'a' },
    silent: [ended('TooManyConnections', '0 3x60'), ended('WrongToken', '0+5x60')],
  },
  FleetrelayServicesOffline: {
    fires: [
      is('fleetrelay_services', '2x60', ofMesh('offline')),
      is('fleetrelay_services', '2x60', ofMesh('offline'), B),
      is('fleetrelay_services', '7x60', ofMesh('online')),
    ],
    labels: { mesh: 'default', job: 'j' },
    silent: [
      is('fleetrelay_services', '1x3 0x60', ofMesh('offline')),
      is('fleetrelay_services', '4x60', ofMesh('partially_degraded')),
    ],
  },
  FleetrelayDataplanesOffline: {
    fires: [
      ...dataplanes({ online: '170x60', partially_degraded: '9x60', offline: '21x60' }),
      ...dataplanes({ online: '170x60', partially_degraded: '9x60', offline: '21x60' }, B),
    ],
    labels: { mesh: 'default', job: 'j' },
    // A tenth for long, and all of them for a short time.
    silent: [
      ...dataplanes({ online: '80x60', partially_degraded: '10x60', offline: '10x60' }),
      ...dataplanes({ online: '0x9 90x60', partially_degraded: '0x60', offline: '90x9 0x60' }, B),
    ],
  },
  FleetrelayShootsUnavailable: {
    // Two replicas count the same Shoots, and a tenth is of all providers together.
    fires: [
      ...[A, B].flatMap((at) => [
        shoots('True', '70x60', {}, at),
        shoots('True', '18x60', { iaas: 'gcp' }, at),
        shoots('False', '6x60', {}, at),
        shoots('False', '6x60', { operation: 'Create' }, at),
      ]),
    ],
    labels: { namespace: 'n', job: 'j', severity: 'critical' },
    silent: NO_OUTAGE,
  },
  FleetrelayShootsUnavailableByProvider: {
    fires: [
      shoots('True', '1000x60'),
      shoots('False', '1x60'),
      shoots('True', '17x60', { iaas: 'gcp' }),
      shoots('False', '3x60', { iaas: 'gcp' }),
    ],
    labels: { iaas: 'gcp', job: 'j' },
    silent: NO_OUTAGE,
  },
  FleetrelayEndpointsRejected: {
    fires: [is('fleetrelay_eds_pushes_total', '0x30 1x60', 'result="rejected"')],
    begins: 31,
    labels: { instance: 'a' },
    silent: [
      is('fleetrelay_eds_pushes_total', '5x60', 'result="rejected"'),
      is('fleetrelay_eds_pushes_total', '0+9x60', 'result="accepted"'),
    ],
  },
  FleetrelayPullRequestsFail: {
    fires: [is('fleetrelay_pull_requests_total', '0x30 1x60', 'source="main",outcome="failed"')],
    begins: 31,
    labels: { source: 'main' },
    silent: [
      is('fleetrelay_pull_requests_total', '3x60', 'source="main",outcome="failed"'),
      is('fleetrelay_pull_requests_total', '0+2x60', 'source="main",outcome="planned"'),
    ],
  },
  FleetrelayCommitSlow: {
    fires: commits(3),
    begins: 1,
    labels: { instance: 'a' },
    silent: commits(0),
  },
  FleetrelayAgentNoLeader: {
    fires: [is('fleetrelay_agent_leader', '0x60', west), is('fleetrelay_agent_leader', '0x60', west, B)],
    labels: { cluster: 'west' },
    silent: [is('fleetrelay_agent_leader', '0x60', west), is('fleetrelay_agent_leader', '1x60', west, B)],
  },
  FleetrelayAgentCannotReadCluster: {
    fires: [is('fleetrelay_agent_cluster_readable', '0x60', west)],
    labels: { cluster: 'west' },
    silent: [is('fleetrelay_agent_cluster_readable', '0x3 1x60', west)],
  },
  FleetrelayAgentWritesFail: {
    fires: [is('fleetrelay_agent_object_write_failures_total', '0+2x60', `${west},reason="Forbidden"`)],
    begins: 3,
    labels: { cluster: 'west', reason: 'Forbidden' },
    silent: [is('fleetrelay_agent_object_write_failures_total', '0 3x60', `${west},reason="Forbidden"`)],
  },
  FleetrelayProbesUnknown: {
    fires: [['fleetrelay_probe_requests_total{namespace="n",pod="p",type="http",outcome="unknown"}', '0+1x60']],
    begins: 4,
    labels: { namespace: 'n', pod: 'p' },
    silent: [
      ['fleetrelay_probe_requests_total{namespace="n",pod="p",type="http",outcome="unknown"}', '0 2x60'],
      ['fleetrelay_probe_requests_total{namespace="n",pod="p",type="http",outcome="unhealthy"}', '0+1x60'],
    ],
  },
  FleetrelayInjectionsRefused: {
    fires: [is('fleetrelay_injections_total', '0+1x60', `${west},result="refused"`)],
    begins: 4,
    labels: { cluster: 'west', result: 'refused' },
    silent: [
      is('fleetrelay_injections_total', '0 2x60', `${west},result="failed"`),
      is('fleetrelay_injections_total', '0+9x60', `${west},result="rewritten"`),
    ],
  },
  FleetrelayAgentDriftFought: {
    fires: [is('fleetrelay_agent_drift_reversals_total', '0+2x60', `${west},drift="changed"`)],
    begins: 30,
    labels: { cluster: 'west' },
    silent: [is('fleetrelay_agent_drift_reversals_total', '0 5x60', `${west},drift="changed"`)],
  },
  FleetrelayAgentCannotReachServer: {
    fires: [is('fleetrelay_agent_link_failures_total', '0+1x60', `${west},reason="Unreachable"`)],
    begins: 15,
    labels: { cluster: 'west', reason: 'Unreachable' },
    silent: [is('fleetrelay_agent_link_failures_total', '0 2x60', `${west},reason="Unreachable"`)],
  },
};
