import type { JsonObject } from '../../src/model/text/json.ts';
import { lines, type Panel, quantile, type Row, SERVER, stat, timeline } from './panels.ts';
import { SHOOTS } from './shoot-panels.ts';

const CLUSTER = `${SERVER}, cluster=~"$cluster"`;
const AGENT = 'cluster=~"$cluster"';

const OVERVIEW: Row = {
  title: 'Overview',
  panels: [
    stat('Servers', `count(fleetrelay_build_info{${SERVER}})`, { redBelow: 1 }),
    stat('Leaders', `sum(fleetrelay_leader{${SERVER}})`, { redBelow: 1, description: 'One, neither none nor two.' }),
    stat('Agents connected', `sum(max by (cluster) (relay_pull_clients_connected{${CLUSTER}}))`),
    stat('Agents away', `sum(1 - max by (cluster) (relay_pull_clients_connected{${CLUSTER}}))`, { redFrom: 1 }),
    stat('Not in sync', `sum(1 - min by (cluster) (fleetrelay_cluster_in_sync{${CLUSTER}}))`, { redFrom: 1 }),
    stat('In safe mode', `sum(max by (cluster) (fleetrelay_safe_mode_active{${CLUSTER}}))`, { redFrom: 1 }),
    stat('Removals held', `sum(max by (cluster) (fleetrelay_held_removals{${CLUSTER}}))`, { redFrom: 1 }),
    stat('Errors in sources', `max(fleetrelay_diagnostics{${SERVER}, severity="error"})`, { redFrom: 1 }),
  ],
};

const SAFE_MODE: Row = {
  title: 'Safe mode by cluster',
  panels: [
    timeline('Waited for', `max by (cluster) (fleetrelay_safe_mode_active{${CLUSTER}})`, '{{cluster}}', {
      description: 'Outputs that depend on these clusters stay as they are: the cluster cannot be seen.',
      redFrom: 1,
    }),
    timeline('Warm', `max by (cluster) (relay_push_clients_warmed{${CLUSTER}})`, '{{cluster}}', { redBelow: 1 }),
  ],
};

const CLUSTERS: Row = {
  title: 'Clusters',
  panels: [
    lines('Objects by state', [
      [`sum by (state) (max by (cluster, state) (fleetrelay_cluster_objects{${CLUSTER}}))`, '{{state}}'],
    ]),
    lines('Objects that cannot be applied', [
      [`max by (cluster) (fleetrelay_cluster_objects{${CLUSTER}, state="failed"}) > 0`, '{{cluster}}'],
    ]),
  ],
};

const RELAY: Row = {
  title: 'Relay',
  panels: [
    lines('Agents by replica', [[`sum by (instance) (relay_pull_clients_connected{${CLUSTER}})`, '{{instance}}']]),
    lines('Deltas', [
      [`sum by (outcome) (rate(fleetrelay_output_deltas_total{${SERVER}}[5m]))`, 'output, {{outcome}}'],
      [`sum(rate(fleetrelay_input_deltas_total{${SERVER}}[5m]))`, 'input'],
      [`sum(rate(fleetrelay_results_total{${SERVER}}[5m]))`, 'results of objects'],
    ]),
    lines(
      'Bytes',
      [[`sum by (direction) (rate(fleetrelay_relay_bytes_total{${SERVER}}[5m]))`, '{{direction}}']],
      'Bps',
    ),
    lines('Streams that ended', [
      [`sum by (reason) (rate(fleetrelay_relay_streams_ended_total{${SERVER}}[5m])) > 0`, '{{reason}}'],
    ]),
  ],
};

const STORE: Row = {
  title: 'Store',
  panels: [
    timeline('Answers', `fleetrelay_store_up{${SERVER}}`, '{{instance}}', { redBelow: 1 }),
    lines('Writes', [
      [`sum by (instance) (rate(fleetrelay_store_writes_total{${SERVER}}[5m]))`, '{{instance}}'],
      [`sum by (reason) (rate(fleetrelay_store_write_errors_total{${SERVER}}[5m])) > 0`, 'not written: {{reason}}'],
      [`sum(rate(fleetrelay_store_records_refilled_total{${SERVER}}[5m])) > 0`, 'records written again'],
    ]),
    lines(
      'Time of a write',
      [
        [quantile('0.5', `fleetrelay_store_write_seconds_bucket{${SERVER}}`), 'half'],
        [quantile('0.99', `fleetrelay_store_write_seconds_bucket{${SERVER}}`), '99 of 100'],
      ],
      's',
    ),
  ],
};

const LEADER: Row = {
  title: 'Leader and engine',
  panels: [
    timeline('Leads', `fleetrelay_leader{${SERVER}}`, '{{instance}}', {}),
    lines('Admission', [
      [`fleetrelay_admission_sequence{${SERVER}}`, '{{instance}}: sequence'],
      [`fleetrelay_replicas_alive{${SERVER}}`, '{{instance}}: replicas that it hears'],
      [`fleetrelay_admission_paused{${SERVER}} > 0`, '{{instance}}: paused'],
    ]),
    lines(
      'Since the last admission',
      [[`time() - fleetrelay_admission_timestamp_seconds{${SERVER}}`, '{{instance}}']],
      's',
    ),
    lines(
      'Time of a commit',
      [
        [quantile('0.5', `fleetrelay_engine_commit_seconds_bucket{${SERVER}}`), 'half'],
        [quantile('0.99', `fleetrelay_engine_commit_seconds_bucket{${SERVER}}`), '99 of 100'],
      ],
      's',
    ),
    lines('Memory', [[`process_resident_memory_bytes{${SERVER}}`, '{{instance}}']], 'bytes'),
    lines('Sources that are not in order', [
      [`max by (source, state) (fleetrelay_source_state{${SERVER}, state!="synced"}) > 0`, '{{source}}: {{state}}'],
      [`max by (source) (fleetrelay_source_partial{${SERVER}}) > 0`, '{{source}}: partial'],
    ]),
  ],
};

const GUARDS: Row = {
  title: 'Guards',
  panels: [
    lines('Removals held, by cluster', [
      [`max by (cluster) (fleetrelay_held_removals{${CLUSTER}}) > 0`, '{{cluster}}'],
    ]),
    lines('Removals held, by guard', [[`max by (guard) (fleetrelay_held_removals_by_guard{${SERVER}})`, '{{guard}}']]),
    lines('Approvals', [
      [`sum(increase(fleetrelay_removals_approved_total{${SERVER}}[1h]))`, 'approved'],
      [`sum(increase(fleetrelay_approvals_used_total{${SERVER}}[1h]))`, 'happened'],
    ]),
  ],
};

const CERTIFICATES: Row = {
  title: 'Certificates',
  panels: [
    lines(
      'Of the server: time left',
      [
        [
          `min by (certificate) (fleetrelay_certificate_expiry_timestamp_seconds{${SERVER}}) - time()`,
          '{{certificate}}',
        ],
      ],
      's',
    ),
    lines(
      'Of agents: time left, the five shortest',
      [
        [
          `bottomk(5, max by (cluster) (fleetrelay_client_certificate_expiry_timestamp_seconds{${CLUSTER}}) - time())`,
          '{{cluster}}',
        ],
      ],
      's',
    ),
    lines('Registrations', [
      [`sum by (outcome) (increase(fleetrelay_registrations_total{${SERVER}}[1h]))`, '{{outcome}}'],
      [`sum(increase(fleetrelay_wrong_tokens_total{${SERVER}}[1h]))`, 'wrong tokens'],
    ]),
  ],
};

const DATAPLANES: Row = {
  title: 'Data planes and services',
  panels: [
    lines('Data planes by status', [[byStatus(`fleetrelay_dataplanes{${SERVER}}`), '{{status}}']]),
    lines('Services by status', [[byStatus(`fleetrelay_services{${SERVER}}`), '{{status}}']]),
    lines('Services that are not online, the ten meshes with the most', [
      [
        `topk(10, sum by (mesh) (max by (namespace, job, mesh, status) (fleetrelay_services{${SERVER}, status!="online"})) > 0)`,
        '{{mesh}}',
      ],
    ]),
    lines('Streams on which Envoys report health', [
      [`sum by (instance) (fleetrelay_hds_streams{${SERVER}})`, '{{instance}}'],
    ]),
    lines('Reports of Envoys', [
      [`sum by (result) (rate(fleetrelay_hds_reports_total{${SERVER}}[5m]))`, '{{result}}'],
      [`sum by (reason) (rate(fleetrelay_xds_refusals_total{${SERVER}}[5m])) > 0`, 'stream refused: {{reason}}'],
    ]),
    lines('Endpoints sent to Envoys, and their answers', [
      [`sum by (result) (rate(fleetrelay_eds_pushes_total{${SERVER}}[5m]))`, '{{result}}'],
    ]),
  ],
};

const AGENTS: Row = {
  title: 'Agents (where this data source has them)',
  panels: [
    lines(
      'Time until a delta is durable',
      [[quantile('0.99', `fleetrelay_agent_delta_apply_seconds_bucket{${AGENT}}`), '99 of 100']],
      's',
    ),
    lines('Writes', [
      [`sum by (operation) (rate(fleetrelay_agent_object_writes_total{${AGENT}}[5m]))`, '{{operation}}'],
      [`sum by (reason) (rate(fleetrelay_agent_object_write_failures_total{${AGENT}}[5m])) > 0`, 'failed: {{reason}}'],
    ]),
    lines('Drift put back', [
      [
        `sum by (cluster, drift) (increase(fleetrelay_agent_drift_reversals_total{${AGENT}}[1h])) > 0`,
        '{{cluster}}: {{drift}}',
      ],
    ]),
    lines('Links that failed', [
      [
        `sum by (cluster, reason) (increase(fleetrelay_agent_link_failures_total{${AGENT}}[1h])) > 0`,
        '{{cluster}}: {{reason}}',
      ],
    ]),
    lines('Deltas refused', [
      [
        `sum by (cluster, reason) (increase(fleetrelay_agent_deltas_refused_total{${AGENT}}[1h])) > 0`,
        '{{cluster}}: {{reason}}',
      ],
    ]),
    lines('Pods reviewed by the webhook', [
      [`sum by (cluster, result) (rate(fleetrelay_injections_total{${AGENT}}[5m])) > 0`, '{{cluster}}: {{result}}'],
    ]),
    timeline('Stop button', `max by (cluster) (fleetrelay_agent_paused{${AGENT}})`, '{{cluster}}', { redFrom: 1 }),
  ],
};

const PROBES: Row = {
  title: 'Probe proxies (where this data source has them)',
  panels: [
    lines('Probes', [['sum by (type, outcome) (rate(fleetrelay_probe_requests_total[5m]))', '{{type}}: {{outcome}}']]),
    lines('Requests that are no listed probe, the ten Pods with the most', [
      [
        'topk(10, sum by (namespace, pod) (increase(fleetrelay_probe_requests_total{outcome="unknown"}[1h])) > 0)',
        '{{namespace}}/{{pod}}',
      ],
    ]),
  ],
};

const ROWS: readonly Row[] = [
  OVERVIEW,
  SAFE_MODE,
  CLUSTERS,
  RELAY,
  STORE,
  LEADER,
  GUARDS,
  CERTIFICATES,
  DATAPLANES,
  SHOOTS,
  AGENTS,
  PROBES,
];

/** Replicas count the same data planes, so each fleet counts once in the sum. */
function byStatus(metric: string): string {
  return `sum by (status) (max by (namespace, job, mesh, status) (${metric}))`;
}

/** The dashboard as Grafana imports it. */
export function dashboard(): JsonObject {
  let id = 0;
  let y = 0;
  const panels = ROWS.flatMap(({ title, panels: ofRow }) => {
    const row = { id: ++id, type: 'row', title, collapsed: false, panels: [], gridPos: { h: 1, w: 24, x: 0, y } };
    y += 1;
    let x = 0;
    const height = ofRow.every(({ type }) => type === 'stat') ? 4 : 8;
    const laid = ofRow.map((panel) => {
      const width = panel.width ?? 12;
      if (x + width > 24) {
        x = 0;
        y += height;
      }
      const at = { h: height, w: width, x, y };
      x += width;
      return panelJson(panel, ++id, at);
    });
    y += height;
    return [row, ...laid];
  });
  return {
    uid: 'fleetrelay',
    title: 'fleetrelay',
    tags: ['fleetrelay'],
    schemaVersion: 38,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: variables() },
    panels,
  };
}

const DATASOURCE = { type: 'prometheus', uid: '$datasource' };

function variables(): JsonObject[] {
  const query = (name: string, label: string, expr: string): JsonObject => ({
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query: { query: expr, refId: name },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
  });
  return [
    { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', current: {} },
    query('namespace', 'Namespace', 'label_values(fleetrelay_build_info, namespace)'),
    query('job', 'Fleet (job)', 'label_values(fleetrelay_build_info{namespace=~"$namespace"}, job)'),
    query('cluster', 'Cluster', `label_values(relay_pull_clients_connected{${SERVER}}, cluster)`),
  ];
}

function panelJson(panel: Panel, id: number, gridPos: JsonObject): JsonObject {
  const { title, type, queries, unit, description } = panel;
  const isTimeline = type === 'state-timeline';
  return {
    id,
    type,
    title,
    ...(description === undefined ? {} : { description }),
    datasource: DATASOURCE,
    gridPos,
    targets: queries.map(([expr, legendFormat], index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat,
      instant: type === 'stat',
    })),
    fieldConfig: {
      defaults: {
        unit: unit ?? 'short',
        ...(isTimeline ? {} : { min: 0 }),
        thresholds: { mode: 'absolute', steps: steps(panel) },
        color: { mode: type === 'timeseries' ? 'palette-classic' : 'thresholds' },
        ...(isTimeline
          ? { mappings: [{ type: 'value', options: { '0': { text: 'no' }, '1': { text: 'yes' } } }] }
          : {}),
      },
      overrides: [],
    },
    options: type === 'stat' ? { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'background' } : {},
  };
}

function steps({ redFrom, redBelow }: Panel): JsonObject[] {
  if (redBelow !== undefined)
    return [
      { color: 'red', value: null },
      { color: 'green', value: redBelow },
    ];
  const green: JsonObject = { color: 'green', value: null };
  return redFrom === undefined ? [green] : [green, { color: 'red', value: redFrom }];
}
