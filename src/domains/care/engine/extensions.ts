import type { Collection, Derived, Entry, Graph, Reader } from '../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../engine/inputs.ts';
import type { LiveObject } from '../../../model/agent/agent.ts';
import type { AdditionalKind } from '../../../model/agent/agent-settings.ts';
import { type ObjectKey, objectRefOf } from '../../../model/objects/object-key.ts';
import { formatGoDuration } from '../../../model/text/go-duration.ts';
import { type JsonObject, objectOf, objectsOf, textOf, textsOf } from '../../../model/text/json.ts';
import { goTime, parseRfc3339 } from '../../../model/text/time.ts';
import type { JudgedLeases } from '../model/agent-tasks.ts';
import type { ShootCondition } from '../model/shoot.ts';
import type { BoundShoot } from './binding.ts';
import { bounded } from './bounded-text.ts';
import type { FindingsByType } from './checks/check.ts';
import { type LeaseReads, type Leases, leaseObstacle } from './leases.ts';
import { type CareSettingsRead, careSettingsOf } from './settings.ts';
import type { ConditionFinding } from './thresholds.ts';
import { isNotChecked, kindObstacle, type NamespaceReads, namespaceObstacle } from './visibility.ts';

/** The API group of Gardener's extension objects. */
export const EXTENSION_GROUP = 'extensions.gardener.cloud';
/** The name of the Lease by which an extension shows that it runs. */
const HEARTBEAT = 'gardener-extension-heartbeat';

/** The kinds of extension objects, in the order in which they count. Source: Gardener's care controller. */
const KINDS = [
  'ControlPlane',
  'Worker',
  'Infrastructure',
  'Network',
  'OperatingSystemConfig',
  'ContainerRuntime',
  'Extension',
  'BackupEntry',
] as const;
/** The kinds that a Shoot without workers has. */
const WORKERLESS: readonly string[] = ['Extension', 'BackupEntry'];
/** It is cluster-scoped: its name begins with the namespace of the control plane. */
const BACKUP_ENTRY = 'BackupEntry';

/** The conditions that extension objects can report. */
const TYPES: readonly ShootCondition[] = [
  ...(['ControlPlaneHealthy', 'ObservabilityComponentsHealthy'] as const),
  ...(['SystemComponentsHealthy', 'EveryNodeReady'] as const),
];

/** The namespace of the control plane that an object is for; of a cluster-scoped one its name begins with it: `NAMESPACE--ID`. */
export function controlPlaneOf(key: ObjectKey): string {
  const { namespace, name } = objectRefOf(key);
  return namespace === '' ? name.slice(0, Math.max(0, name.lastIndexOf('--'))) : namespace;
}

/** The BackupEntries that belong to these namespaces of control planes. */
export function backupEntries(namespaces: readonly string[]): AdditionalKind {
  return { kind: `${EXTENSION_GROUP}/${BACKUP_ENTRY}`, namePrefixes: namespaces.map((namespace) => `${namespace}--`) };
}

/** The Leases by which the extensions of a Seed show that they run. */
export function heartbeats({ extensions, staleExtensionMillis }: CareSettingsRead): readonly JudgedLeases[] {
  if (staleExtensionMillis === undefined) return [];
  return [...new Set(extensions.map(({ namespace }) => namespace))].map((namespace) => ({
    namespace,
    namePrefix: HEARTBEAT,
    staleAfterMillis: staleExtensionMillis,
  }));
}

interface Reads extends LeaseReads, NamespaceReads, Pick<EngineInputs, 'live'>, Pick<Leases, 'leases'> {
  readonly bindings: Derived<BoundShoot>;
}

/**
 * Derives what the extension objects of a Shoot with a Seed report. `reports`: of each object and type of condition, a finding
 * if it is not well. `findings`: the first reports of each Shoot. Partition empty, key the Shoot's.
 */
export function deriveExtensionFindings(graph: Graph, reads: Reads) {
  const { bindings, settings, live, kinds } = reads;
  const reports = deriveReports(graph, reads);
  const byNamespace = graph.index('reportsOfExtensionsByShoot', reports, groupsOf);
  const findings: Derived<FindingsByType> = graph.derive<BoundShoot, FindingsByType>({
    name: 'extensionsOfShoots',
    from: bindings,
    reads: [settings, live, kinds, byNamespace],
    scope: ({ value: { seed } }) => (seed === undefined ? [] : [seed]),
    compute: ({ key, value: shoot }, read, emit) => {
      const { seed, controlPlaneNamespace: namespace, isIgnored } = shoot;
      if (seed === undefined || isIgnored) return;
      const isWorkerless = shoot.pools.length === 0;
      const unseen = unseenKind(read, reads, seed, namespace, isWorkerless ? WORKERLESS : KINDS);
      const place = placeGroup(seed, namespace);
      // Most Shoots have no such report: only then the types are looked at.
      const hasReports = read.count(byNamespace, place) > 0;
      const found: Partial<Record<ShootCondition, ConditionFinding>> = {};
      for (const type of TYPES) {
        const group = typeGroup(place, type, isWorkerless);
        const first = (of: string) => (hasReports ? read.first(byNamespace, of, 1)[0]?.value : undefined);
        const finding = first(group) ?? unseen ?? first(unjudged(group));
        if (finding !== undefined) found[type] = finding;
      }
      if (Object.keys(found).length > 0) emit('', key, found);
    },
  });
  return { findings, collections: [reports, findings] };
}

/** Partition: the cluster. Key: type of the condition, place of the kind, object key; so the first one counts. */
function deriveReports(graph: Graph, reads: Reads): Derived<ConditionFinding> {
  const { settings, live, kinds, agents, leases, leaseNumbers } = reads;
  return graph.derive<LiveObject, ConditionFinding>({
    name: 'reportsOfExtensions',
    from: live,
    keys: (key) => placeOf(key) >= 0,
    reads: [settings, kinds, agents, leases, leaseNumbers],
    compute: ({ partition: cluster, key, value: { value } }, read, emit) => {
      const reported = reportedConditions(value);
      if (reported.size === 0) return;
      const object: ExtensionObject = { cluster, key: key as ObjectKey, type: textOf(objectOf(value.spec).type) };
      const stale = staleness(read, object, reads);
      for (const [type, condition] of reported) {
        const finding = stale ?? reportOf(object, condition);
        if (finding === undefined) continue;
        const cause = { cluster, key: object.key };
        emit(cluster, `${type}/${placeOf(key)}/${key}`, { ...finding, cause });
      }
    },
  });
}

/** The place of the object's kind in {@link KINDS}; -1: it is no extension object. */
function placeOf(key: string): number {
  if (!key.startsWith(`${EXTENSION_GROUP}/`)) return -1;
  return KINDS.findIndex((kind) => key.startsWith(`${kind}/`, EXTENSION_GROUP.length + 1));
}

interface ExtensionObject {
  readonly cluster: string;
  readonly key: ObjectKey;
  /** Of the extension. */
  readonly type: string;
}

/** The conditions of an object that count for the Shoot; the first of each type. */
function reportedConditions({ status }: JsonObject): ReadonlyMap<ShootCondition, JsonObject> {
  const reported = new Map<ShootCondition, JsonObject>();
  for (const condition of objectsOf(objectOf(status).conditions)) {
    const type = TYPES.find((each) => each === condition.type);
    if (type !== undefined && !reported.has(type)) reported.set(type, condition);
  }
  return reported;
}

/** The reports of a control plane; in a group of their own those about one type of condition. */
function placeGroup(cluster: string, namespace: string): string {
  return `${cluster}/${namespace}`;
}

function typeGroup(place: string, type: string, isWorkerless: boolean): string {
  return [place, type, ...(isWorkerless ? ['workerless'] : [])].join('/');
}

/** The group of the reports that may be outdated. */
function unjudged(group: string): string {
  return `${group}/unjudged`;
}

function groupsOf({ partition: cluster, key, value }: Entry<ConditionFinding>): readonly string[] {
  const [, type = '', object = ''] = /^([^/]*)\/\d\/(.*)$/s.exec(key) ?? [];
  const place = placeGroup(cluster, controlPlaneOf(object as ObjectKey));
  const isOfAll = WORKERLESS.includes(objectRefOf(object as ObjectKey).kind);
  const groups = [typeGroup(place, type, false), ...(isOfAll ? [typeGroup(place, type, true)] : [])];
  return [place, ...(isNotChecked(value) ? groups.map(unjudged) : groups)];
}

function unseenKind(
  read: Reader,
  reads: NamespaceReads,
  seed: string,
  namespace: string,
  kinds: readonly string[],
): ConditionFinding | undefined {
  const obstacles = kinds.map((kind) =>
    kind === BACKUP_ENTRY
      ? kindObstacle(read, reads.kinds, seed, `${EXTENSION_GROUP}/${kind}`)
      : namespaceObstacle(read, reads, seed, namespace, `${EXTENSION_GROUP}/${kind}`),
  );
  return obstacles.find((each) => each !== undefined);
}

/** Source: Gardener's CheckExtensionCondition. */
function reportOf(
  { key }: ExtensionObject,
  { status, reason, message, codes }: JsonObject,
): ConditionFinding | undefined {
  const { kind, namespace, name } = objectRefOf(key);
  const known = textsOf(codes).slice(0, MOST_CODES).map(bounded);
  const said = { message: bounded(textOf(message)), ...(known.length === 0 ? {} : { codes: known }) };
  if (status === 'Progressing') return { outcome: 'progressing', ...said, reason: `${kind}${bounded(textOf(reason))}` };
  if (status !== 'False' && status !== 'Unknown') return undefined;
  const failing = `${kind} extension (${namespace}/${name}) reports failing health check: ${said.message}`;
  return { outcome: 'failed', ...said, reason: `${kind}UnhealthyReport`, message: failing };
}

/** Gardener has fewer codes. */
const MOST_CODES = 20;

/** The finding of an object whose extension gives no heartbeat; undefined: it does, or that is not judged. */
function staleness(read: Reader, { cluster, key, type }: ExtensionObject, reads: Reads): ConditionFinding | undefined {
  const { settings, leases, agents } = reads;
  const { extensions, staleExtensionMillis } = careSettingsOf(read, settings);
  const { kind, namespace, name } = objectRefOf(key);
  const heartbeat = extensions.find((each) => each.kind === kind && each.type === type);
  if (heartbeat === undefined || staleExtensionMillis === undefined) return undefined;
  const lease = read.get(leases, cluster, `${heartbeat.namespace}/${HEARTBEAT}`);
  if (lease?.isExpired === false) return undefined;
  const unseen = lease === undefined ? leaseObstacle(read, reads, cluster, heartbeat.namespace) : undefined;
  if (unseen !== undefined) return unseen;
  const renewedAt = parseRfc3339(lease?.renewTime ?? '');
  const updated =
    renewedAt === undefined ? NEVER : lastUpdated(renewedAt, staleExtensionMillis, seenAt(read, agents, cluster));
  const message = `${kind} extension (${namespace}/${name}) reports an outdated health status (last updated: ${updated}).`;
  return { outcome: 'unknown', reason: `${kind}OutdatedHealthCheckReport`, message };
}

/** How Go shows the time since its zero time: its longest duration, in whole minutes. */
const NEVER = '2562047h47m0s ago at 0001-01-01 00:00:00 +0000 UTC';
const MINUTE_MS = 60_000;

/**
 * How long ago a heartbeat was when it was found to be late: when the threshold passed, or when the agent told it. A message that
 * counted on would be a write every minute.
 */
function lastUpdated(renewedAt: number, thresholdMillis: number, seen: number): string {
  const minutes = (milliseconds: number): number => Math.round(milliseconds / MINUTE_MS) * MINUTE_MS;
  const age = Math.max(thresholdMillis, seen - renewedAt);
  return `${formatGoDuration(minutes(age))} ago at ${goTime(minutes(renewedAt))}`;
}

/** When the agent of the cluster has connected or disconnected last, in milliseconds since 1970. */
function seenAt(read: Reader, agents: Collection<{ readonly since: number }>, cluster: string): number {
  return read.get(agents, '', cluster)?.since ?? 0;
}
