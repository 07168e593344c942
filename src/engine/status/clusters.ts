import { type KindState, LEFT_OUT } from '../../model/agent/agent.ts';
import { refusalText } from '../../model/agent/agent-refusal.ts';
import type { ConditionValue, OutcomeCounts } from '../../model/fleet/conditions.ts';
import type { LedgerEntry } from '../../model/fleet/ledger.ts';
import { type Excess, excessText } from '../../model/limits/quotas.ts';
import { healthStates, type ObjectHealth } from '../../model/objects/object-health/health.ts';
import { displayKey, kindWithoutGroup, type ObjectKey } from '../../model/objects/object-key.ts';
import { compareText } from '../../model/text/json.ts';
import { firstNames } from '../../model/text/messages.ts';
import { rfc3339 } from '../../model/text/time.ts';
import type { Collection, Derived, Entry, Graph, Index } from '../collections/types.ts';
import type { DomainMakes } from '../domain.ts';
import type { ClusterValue } from '../fleet/clusters.ts';
import type { SafeModeValue, UnseenValue } from '../fleet/safe-mode.ts';
import type { EngineInputs, StagedRefusal } from '../inputs.ts';
import type { StatusPart } from './declared-status.ts';
import {
  clusterSubject,
  countOutcomes,
  countsOf,
  type HealthCounts,
  healthGroup,
  type Lookups,
  moving,
  type Progress,
  summarise,
  type Tally,
  tallyOf,
} from './progress.ts';

/** What the status of clusters is derived from. */
interface ClusterStatusInputs extends EngineInputs, SafeModeReads {
  readonly clusters: Collection<ClusterValue>;
  /** See `indexProgress`. */
  readonly progressBySubject: Index<Progress>;
  readonly mode: Collection<SafeModeValue>;
  readonly unseen: Collection<UnseenValue>;
}

/** Derives the status of every registered cluster. */
export function deriveClusterStatuses(graph: Graph, inputs: ClusterStatusInputs): Derived<StatusPart> {
  const { clusters, agents, refusals, kinds, snapshots, progressBySubject, mode, unseen, ledgerByScope, readers } =
    inputs;
  const kindsByState = graph.index('kindsByState', kinds, ({ partition, value }) => [
    kindGroup(partition, value.state),
    ...(refusedNamespaces(value).length === 0 ? [] : [kindGroup(partition, 'unlisted')]),
  ]);
  return graph.derive<ClusterValue, StatusPart>({
    name: 'clusterStatuses',
    from: clusters,
    reads: [
      agents,
      refusals,
      snapshots,
      kindsByState,
      progressBySubject,
      mode,
      unseen,
      ledgerByScope,
      ...readers.map((reader) => reader.clusters),
    ],
    seesAll: true,
    compute: ({ key: name, value: cluster }, read, emit) => {
      const tally = tallyOf(read, progressBySubject, clusterSubject(name));
      const counts = countOutcomes(tally);
      const { connected = false, warm = false, since = 0, problem = '', excess } = read.get(agents, '', name) ?? {};
      const ofKinds = (state: KindState['state']): number => read.count(kindsByState, kindGroup(name, state));
      // If no kind can be listed, the agent is connected and the API server of its cluster does not answer.
      const readable = ofKinds('complete') > 0 || ofKinds('unknown') + ofKinds('offered') === 0;
      const unknown = read.members(kindsByState, kindGroup(name, 'unknown')).map(({ value }) => value);
      const unlisted = read.members(kindsByState, kindGroup(name, 'unlisted')).map(({ value }) => value);
      const modeNow = read.get(mode, '', '');
      const hidden = read.get(unseen, '', name);
      const cause = modeNow && hidden && causeOf(read, inputs, modeNow, name, hidden);
      emit('KubernetesCluster', name, {
        conditions: [
          warm ? WARM : NOT_WARM,
          connectedCondition(connected, since, read.get(refusals, '', name)),
          inSyncCondition({ connected, readable }, { ...counts, drifted: tally.drifted }, problem),
          ...discoveredCondition(unknown, unlisted),
          ...(excess === undefined ? [] : [aboveLimits(excess, read.get(snapshots, '', name)?.since)]),
          ...(cause === undefined ? [] : [conditionOf('SafeMode', 'True', cause.reason, cause.message)]),
          ...healthyCondition(read, progressBySubject, name, tally.health, connected && readable),
          ...summarise(tally),
          ...lastKnownGood(cluster),
        ],
        fields: countsOf(tally),
      });
    },
  });
}

function kindGroup(cluster: string, state: KindState['state'] | 'unlisted'): string {
  return `${cluster}/${state}`;
}

function conditionOf(
  type: string,
  status: 'True' | 'False' | 'Unknown',
  reason: string,
  message: string,
): ConditionValue {
  return { type, status, reason, message };
}

function lastKnownGood({ isLastKnownGood, origin, refusal }: ClusterValue): readonly ConditionValue[] {
  if (!isLastKnownGood) return [];
  const why = refusal === undefined ? 'cannot be read' : 'is not accepted';
  return [conditionOf('Declared', 'Unknown', 'LastKnownGood', `${origin.path} ${why}: it holds as last known good`)];
}

const WARM = conditionOf(
  'ClusterWarm',
  'True',
  'FirstSnapshotReceived',
  'the first complete input snapshot was received',
);
const NOT_WARM = conditionOf('ClusterWarm', 'False', 'ClusterRegistered', 'no input snapshot was received yet');

function connectedCondition(connected: boolean, since: number, refusal: StagedRefusal | undefined): ConditionValue {
  const refused = refusal === undefined || refusal.isOver ? [] : [refusalText(refusal)];
  const told = (...messages: readonly string[]): string => [...messages, ...refused].join('; ');
  // Without the time of the connection: the message would change at each restart of the server.
  if (connected) return conditionOf('Connected', 'True', 'AgentConnected', told());
  if (since !== 0) return conditionOf('Connected', 'False', 'AgentDisconnected', told(`since ${rfc3339(since)}`));
  const reason = refused.length === 0 ? 'NeverConnected' : 'AgentRefused';
  return conditionOf('Connected', 'False', reason, told('its agent has not connected yet'));
}

function inSyncCondition(
  { connected, readable }: { readonly connected: boolean; readonly readable: boolean },
  { applied, held, targeted, drifted }: OutcomeCounts & Pick<Tally, 'drifted'>,
  problem: string,
): ConditionValue {
  const type = 'InSync';
  const message = `${applied} of ${targeted} applied`;
  if (!connected) return conditionOf(type, 'Unknown', 'AgentDisconnected', `as last seen: ${message}`);
  if (!readable) return conditionOf(type, 'Unknown', 'ClusterUnreadable', `as last seen: ${message}`);
  if (applied + held === targeted) {
    if (drifted === 0) return conditionOf(type, 'True', 'InSync', message);
    return conditionOf(type, 'False', 'Drifted', `${message}, ${drifted} drifted: others have changed or removed them`);
  }
  if (problem === '') return conditionOf(type, 'False', 'OutOfSync', message);
  return conditionOf(type, 'False', 'Blocked', `${message}; nothing more gets through: ${problem}`);
}

/** `since`: when the input snapshot that stays was received; undefined: there is none. */
function aboveLimits(excess: Excess, since: number | undefined): ConditionValue {
  const before = since === undefined ? 'it has no input snapshot' : `its input snapshot stays as of ${rfc3339(since)}`;
  const waysOut = `leave kinds or Namespaces out of discovery in the FleetPolicy, or raise limits.cluster.${excess.what} in the RelayConfig of the server`;
  return conditionOf('WithinLimits', 'False', 'AboveQuota', `${excessText(excess)}: ${before}. To go on, ${waysOut}`);
}

/** A message names at most this many kinds with one reason: if the API server does not answer, all kinds are unknown. */
const NAMED_KINDS = 4;

/** The condition `Discovered`; none while all kinds can be listed. `unlisted`: kinds that cannot be listed in some Namespaces. */
function discoveredCondition(unknown: readonly KindState[], unlisted: readonly KindState[]): readonly ConditionValue[] {
  if (unknown.length === 0 && unlisted.length === 0) return [];
  const texts = unlisted.map(unlistedText).sort(compareText);
  const message = [...(unknown.length === 0 ? [] : [unknownKindsText(unknown)]), ...texts].join('; ');
  return [conditionOf('Discovered', 'False', 'KindsUnknown', message)];
}

/** Namespaces that cannot be listed, each with why; without those that are left out on purpose. */
function refusedNamespaces({ unlisted = {} }: KindState): readonly (readonly [string, string])[] {
  return Object.entries(unlisted).filter(([, why]) => why !== LEFT_OUT);
}

function unlistedText(kind: KindState): string {
  const refused = refusedNamespaces(kind);
  const [[first = '', why = ''] = []] = refused;
  const rest = refused.length === 1 ? '' : ` and ${refused.length - 1} more namespaces`;
  return `${kind.kind} in ${first}${rest} cannot be listed: ${why}`;
}

/** A sentence for each reason, with the kinds that it is about. */
export function unknownKindsText(unknown: readonly KindState[]): string {
  return [...Map.groupBy(unknown, ({ message }) => message)]
    .map(([reason, kinds]) => {
      const names = kinds.map(({ kind }) => kind).sort(compareText);
      return `${firstNames(names, NAMED_KINDS)} cannot be listed${reason === '' ? '' : `: ${reason}`}`;
    })
    .sort(compareText)
    .join('; ');
}

/** The condition `Healthy` names at most this many objects. */
const NAMED_OBJECTS = 3;

/** The condition `Healthy`; none where no health is known. */
function healthyCondition(
  look: Lookups,
  progress: Index<Progress>,
  cluster: string,
  counts: HealthCounts,
  readable: boolean,
): readonly ConditionValue[] {
  const type = 'Healthy';
  const all = healthStates.reduce((sum, state) => sum + counts[state], 0);
  if (all === 0) return [];
  const named: string[] = [];
  for (const state of healthStates) {
    if (state === 'current' || named.length >= NAMED_OBJECTS || counts[state] === 0) continue;
    const group = healthGroup(clusterSubject(cluster), state);
    named.push(...look.first(progress, group, NAMED_OBJECTS - named.length).map(objectText));
  }
  const rest = all - counts.current - named.length;
  const others = [...named, ...(rest > 0 ? [`and ${rest} more`] : [])];
  const message = [`${counts.current} of ${all} healthy`, ...others].join('; ');
  if (!readable) return [conditionOf(type, 'Unknown', 'AgentDisconnected', `as last seen: ${message}`)];
  if (counts.failed > 0) return [conditionOf(type, 'False', 'ObjectsFailed', message)];
  if (moving(counts) > 0) return [conditionOf(type, 'False', 'ObjectsInProgress', message)];
  if (counts.unknown > 0) return [conditionOf(type, 'Unknown', 'HealthUnknown', message)];
  return [conditionOf(type, 'True', 'Healthy', message)];
}

function objectText({ key, value: { health } }: Entry<Progress>): string {
  const { state, message } = health ?? { state: 'unknown', message: '' };
  return `${displayKey(key as ObjectKey)} is ${HEALTH_WORDS[state]}${message === '' ? '' : `: ${message}`}`;
}

const HEALTH_WORDS: Readonly<Record<ObjectHealth['state'], string>> = {
  current: 'healthy',
  failed: 'not well',
  inProgress: 'in progress',
  terminating: 'being deleted',
  suspended: 'suspended',
  unknown: 'unknown',
};

/** A cluster that is not visible and that changes wait for. */
export interface SafeModeCause {
  readonly cluster: string;
  /** Constant word. */
  readonly reason: 'SnapshotMissing' | 'AssumedWarm' | 'KindsUnknown';
  /** What waits, and how to end it. */
  readonly message: string;
}

/** What {@link causeOf} reads. */
export interface SafeModeReads {
  readonly ledgerByScope: Index<LedgerEntry>;
  /** The domains that read live state of clusters. */
  readonly readers: readonly NonNullable<DomainMakes['reading']>[];
}

/** Why changes wait for a cluster; undefined if none wait. */
export function causeOf(
  look: Pick<Lookups, 'count'>,
  { ledgerByScope, readers }: SafeModeReads,
  mode: SafeModeValue,
  cluster: string,
  { snapshot, unknownKinds }: UnseenValue,
): SafeModeCause | undefined {
  const isRead = look.count(ledgerByScope, cluster) > 0;
  if (snapshot === 'missing' && mode.inForce !== 'none') {
    const message = `no input snapshot of it is here: ${whatIsHeld(mode)}. ${waysOut(cluster)}`;
    return { cluster, reason: 'SnapshotMissing', message };
  }
  if (snapshot === 'assumedWarm' && mode.inForce !== 'none' && (isRead || mode.inForce === 'strict')) {
    const message = `it was known before the store was lost, and no input snapshot of it is here: what clusters hold already stays as it is. ${waysOut(cluster)}`;
    return { cluster, reason: 'AssumedWarm', message };
  }
  const reading = readers.filter(({ clusters }) => look.count(clusters, cluster) > 0);
  if (unknownKinds.length === 0 || !(isRead || reading.length > 0)) return undefined;
  // If owned objects depend on the cluster and no domain reads it now, the advice of all domains applies.
  const leaveOut = (reading.length > 0 ? reading : readers).map(({ wayOut }) => wayOut).join(', or ');
  const message = `${unknownKinds.map(kindText).join('; ')}: what is computed from it stays as it is. Let its agent list the kind, or ${leaveOut}`;
  return { cluster, reason: 'KindsUnknown', message };
}

function whatIsHeld({ declared, inForce }: SafeModeValue): string {
  if (inForce === 'strict') return 'no object of any cluster is changed';
  const held = 'what could have been computed from it stays as it is';
  return declared === 'off' ? `${held} until the safe start window is over` : held;
}

function waysOut(cluster: string): string {
  return `Ways out: bring its agent back; deregister it (fleetrelay cluster deregister ${cluster}); or set spec.skipWarming: true in its KubernetesCluster`;
}

function kindText({ kind, state, message }: KindState): string {
  const name = kindWithoutGroup(kind);
  if (state === 'offered') return `${name} of it is left out of discovery`;
  return `${name} of it cannot be listed${message === '' ? '' : ` (${message})`}`;
}
