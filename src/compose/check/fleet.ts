import type { AgentRefusalView } from '../../api/agent-views.ts';
import type { ClusterView, FleetView, OutputView, SourceView } from '../../api/server-api.ts';
import { STOP_BUTTON_REASON, stopButtonRelease } from '../../model/agent/agent.ts';
import { refusalText } from '../../model/agent/agent-refusal.ts';
import { displayLocation } from '../../model/fleet/diagnostic.ts';
import { counted } from '../../model/text/messages.ts';
import { parseRfc3339 } from '../../model/text/time.ts';
import { given } from '../../model/values/given.ts';
import { type Fixes, type Found, firstOf, foundAt, type Row } from './finding.ts';

/** Objects of one cluster that are named; the others are counted. */
const NAMED = 10;

/** What a server reports about its fleet, and the caller of the server. */
export interface FleetSubject {
  readonly fleet: FleetView;
  readonly outputs: readonly OutputView[];
  /** Of the command. */
  readonly version: string;
  /** Address of the server. */
  readonly api: string;
}

export function server({ fleet, version: own, api }: FleetSubject): readonly Found[] {
  const { fleet: name, ready, version, notReady, metricsAddress = '' } = fleet;
  const why = notReady?.join('; ') ?? 'a source has not been read yet, or the store cannot be written';
  const skew = `the server is ${version}, this command ${own}`;
  const readyz = `see the sources here, and the log of the server; ${metricsAddress}/readyz names the reasons`;
  return foundAt(api, [
    [true, 'ok', 'ServerReachable', `the server of the fleet ${name} answers (${version})`],
    [ready, 'ok', 'ServerReady', 'it is ready'],
    [!ready, 'error', 'ServerNotReady', `it is not ready: ${why}`, readyz],
    [!sameMinor(version, own), 'warning', 'VersionSkew', skew, 'use a command of the same minor version'],
  ]);
}

function sameMinor(a: string, b: string): boolean {
  const minor = (version: string): string => version.split('.').slice(0, 2).join('.');
  return minor(a) === minor(b);
}

export function sources({ fleet }: FleetSubject): readonly Found[] {
  return fleet.sources.flatMap(sourceFindings);
}

function sourceFindings(source: SourceView): readonly Found[] {
  const { name, address, state, revision, refusedRevision, partial, suspended, message } = source;
  const unread = 'a file of the admitted revision cannot be read: the source removes nothing until all can be read';
  return foundAt(
    name,
    [
      [state === 'synced', 'ok', 'SourceSynced', `${address} is read, at ${revision?.slice(0, 12)}`],
      [state === 'pending', 'warning', 'SourcePending', `${address} is not read yet`],
      [state === 'failing', 'error', 'SourceFailing', `${address} cannot be read: ${message}`],
      [state === 'refused', 'error', 'SourceRefused', `a revision waits for a person: ${message}`],
      [partial, 'warning', 'SourcePartial', unread],
      [suspended !== null, 'warning', 'SourceSuspended', `suspended by ${suspended?.by}: it admits no new revision`],
    ],
    {
      SourceFailing: `what was admitted before still holds; mend the access to ${address}`,
      SourceRefused: `fleetrelay source accept ${name} ${refusedRevision?.slice(0, 12) ?? 'REVISION'}`,
      SourceSuspended: `to go on: fleetrelay source resume ${name}`,
      SourcePartial: 'mend the files that are named below; `fleetrelay validate` finds them in a checkout',
    },
  );
}

export function diagnostics({ fleet }: FleetSubject): readonly Found[] {
  return fleet.diagnostics.map(({ severity, reason, message, hint, at }) => {
    const where = at === undefined ? 'fleet' : displayLocation(at);
    return { severity, reason, where, what: message, ...given({ fix: hint }) };
  });
}

export function statusBranch({ fleet }: FleetSubject): readonly Found[] {
  const { state, message } = fleet.statusBranch ?? { state: 'synced', message: '' };
  const fix = 'the server needs write access to the status branch, or `status.git.enabled: false` in its RelayConfig';
  return foundAt('status branch', [
    [state === 'failing', 'error', 'StatusBranchFailing', message, fix],
    [state === 'refused', 'error', 'StatusBranchRefused', message, fix],
  ]);
}

export function heldRemovals({ fleet }: FleetSubject): readonly Found[] {
  return fleet.heldRemovals.flatMap(({ digest, message, removals }) => {
    const where = [...new Set(removals.map(({ cluster }) => cluster))].join(', ');
    const what = `${counted(removals.length, 'removal')} held: ${message}`;
    const fix = `look at them with \`fleetrelay approve --list\`, then: fleetrelay approve ${digest.slice(0, 12)}`;
    return foundAt(where, [[true, 'warning', 'RemovalsHeld', what, fix]]);
  });
}

/** Agents that give a name which no source declares: one with a wrong name, or one that is not declared yet. */
export function undeclaredAgents({ fleet }: FleetSubject): readonly Found[] {
  return Object.entries(fleet.undeclaredAgents ?? {}).flatMap(([name, refusal]) => {
    const what = `an agent gives this name, which no source declares: ${refusalWords(refusal)}`;
    const fix = `declare KubernetesCluster ${name} in a source, or give that agent the name that is meant (--cluster)`;
    return foundAt(name, [[true, 'warning', 'UndeclaredAgent', what, fix]]);
  });
}

export function safeMode({ fleet }: FleetSubject): readonly Found[] {
  return (fleet.safeMode?.causes ?? []).flatMap(({ cluster, reason, message }) => {
    const fix = 'see fleetrelay get clusters, and the log of its agent';
    return foundAt(cluster, [[true, 'warning', reason, `safe mode waits for it: ${message}`, fix]]);
  });
}

export function clusters({ fleet, outputs }: FleetSubject): readonly Found[] {
  const none = 'no KubernetesCluster is declared';
  return [
    ...fleet.clusters.flatMap((cluster) => {
      const own = outputs.filter((output) => output.cluster === cluster.name);
      return clusterFindings(cluster, own, fleet.version);
    }),
    ...foundAt('fleet', [
      [fleet.clusters.length === 0, 'warning', 'NoClusters', none, 'fleetrelay cluster register NAME --help'],
    ]),
  ];
}

function refusalWords(refusal: AgentRefusalView): string {
  return refusalText({ ...refusal, at: parseRfc3339(refusal.at) ?? 0 });
}

/** What a person can do about a refusal whose message names no command, by its reason. */
function refusalFix(cluster: string, reason: string): string | undefined {
  const token = `fleetrelay cluster token ${cluster} (where the relay secret is; it prints how the agent gets it)`;
  const fixes: Fixes = {
    WrongToken: `give the agent the token of ${cluster}: ${token}. If no agent of ${cluster} runs at that address, a stranger uses its name`,
    TokenExpired: `give the agent a fresh token: ${token}`,
    TokenUsed: `give the agent a fresh token: ${token}`,
    CertificateNeeded: `give the agent an enrolment token: ${token}`,
    RateLimited: `its agent enrols again and again: see its log. It may come again by itself after a minute`,
    SecondAgent: 'stop one of the two agents: a cluster has one',
  };
  return fixes[reason];
}

function clusterFindings(
  cluster: ClusterView,
  outputs: readonly OutputView[],
  serverVersion: string,
): readonly Found[] {
  const { name, conditions, agentVersion, message } = cluster;
  const conditionRow = (wanted: string, meaning: string, fix: string): readonly Row[] =>
    conditions
      .filter(({ type }) => type === wanted)
      .map(({ reason, message }) => [true, 'warning', reason, meaning + message, fix]);
  const exclude = `let the agent of ${name} list them, or exclude them in the FleetPolicy (spec.discovery.excludedKinds)`;
  const paused = outputs.filter(({ state }) => state === 'paused');
  const stopped = paused.filter(({ reason }) => reason === STOP_BUTTON_REASON);
  const exempt = paused.filter(({ reason }) => reason !== STOP_BUTTON_REASON);
  const release = stopButtonRelease(stopped[0]?.message ?? '');
  const waiting = `the stop button in the cluster is on: ${counted(stopped.length, 'object')} waiting`;
  const alone = `${counted(exempt.length, 'object')} left alone: ${exempt[0]?.message}`;
  const drifted = `others have changed or removed ${counted(cluster.drifted, 'object')}, and drift is only reported`;
  const olderTag = 'the tag of its inventory is made with an older relay secret';
  const isSkewed = agentVersion !== null && !sameMinor(agentVersion, serverVersion);
  const wrong = [
    ...foundAt(
      name,
      [
        ...(cluster.asleep === undefined ? firstOf(connectionRows(cluster)) : []),
        [stopped.length > 0, 'warning', 'ClusterPaused', waiting, release],
        [exempt.length > 0, 'warning', 'ObjectsExempt', alone],
        [cluster.drifted > 0, 'warning', 'ObjectsDrifted', drifted],
        [cluster.suspended !== null, 'warning', 'ClusterSuspended', message],
        ...conditionRow('Discovered', 'some kinds cannot be listed, and count as unknown: ', exclude),
        ...conditionRow('Declared', '', 'mend that file'),
        [cluster.olderTag === true, 'warning', 'OlderTag', olderTag],
        [isSkewed, 'warning', 'VersionSkew', `its agent is ${agentVersion}, the server ${serverVersion}`],
      ],
      {
        NeverConnected: `fleetrelay cluster register ${name} --install --server HOST:PORT --namespaces NS,... (then look there: fleetrelay check --context CONTEXT -n fleetrelay); for a directory: fleetrelay agent --cluster ${name} --directory DIR --server HOST:PORT`,
        AgentDisconnected: fromOtherSide(cluster),
        ObjectsDrifted: `see what differs: fleetrelay get outputs --cluster ${name}`,
        ClusterSuspended: `to go on: fleetrelay cluster resume ${name}`,
        ClusterUnreadable: `see the log of the agent of ${name}`,
        OlderTag: 'let its agent connect before you remove that secret; the server renews the tag then',
        VersionSkew: 'upgrade the older of the two',
      },
    ),
    ...objectFindings(name, outputs),
  ];
  if (wrong.length > 0) return wrong.toSorted(byWeight);
  if (cluster.asleep !== undefined) return foundAt(name, [[true, 'ok', 'ClusterAsleep', cluster.asleep]]);
  return foundAt(name, firstOf(progressRows(cluster)), {
    ObjectsHeld: `fleetrelay get outputs --cluster ${name}`,
    NotAppliedYet: `look again; if it stays so: fleetrelay get outputs --cluster ${name}`,
  });
}

/** Orders findings of one cluster: errors first. */
function byWeight(a: Found, b: Found): number {
  return Number(b.severity === 'error') - Number(a.severity === 'error');
}

/** How far a cluster has got in which nothing is wrong. */
function progressRows({ counts: { applied, targeted, held }, message }: ClusterView): readonly Row[] {
  const what = `connected, ${applied} of ${targeted} applied`;
  const why = message === '' ? '' : `: ${message}`;
  return [
    [held > 0, 'warning', 'ObjectsHeld', `${what}, ${held} stay as they are${why}`],
    [applied < targeted, 'warning', 'NotAppliedYet', `${what}${why}`],
    [true, 'ok', 'ClusterInSync', what],
  ];
}

const FOLDER_AGENT = 'start its agent where its folder is, or see the log there';

/** How to look at a cluster from its own side. A directory has no API server, and no context in a kubeconfig. */
function fromOtherSide({ id, kubernetesVersion }: ClusterView): string {
  if (id !== null && kubernetesVersion === null) return FOLDER_AGENT;
  return 'look from the other side: fleetrelay check --context CONTEXT -n fleetrelay';
}

function connectionRows(cluster: ClusterView): readonly Row[] {
  const { name, connected, connectionSince, problem, refusal, warm, conditions } = cluster;
  const isUnreadable = conditions.some(({ type, reason }) => type === 'InSync' && reason === 'ClusterUnreadable');
  const logs = `see the log of the agent of ${name}, and the server's`;
  const refused = refusal === undefined ? '' : refusalWords(refusal);
  const remedy = refusal && (wayOutIn(refusal.message) ?? refusalFix(name, refusal.reason) ?? logs);
  const beside = connected && refusal !== undefined ? `its agent is connected, and a caller was ${refused}` : '';
  return [
    [problem !== '', 'error', 'Blocked', problem, wayOutIn(problem) ?? logs],
    [!connected && refused !== '', 'error', 'AgentRefused', refused, remedy],
    [beside !== '', 'warning', 'CallerRefused', beside, remedy],
    [!connected && connectionSince === null, 'error', 'NeverConnected', 'its agent has never connected'],
    [!connected, 'error', 'AgentDisconnected', `its agent is disconnected since ${connectionSince}`],
    [isUnreadable, 'error', 'ClusterUnreadable', 'its agent answers, and the cluster does not'],
    [!warm, 'warning', 'NotWarm', 'no complete input snapshot has been received yet'],
  ];
}

/** The command that a message of the server itself names. */
function wayOutIn(message: string): string | undefined {
  return /(fleetrelay [a-z]+ [^;,`]+)$/.exec(message)?.[1];
}

function objectFindings(cluster: string, outputs: readonly OutputView[]): readonly Found[] {
  const wrong = outputs.filter(needsPerson);
  const more = wrong.length - NAMED;
  const all = `fleetrelay get outputs --cluster ${cluster}`;
  return [
    ...wrong.slice(0, NAMED).flatMap((output) => {
      const { state, object, message } = output;
      const reason = output.reason || (state === 'conflict' ? 'ObjectConflict' : 'ObjectFailed');
      const severity = state === 'held' ? 'warning' : 'error';
      const fix = wayOutIn(message) ?? objectFix(cluster, output);
      return foundAt(`${cluster} ${object}`, [[true, severity, reason, `${state}: ${message}`, fix]]);
    }),
    ...foundAt(cluster, [[more > 0, 'error', 'MoreObjects', `${more} more objects are not as they should be`, all]]),
  ];
}

/** False for states that end by themselves, and for removals that a guard holds: these have one finding for each set. */
function needsPerson({ state, reason }: OutputView): boolean {
  return state === 'failed' || state === 'conflict' || (state === 'held' && reason === 'KindUnknown');
}

function objectFix(cluster: string, { state, reason, object }: OutputView): string {
  if (state === 'held') return 'name its namespace, or bring its CustomResourceDefinition';
  if (reason === 'NoSuchKind') return 'bring the CustomResourceDefinition of the kind, or correct its apiVersion';
  if (reason === 'Forbidden') {
    return `let the agent write it: fleetrelay cluster register ${cluster} --install with the options of its installation, and this Namespace among --namespaces, or --allow secrets|rbac|crds for such a kind; or a ClusterRole with the label rbac.fleetrelay.dev/aggregate-to-agent: "true"; it tries again by itself within five minutes`;
  }
  if (state === 'conflict')
    return `fleetrelay cluster adopt ${cluster} --dry-run shows what taking it over would change`;
  return `fleetrelay explain ${cluster} ${object}`;
}
