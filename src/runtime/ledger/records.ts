import type { Hold } from '../../engine/output/decision.ts';
import type { EngineKind } from '../../model/engine-kinds.ts';
import { type JsonObject, parseJsonBytes } from '../../model/json.ts';
import type { ApprovalOutcome, Contenders, LastKnownGood, Registration } from '../../model/ledger.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore, StoredRecord } from '../../ports/snapshot-store.ts';
import { decodeMap, listMaps, type RawMap, readMap } from '../stored/read-map.ts';
import type { MapReading } from '../stored/stored-map.ts';
import {
  type ClusterMapKind,
  type ClusterMapTypes,
  type ClusterReadings,
  clusterCodecs,
  clusterMapName,
  clusterMapOf,
} from './cluster-maps.ts';
import { recordShape, type Shape } from './record-shapes.ts';
import type { Revocation } from './revocation.ts';

/** The format of the store; a server refuses a newer one (`../replica/store-format.ts`). */
export const STORE_FORMAT = 1;

/** The ledger's records in the store, by key prefix. Their values are JSON. Beside them are the clusters' maps. */
export const recordKey = {
  format: 'format',
  epoch: 'epoch',
  registration: (cluster: string) => `registrations/${cluster}`,
  source: (source: string) => `sources/${source}`,
  declared: (kind: EngineKind, key: string) => `declared/${kind}/${key}`,
  observed: (kind: EngineKind, key: string) => `observed/${kind}/${key}`,
  contenders: (cluster: string, key: string) => `contenders/${cluster}/${key}`,
  recovery: 'assumed-warm-recovery',
  assumedWarm: (cluster: string) => `assumed-warm/${cluster}`,
  revocation: (cluster: string) => `revocations/${cluster}`,
  held: (cluster: string, key: string) => `held/${cluster}/${key}`,
  approval: (cluster: string, key: string) => `approvals/${cluster}/${key}`,
  window: (cluster: string) => `windows/${cluster}`,
  approvalOutcome: (name: string) => `approval-outcomes/${name}`,
  elapsedOfAll: 'elapsed/',
  elapsed: (owner: string, key: string) => `elapsed/${owner}/${key}`,
} as const;

/** True for a record that the leader writes: other replicas have outdated copies of it when the leader changes. */
export function isLeaderRecord(key: string): boolean {
  return /^(contenders|held|approvals|windows|approval-outcomes|elapsed|observed)\//.test(key);
}

/** Which deadline a record of {@link recordKey.elapsed} is about; undefined: the record is of another kind. */
export function elapsedAddress(record: string): { readonly owner: string; readonly key: string } | undefined {
  const [, owner, key] = /^elapsed\/([^/]*)\/(.*)$/s.exec(record) ?? [];
  return owner === undefined || key === undefined ? undefined : { owner, key };
}

/** A removal that a user has approved, until `expiresAt` (milliseconds since 1970). */
export interface ApprovalRecord {
  readonly digest: string;
  readonly by: string;
  readonly expiresAt: number;
}

/**
 * Removals from one cluster that count in the guards' window; `open`: keys whose removal the agent has not confirmed yet.
 */
export type WindowRecord = readonly {
  readonly at: number;
  readonly removed: number;
  readonly open: readonly string[];
}[];

/** The latest moment of a deadline that has passed: whole seconds since 1970. */
export interface ElapsedRecord {
  readonly at: number;
}

/** State of the assumed-warm recovery. */
export interface RecoveryRecord {
  /** The epoch in which the recovery runs. */
  readonly epoch: number;
  /** `open`: not every source was read yet; `closed`: clusters that are declared later are not assumed warm. */
  readonly state: 'open' | 'closed';
}

/** Everything that the store holds, as last written. */
export interface LedgerRecords {
  /** Undefined: the store is new or was lost. */
  readonly epoch: number | undefined;
  readonly registrations: ReadonlyMap<string, Registration>;
  readonly sources: ReadonlyMap<string, { readonly revision: string }>;
  /** Declarations as last known good. */
  readonly declared: readonly DeclaredRecord[];
  readonly contenders: ReadonlyMap<string, ReadonlyMap<string, Contenders>>;
  readonly recovery: RecoveryRecord | undefined;
  /** Clusters that are assumed warm. */
  readonly assumedWarm: ReadonlyMap<string, unknown>;
  /**
   * Clusters with an input snapshot and without a registration: the registration was lost, since deregistering deletes both
   * in one batch.
   */
  readonly unregistered: ReadonlySet<string>;
  readonly revocations: ReadonlyMap<string, Revocation>;
  readonly held: ReadonlyMap<string, ReadonlyMap<string, Hold>>;
  readonly approvals: ReadonlyMap<string, ReadonlyMap<string, ApprovalRecord>>;
  readonly windows: ReadonlyMap<string, WindowRecord>;
  /** Outcomes of declared RemovalApprovals, by name. */
  readonly approvalOutcomes: ReadonlyMap<string, ApprovalOutcome>;
  /** Moments that have passed, by the owner of the deadline and its key. */
  readonly elapsed: ReadonlyMap<string, ReadonlyMap<string, ElapsedRecord>>;
  /** The statuses written last, by kind and key. */
  readonly observed: ReadonlyMap<string, ReadonlyMap<string, JsonObject>>;
  /** The clusters' maps. */
  readonly readings: ReadonlyMap<string, ClusterReadings>;
}

/** A declaration as last known good, under its key among those of its kind. */
export interface DeclaredRecord {
  readonly kind: EngineKind;
  readonly key: string;
  readonly lastKnownGood: LastKnownGood;
}

/**
 * Reads the complete ledger. Rejects if the store does not answer. A damaged record or map counts as missing and is logged;
 * agents and sources report its content again.
 */
export async function readRecords(store: SnapshotStore, log: Log): Promise<LedgerRecords> {
  const read = createReader(store, log);
  const readings = await readClusterMaps(store, log);
  const registrations = await read.flat<Registration>(recordKey.registration(''), recordShape.registration);
  const isUnregistered = ([cluster, { live }]: [string, ClusterReadings]): boolean =>
    live !== undefined && live.type !== 'missing' && !registrations.has(cluster);
  return {
    epoch: (await read.one<{ epoch: number }>(recordKey.epoch, recordShape.recovery))?.epoch,
    registrations,
    unregistered: new Set([...readings].filter(isUnregistered).map(([cluster]) => cluster)),
    sources: await read.flat<{ revision: string }>(recordKey.source(''), recordShape.source),
    declared: await readDeclarations(store, log),
    ...(await readLeaderRecords(store, log)),
    recovery: await read.one<RecoveryRecord>(recordKey.recovery, recordShape.recovery),
    assumedWarm: await read.flat<unknown>(recordKey.assumedWarm(''), recordShape.any),
    revocations: await read.flat<Revocation>(recordKey.revocation(''), recordShape.revocation),
    readings,
  };
}

/** The records that only the leader writes. */
type LeaderRecords = Pick<
  LedgerRecords,
  'contenders' | 'held' | 'approvals' | 'windows' | 'approvalOutcomes' | 'elapsed' | 'observed'
>;

/** Reads the records that only the leader needs. Rejects if the store does not answer. */
export async function readLeaderRecords(store: SnapshotStore, log: Log): Promise<LeaderRecords> {
  const read = createReader(store, log);
  return {
    contenders: await read.nested<Contenders>('contenders/', recordShape.meta),
    held: await read.nested<Hold>('held/', recordShape.held),
    approvals: await read.nested<ApprovalRecord>('approvals/', recordShape.approval),
    windows: await read.flat<WindowRecord>(recordKey.window(''), recordShape.window),
    approvalOutcomes: await read.flat<ApprovalOutcome>(recordKey.approvalOutcome(''), recordShape.approvalOutcome),
    elapsed: await read.nested<ElapsedRecord>(recordKey.elapsedOfAll, recordShape.elapsed),
    observed: await read.nested<JsonObject>('observed/', recordShape.observed),
  };
}

/** Reads the declarations as last known good. Rejects if the store does not answer. */
export async function readDeclarations(store: SnapshotStore, log: Log): Promise<readonly DeclaredRecord[]> {
  const records = await createReader(store, log).nested<LastKnownGood>('declared/', recordShape.lastKnownGood);
  return [...records.values()].flatMap((ofKind) =>
    [...ofKind].map(([key, lastKnownGood]) => ({ kind: lastKnownGood.kind, key, lastKnownGood })),
  );
}

/** Reads the clusters' maps in one listing. */
async function readClusterMaps(store: SnapshotStore, log: Log): Promise<ReadonlyMap<string, ClusterReadings>> {
  const readings = new Map<string, ClusterReadings>();
  for await (const raw of listMaps(store, 'clusters/')) {
    const owner = clusterMapOf(raw.name);
    if (owner === undefined) continue;
    const { cluster, kind } = owner;
    const reading = await readClusterMap(store, cluster, kind, raw, log);
    readings.set(cluster, { ...readings.get(cluster), [kind]: reading });
  }
  return readings;
}

/** Decodes a listed map of a cluster, reads it again if it is damaged, and logs a lasting damage. Rejects if the store does not answer. */
async function readClusterMap<Kind extends ClusterMapKind>(
  store: SnapshotStore,
  cluster: string,
  kind: Kind,
  listed: RawMap,
  log: Log,
): Promise<MapReading<ClusterMapTypes[Kind]>> {
  const first = decodeMap(listed, clusterCodecs[kind]);
  if (first.type === 'complete') return first;
  const reading = await readMap(store, clusterMapName(cluster, kind), clusterCodecs[kind]);
  if (reading.type === 'damaged') {
    log.warn('a map of a cluster in the store is damaged and counts as missing', {
      ...{ cluster, what: kind, detail: reading.message },
    });
  }
  return reading;
}

function createReader(store: SnapshotStore, log: Log) {
  const parse = <Value>({ key, value }: StoredRecord, shape: Shape): Value | undefined => {
    const json = parseJsonBytes(value);
    if (json !== undefined && shape(json)) return json as Value;
    log.warn('a record of the store is damaged and counts as missing', { record: key });
    return undefined;
  };
  const flat = async <Value>(prefix: string, shape: Shape): Promise<Map<string, Value>> => {
    const result = new Map<string, Value>();
    for await (const record of store.list(prefix)) {
      const value = parse<Value>(record, shape);
      if (value !== undefined) result.set(record.key.slice(prefix.length), value);
    }
    return result;
  };
  return {
    flat,
    one: async <Value>(key: string, shape: Shape): Promise<Value | undefined> => {
      const record = await store.get(key);
      return record === undefined ? undefined : parse<Value>(record, shape);
    },
    nested: async <Value>(prefix: string, shape: Shape): Promise<Map<string, Map<string, Value>>> => {
      const result = new Map<string, Map<string, Value>>();
      for (const [path, value] of await flat<Value>(prefix, shape)) {
        const slash = path.indexOf('/');
        const first = path.slice(0, slash);
        const under = result.get(first) ?? new Map<string, Value>();
        under.set(path.slice(slash + 1), value);
        result.set(first, under);
      }
      return result;
    },
  };
}
