import { type Diagnostic, displayLocation } from '../../model/diagnostic.ts';
import { counted } from '../../model/messages.ts';
import type { ClusterView, FleetView, OutputView, SourceView } from '../../server/api.ts';
import type { Finding } from './finding.ts';

/** At most so many objects of one cluster are named; the rest is counted. */
const NAMED = 10;
const KIND_UNKNOWN = 'KindUnknown';

/** What a server's own account of its fleet says is wrong, in the order of that account. */
export function fleetFindings(
  fleet: FleetView,
  outputs: readonly OutputView[],
  command: { readonly version: string; readonly api: string },
): readonly Finding[] {
  return [
    ...serverFindings(fleet, command),
    ...fleet.sources.flatMap(sourceFindings),
    ...fleet.diagnostics.map(diagnosticFinding),
    ...statusBranchFindings(fleet),
    ...heldFindings(fleet),
    ...safeModeFindings(fleet),
    ...fleet.clusters.flatMap((cluster) =>
      clusterFindings(
        cluster,
        outputs.filter((output) => output.cluster === cluster.name),
        fleet.version,
      ),
    ),
    ...(fleet.clusters.length > 0 ? [] : [noClusters]),
  ];
}

const noClusters: Finding = {
  severity: 'warning',
  area: 'cluster',
  reason: 'NoClusters',
  where: 'fleet',
  what: 'no KubernetesCluster is declared',
  fix: 'fleetrelay cluster register NAME --help',
};

function serverFindings(
  { fleet, ready, version, notReady, metricsAddress }: FleetView,
  command: { readonly version: string; readonly api: string },
): readonly Finding[] {
  const at = { area: 'server', where: command.api } as const;
  return [
    { ...at, severity: 'ok', reason: 'ServerReachable', what: `the server of the fleet ${fleet} answers (${version})` },
    ready
      ? { ...at, severity: 'ok', reason: 'ServerReady', what: 'it is ready' }
      : {
          ...at,
          severity: 'error',
          reason: 'ServerNotReady',
          what: `it is not ready: ${notReady?.join('; ') ?? 'a source has not been read yet, or the store cannot be written'}`,
          fix: `see the sources here, and the log of the server; ${metricsAddress ?? ''}/readyz names the reasons`,
        },
    ...(sameMinor(version, command.version)
      ? []
      : [
          {
            ...at,
            severity: 'warning',
            reason: 'VersionSkew',
            what: `the server is ${version}, this command ${command.version}`,
            fix: 'use a command of the same minor version',
          } as const,
        ]),
  ];
}

function sameMinor(a: string, b: string): boolean {
  const minor = (version: string): string => version.split('.').slice(0, 2).join('.');
  return minor(a) === minor(b);
}

function sourceFindings(source: SourceView): readonly Finding[] {
  const at = { area: 'source', where: source.name } as const;
  const partial: Finding = {
    ...at,
    severity: 'warning',
    reason: 'SourcePartial',
    what: 'a file of the admitted revision cannot be read: the source removes nothing until it is whole again',
    fix: 'mend the files that are named below; `fleetrelay validate` finds them in a checkout',
  };
  switch (source.state) {
    case 'synced':
      return [
        {
          ...at,
          severity: 'ok',
          reason: 'SourceSynced',
          what: `${source.address} is read, at ${source.revision?.slice(0, 12)}`,
        },
        ...(source.partial ? [partial] : []),
      ];
    case 'pending':
      return [{ ...at, severity: 'warning', reason: 'SourcePending', what: `${source.address} is not read yet` }];
    case 'failing':
      return [
        {
          ...at,
          severity: 'error',
          reason: 'SourceFailing',
          what: `${source.address} cannot be read: ${source.message}`,
          fix: `what was admitted before still holds; mend the access to ${source.address}`,
        },
        ...(source.partial ? [partial] : []),
      ];
    case 'refused':
      return [
        {
          ...at,
          severity: 'error',
          reason: 'SourceRefused',
          what: `a revision waits for a person: ${source.message}`,
          fix: `fleetrelay source accept ${source.name} ${source.refusedRevision?.slice(0, 12) ?? 'REVISION'}`,
        },
      ];
  }
}

function diagnosticFinding({ severity, reason, message, hint, at }: Diagnostic): Finding {
  return {
    severity,
    area: 'source',
    reason,
    where: at === undefined ? 'fleet' : displayLocation(at),
    what: message,
    ...(hint === undefined ? {} : { fix: hint }),
  };
}

function statusBranchFindings({ statusBranch }: FleetView): readonly Finding[] {
  if (statusBranch === null || statusBranch.state === 'synced' || statusBranch.state === 'pending') return [];
  return [
    {
      severity: 'error',
      area: 'server',
      reason: statusBranch.state === 'failing' ? 'StatusBranchFailing' : 'StatusBranchRefused',
      where: 'status branch',
      what: statusBranch.message,
      fix: 'the server needs write access to the status branch, or `status.git.enabled: false` in its RelayConfig',
    },
  ];
}

function heldFindings({ heldRemovals }: FleetView): readonly Finding[] {
  return heldRemovals.map(({ digest, message, removals }) => ({
    severity: 'warning',
    area: 'cluster',
    reason: 'RemovalsHeld',
    where: [...new Set(removals.map(({ cluster }) => cluster))].join(', '),
    what: `${counted(removals.length, 'removal')} held: ${message}`,
    fix: `look at them with \`fleetrelay approve --list\`, then: fleetrelay approve ${digest.slice(0, 12)}`,
  }));
}

function safeModeFindings({ safeMode }: FleetView): readonly Finding[] {
  return (safeMode?.causes ?? []).map(({ cluster, reason, message }) => ({
    severity: 'warning',
    area: 'cluster',
    reason,
    where: cluster,
    what: `safe mode waits for it: ${message}`,
    fix: 'see what its agent says: fleetrelay get clusters, and its log',
  }));
}

function clusterFindings(
  cluster: ClusterView,
  outputs: readonly OutputView[],
  serverVersion: string,
): readonly Finding[] {
  const { name } = cluster;
  const at = { area: 'cluster', where: name } as const;
  const found: Finding[] = [...connectionFindings(cluster), ...objectFindings(name, outputs)];
  const unknown = cluster.conditions.find(({ type }) => type === 'Discovered');
  if (unknown !== undefined) {
    found.push({
      ...at,
      severity: 'warning',
      reason: unknown.reason,
      what: `some kinds cannot be listed, and count as unknown: ${unknown.message}`,
      fix: `let the agent of ${name} list them, or exclude them in the FleetPolicy (spec.discovery.excludedKinds)`,
    });
  }
  const last = cluster.conditions.find(({ type }) => type === 'Declared');
  if (last !== undefined) {
    found.push({ ...at, severity: 'warning', reason: last.reason, what: last.message, fix: 'mend that file' });
  }
  if (cluster.agentVersion !== null && !sameMinor(cluster.agentVersion, serverVersion)) {
    found.push({
      ...at,
      severity: 'warning',
      reason: 'VersionSkew',
      what: `its agent is ${cluster.agentVersion}, the server ${serverVersion}`,
      fix: 'upgrade the older of the two',
    });
  }
  if (found.length > 0) return found;
  const { applied, targeted } = cluster.counts;
  return [{ ...at, severity: 'ok', reason: 'ClusterInSync', what: `connected, ${applied} of ${targeted} applied` }];
}

function connectionFindings(cluster: ClusterView): readonly Finding[] {
  const { name, connected, connectionSince, trouble } = cluster;
  const at = { area: 'cluster', where: name, severity: 'error' } as const;
  if (trouble !== '') {
    const fix = wayOut(trouble) ?? `see the log of the agent of ${name}, and that of the server`;
    return [{ ...at, reason: connected ? 'Blocked' : 'AgentRefused', what: trouble, fix }];
  }
  if (!connected && connectionSince === null) {
    return [
      {
        ...at,
        reason: 'NeverConnected',
        what: 'its agent has never connected',
        fix: `fleetrelay cluster register ${name} --install --server HOST:PORT; in the cluster: fleetrelay check --context CONTEXT -n fleetrelay`,
      },
    ];
  }
  if (!connected) {
    return [
      {
        ...at,
        reason: 'AgentDisconnected',
        what: `its agent is disconnected since ${connectionSince}`,
        fix: 'look from the other side: fleetrelay check --context CONTEXT -n fleetrelay',
      },
    ];
  }
  const readable = cluster.conditions.find(({ type, reason }) => type === 'InSync' && reason === 'ClusterUnreadable');
  if (readable !== undefined) {
    return [
      {
        ...at,
        reason: readable.reason,
        what: 'its agent answers, and the cluster does not',
        fix: `see the log of the agent of ${name}`,
      },
    ];
  }
  return cluster.warm
    ? []
    : [{ ...at, severity: 'warning', reason: 'NotWarm', what: 'no complete input snapshot has been received yet' }];
}

/** The way out that the message of the server names itself. */
function wayOut(message: string): string | undefined {
  return /(fleetrelay [a-z]+ [^;,`]+)$/.exec(message)?.[1];
}

function objectFindings(cluster: string, outputs: readonly OutputView[]): readonly Finding[] {
  const paused = outputs.filter(({ state }) => state === 'paused');
  const troubled = outputs.filter(needsPerson);
  const more = troubled.length - NAMED;
  return [
    ...(paused.length === 0 ? [] : [pausedFinding(cluster, paused.length)]),
    ...troubled.slice(0, NAMED).map((output) => objectFinding(cluster, output)),
    ...(more <= 0 ? [] : [moreFinding(cluster, more)]),
  ];
}

/** States that end by themselves are no finding; removals that a guard holds are told of together. */
function needsPerson({ state, reason }: OutputView): boolean {
  return state === 'failed' || state === 'conflict' || (state === 'held' && reason === KIND_UNKNOWN);
}

function objectFinding(cluster: string, output: OutputView): Finding {
  const { state, reason, object, message } = output;
  return {
    severity: state === 'held' ? 'warning' : 'error',
    area: 'cluster',
    reason: reason === '' ? (state === 'conflict' ? 'ObjectConflict' : 'ObjectFailed') : reason,
    where: `${cluster} ${object}`,
    what: `${state}: ${message}`,
    fix: wayOut(message) ?? objectFix(cluster, output),
  };
}

function objectFix(cluster: string, { state, reason, object }: OutputView): string {
  if (state === 'held') return 'name its namespace, or bring its CustomResourceDefinition';
  if (reason === 'NoSuchKind') return 'bring the CustomResourceDefinition of the kind, or correct its apiVersion';
  if (reason === 'Forbidden') {
    return `let the agent write the kind: fleetrelay cluster register ${cluster} --install --allow secrets|rbac|crds with the options of its installation, or a ClusterRole with the label rbac.fleetrelay.dev/aggregate-to-agent: "true"; it tries again by itself within five minutes`;
  }
  if (state === 'conflict') {
    return `fleetrelay cluster adopt ${cluster} --dry-run says what taking it over would change`;
  }
  return `fleetrelay explain ${cluster} ${object}`;
}

function moreFinding(cluster: string, more: number): Finding {
  return {
    severity: 'error',
    area: 'cluster',
    reason: 'MoreObjects',
    where: cluster,
    what: `${more} more objects are not as they should be`,
    fix: `fleetrelay get outputs --cluster ${cluster}`,
  };
}

function pausedFinding(cluster: string, objects: number): Finding {
  return {
    severity: 'warning',
    area: 'cluster',
    reason: 'ClusterPaused',
    where: cluster,
    what: `the stop button in the cluster is on: ${counted(objects, 'object')} waiting`,
    fix: 'kubectl annotate namespace fleetrelay fleetrelay.dev/paused- (in a directory cluster: remove the file that the message of the agent names)',
  };
}
