import type { Hold } from '../../engine/output/decision.ts';
import type { EngineKind } from '../../model/engine-kinds.ts';
import { parseJsonBytes } from '../../model/json.ts';
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

/** What is in the store is written like this; a newer one is refused (`../replica/store-format.ts`). */
export const STORE_FORMAT = 1;

/** The ledger's records in the store, by key prefix. Their values are JSON. Beside them are the clusters' maps. */
export const recordKey = {
  format: 'format',
  epoch: 'epoch',
  registration: (cluster: string) => `registrations/${cluster}`,
  source: (source: string) => `sources/${source}`,
  declared: (kind: EngineKind, key: string) => `declared/${kind}/${key}`,
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

/** A record that the replica that judges removals writes: what another one knows of it may be out of date when that ends. */
export function isLeaderRecord(key: string): boolean {
  return /^(contenders|held|approvals|windows|approval-outcomes|elapsed)\//.test(key);
}

/** Which deadline a record of {@link recordKey.elapsed} is about; undefined: the record is of another kind. */
export function elapsedAddress(record: string): { readonly owner: string; readonly key: string } | undefined {
  const [, owner, key] = /^elapsed\/([^/]*)\/(.*)$/s.exec(record) ?? [];
  return owner === undefined || key === undefined ? undefined : { owner, key };
}

/** A removal that a person has approved, until `expiresAt` (milliseconds since 1970). */
export interface ApprovalRecord {
  readonly digest: string;
  readonly by: string;
  readonly expiresAt: number;
}

/**
 * Removals from one cluster that still count in the guards' window; `open`: those of which it was not known yet whether
 * they have arrived.
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

/** What is known of clusters that were warm before the store was lost. */
export interface RecoveryRecord {
  /** The epoch that it is about. */
  readonly epoch: number;
  /** `open`: what is declared is not known in full yet; `closed`: no cluster that is declared later is meant. */
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
  /** Clusters that were warm before the store was lost, as far as is known. */
  readonly assumedWarm: ReadonlyMap<string, unknown>;
  /**
   * Clusters of which an input snapshot is kept and no registration: that was lost alone, for who is deregistered loses
   * both at once.
   */
  readonly unregistered: ReadonlySet<string>;
  readonly revocations: ReadonlyMap<string, Revocation>;
  readonly held: ReadonlyMap<string, ReadonlyMap<string, Hold>>;
  readonly approvals: ReadonlyMap<string, ReadonlyMap<string, ApprovalRecord>>;
  readonly windows: ReadonlyMap<string, WindowRecord>;
  /** What became of RemovalApprovals that were declared, by name. */
  readonly approvalOutcomes: ReadonlyMap<string, ApprovalOutcome>;
  /** Moments that have passed, by the owner of the deadline and its key. */
  readonly elapsed: ReadonlyMap<string, ReadonlyMap<string, ElapsedRecord>>;
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
 * Reads the whole ledger. Rejects when the store cannot be asked. A record or a map that cannot be read is missing, and said:
 * the agents and the sources tell again what matters of it.
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
    contenders: await read.nested<Contenders>('contenders/', recordShape.meta),
    recovery: await read.one<RecoveryRecord>(recordKey.recovery, recordShape.recovery),
    assumedWarm: await read.flat<unknown>(recordKey.assumedWarm(''), recordShape.any),
    revocations: await read.flat<Revocation>(recordKey.revocation(''), recordShape.revocation),
    held: await read.nested<Hold>('held/', recordShape.held),
    approvals: await read.nested<ApprovalRecord>('approvals/', recordShape.approval),
    windows: await read.flat<WindowRecord>(recordKey.window(''), recordShape.window),
    approvalOutcomes: await read.flat<ApprovalOutcome>(recordKey.approvalOutcome(''), recordShape.approvalOutcome),
    elapsed: await read.nested<ElapsedRecord>(recordKey.elapsedOfAll, recordShape.elapsed),
    readings,
  };
}

/** What only the replica that judges removals needs to know. Rejects when the store cannot be asked. */
export async function readLeaderRecords(
  store: SnapshotStore,
  log: Log,
): Promise<Pick<LedgerRecords, 'contenders' | 'held' | 'approvals' | 'windows' | 'approvalOutcomes' | 'elapsed'>> {
  const read = createReader(store, log);
  return {
    contenders: await read.nested<Contenders>('contenders/', recordShape.meta),
    held: await read.nested<Hold>('held/', recordShape.held),
    approvals: await read.nested<ApprovalRecord>('approvals/', recordShape.approval),
    windows: await read.flat<WindowRecord>(recordKey.window(''), recordShape.window),
    approvalOutcomes: await read.flat<ApprovalOutcome>(recordKey.approvalOutcome(''), recordShape.approvalOutcome),
    elapsed: await read.nested<ElapsedRecord>(recordKey.elapsedOfAll, recordShape.elapsed),
  };
}

/** The declarations as last known good. Rejects when the store cannot be asked. */
export async function readDeclarations(store: SnapshotStore, log: Log): Promise<readonly DeclaredRecord[]> {
  const records = await createReader(store, log).nested<LastKnownGood>('declared/', recordShape.lastKnownGood);
  return [...records.values()].flatMap((ofKind) =>
    [...ofKind].map(([key, lastKnownGood]) => ({ kind: lastKnownGood.kind, key, lastKnownGood })),
  );
}

/** The clusters' maps, from one listing. */
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

/** Reads one map of a cluster, of which this was listed; says so if it is damaged. Rejects when the store cannot be asked. */
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
    log.warn('what the store has of a cluster is damaged and counts as missing', {
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
