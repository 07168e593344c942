import type { Input } from '../../engine/collections/types.ts';
import type { Engine } from '../../engine/graph.ts';
import { isEngineKind } from '../../model/fleet/engine-kinds.ts';
import type { ApprovalOutcome, Contenders, Hold, LastKnownGood, Registration } from '../../model/fleet/ledger.ts';
import type { AdmissionPosition } from '../../model/fleet/output.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJsonBytes } from '../../model/text/json.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore, StoredRecord } from '../../ports/snapshot-store.ts';
import type { RecordWriter } from '../stored/group.ts';
import { decodeMap, listMaps, readMap } from '../stored/read-map.ts';
import { createSharing } from '../stored/sharing.ts';
import type { ValueCodec } from '../stored/stored-map.ts';
import { type ClusterReadings, clusterCodecs, clusterMapKinds, clusterMapOf } from './cluster-state.ts';
import { fields, isFlag, isText, isTime, listOf, mapOf, type Shape } from './shapes.ts';

/** The format of the store; a server refuses a newer one (`../replica/conditioned-store.ts`). */
export const STORE_FORMAT = 1;

/** The ledger's records in the store, by key prefix. Their values are JSON. Beside them are the clusters' maps. */
export const recordKey = {
  format: 'format',
  epoch: 'epoch',
  registration: (cluster: string) => `registrations/${cluster}`,
  source: (source: string) => `sources/${source}`,
  declared: (kind: string, key: string) => `declared/${kind}/${key}`,
  observedOfAll: 'observed/',
  observed: (kind: string, key: string) => `observed/${kind}/${key}`,
  contenders: (cluster: string, key: string) => `contenders/${cluster}/${key}`,
  recovery: 'assumed-warm-recovery',
  assumedWarm: (cluster: string) => `assumed-warm/${cluster}`,
  revocation: (cluster: string) => `revocations/${cluster}`,
  held: (cluster: string, key: string) => `held/${cluster}/${key}`,
  approval: (cluster: string, key: string) => `approvals/${cluster}/${key}`,
  windowOfAll: 'windows',
  window: (cluster: string) => `windows/${cluster}`,
  approvalOfAll: 'approvals/',
  approvalOutcomesOfAll: 'approval-outcomes',
  approvalOutcomes: 'approval-outcomes/all',
  elapsedOfAll: 'elapsed/',
  elapsed: (owner: string, key: string) => `elapsed/${owner}/${key}`,
  historyOf: (cluster: string) => `history/${cluster}/`,
  history: (cluster: string, slot: number) => `history/${cluster}/${slot}`,
} as const;

/** True for a record that the leader writes: other replicas have outdated copies of it when the leader changes. */
export function isLeaderRecord(key: string): boolean {
  return /^(contenders|held|approvals|windows|approval-outcomes|elapsed|observed)\//.test(key);
}

/** An engine input whose values are records of the store: each change is staged and queued for the store in one step. */
function recorded<Value>(input: Input<Value>, fleet: RecordWriter, keyOf: (partition: string, key: string) => string) {
  return {
    /** Null deletes. */
    set: (partition: string, key: string, value: Value | null): void => {
      if (value === null) input.delete(partition, key);
      else input.set(partition, key, value);
      fleet.put(keyOf(partition, key), value);
    },
    /** Stages records of the store. */
    load: (records: Nested<Value>): void => {
      for (const [partition, values] of records) {
        for (const [key, value] of values) {
          fleet.noted(keyOf(partition, key), value);
          input.set(partition, key, value);
        }
      }
    },
  };
}

/** The engine inputs whose values are records of the store. */
export function recordedInputs({ inputs }: Pick<Engine, 'inputs'>, fleet: RecordWriter) {
  return {
    contenders: recorded(inputs.contenders, fleet, recordKey.contenders),
    held: recorded(inputs.heldRemovals, fleet, recordKey.held),
    lastKnownGood: recorded(inputs.lastKnownGood, fleet, recordKey.declared),
  };
}

/** A removal that a user has approved, until `expiresAt` (milliseconds since 1970). */
export interface ApprovalRecord {
  readonly digest: string;
  readonly by: string;
  readonly expiresAt: number;
  /** Milliseconds since 1970: tells an approval from an equal one of the same object that was given at another time. */
  readonly grantedAt: number;
  /** It was used, or no removal needs it. The record stays until it expires, so that no process takes it for one that counts. */
  readonly ended?: true;
}

export interface OutcomesRecord {
  /** Of declared RemovalApprovals, by name. */
  readonly outcomes: Readonly<Record<string, ApprovalOutcome>>;
  /** Outcomes were lost: what sources other than these declare may have been used. Absent: none are lost. */
  readonly judged?: readonly string[];
  /** The admission that proved last that the store was an older copy. Absent: none has. */
  readonly loss?: AdmissionPosition;
}

/**
 * Removals from one cluster that count in the guards' window; `open`: keys whose removal the agent has not confirmed yet;
 * `unproven`: the ledger entries of all of them were.
 */
export type WindowRecord = readonly {
  readonly at: number;
  readonly removed: number;
  readonly open: readonly string[];
  readonly unproven?: true;
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

/** The end of registrations of a cluster's name, and of their client certificates. */
export interface Revocation {
  /**
   * Number of ended registrations of the name. A certificate contains the number at its issue, so the comparison needs no clock.
   */
  readonly ended: number;
  /** When the last one ended, in milliseconds since 1970 by the clock of the replica that recorded it. */
  readonly notBefore: number;
}

/** One record for each subject, such as a data plane, which every replica may write: see `../shared-input.ts`. */
export interface SharedRecord {
  /** Of the keys; ends with a slash. */
  readonly prefix: string;
  /** Records of another shape are damaged. */
  readonly shape: Shape;
}

/** Records under keys of two parts. */
type Nested<Value> = ReadonlyMap<string, ReadonlyMap<string, Value>>;

/** The ledger as last written to the store. */
export type LedgerRecords = Awaited<ReturnType<typeof readRecords>>;

/**
 * Reads the complete ledger. Rejects if the store does not answer. A damaged record or map counts as missing and is logged;
 * agents and sources report its content again.
 */
export async function readRecords(store: SnapshotStore, log: Log, shared: readonly SharedRecord[] = []) {
  const read = createReader(store, log);
  const readings = await readClusterMaps(store, log);
  const registrations = await read.flat<Registration>(recordKey.registration(''), recordShape.registration);
  const isUnregistered = ([cluster, { live }]: [string, ClusterReadings]): boolean =>
    live !== undefined && live.type !== 'missing' && !registrations.has(cluster);
  return {
    /** Undefined: the store is new or was lost. */
    epoch: (await read.one<{ epoch: number }>(recordKey.epoch, recordShape.recovery))?.epoch,
    registrations,
    /**
     * Clusters with an input snapshot and without a registration: the registration was lost, since deregistering deletes both
     * in one batch.
     */
    unregistered: new Set([...readings].filter(isUnregistered).map(([cluster]) => cluster)),
    sources: await read.flat<{ readonly revision: string }>(recordKey.source(''), recordShape.source),
    /** Declarations as last known good, by kind and key. */
    declared: await readDeclarations(store, log),
    ...(await readLeaderRecords(store, log)),
    recovery: await read.one<RecoveryRecord>(recordKey.recovery, recordShape.recovery),
    /** Clusters that are assumed warm. */
    assumedWarm: await read.flat<unknown>(recordKey.assumedWarm(''), recordShape.any),
    revocations: await read.flat<Revocation>(recordKey.revocation(''), recordShape.revocation),
    /** The records of inputs that every replica may write, by their prefix. */
    shared: new Map(
      await Promise.all(
        shared.map(async ({ prefix, shape }) => [prefix, await read.flat<JsonValue>(prefix, shape)] as const),
      ),
    ),
    /** The clusters' maps. */
    readings,
  };
}

/** Reads the records that only the leader writes. Rejects if the store does not answer. */
export async function readLeaderRecords(store: SnapshotStore, log: Log) {
  const read = createReader(store, log);
  const outcomes = await read.flat<OutcomesRecord>(`${recordKey.approvalOutcomesOfAll}/`, recordShape.approvalOutcomes);
  return {
    contenders: await read.nested<Contenders>('contenders/', recordShape.meta),
    held: await read.nested<Hold>('held/', recordShape.held),
    approvals: await read.nested<ApprovalRecord>(recordKey.approvalOfAll, recordShape.approval),
    windows: await read.flat<WindowRecord>(recordKey.window(''), recordShape.window),
    /** Undefined: no leader has written it yet, or the store has lost it. */
    approvalOutcomes: outcomes.get('all'),
    /** Moments that have passed, by the owner of the deadline and its key. */
    elapsed: await read.nested<ElapsedRecord>(recordKey.elapsedOfAll, recordShape.elapsed),
    /** The statuses written last, by kind and key. */
    observed: await read.nested<JsonObject>('observed/', recordShape.observed),
    /** The keys of all these records, damaged ones too. */
    keys: read.keys(),
  };
}

/** Reads the declarations as last known good, by kind and key. Rejects if the store does not answer. */
export function readDeclarations(store: SnapshotStore, log: Log): Promise<Nested<LastKnownGood>> {
  return createReader(store, log).nested<LastKnownGood>('declared/', recordShape.lastKnownGood);
}

/** Reads the clusters' maps in one listing. A map that is damaged there is read again, and a lasting damage is logged. */
async function readClusterMaps(store: SnapshotStore, log: Log): Promise<ReadonlyMap<string, ClusterReadings>> {
  const readings = new Map<string, ClusterReadings>();
  const keys = new Map<string, string>();
  const sharing = new Map(clusterMapKinds.map((kind) => [kind, createSharing<never>(keys)]));
  for await (const listed of listMaps(store, 'clusters/')) {
    const owner = clusterMapOf(listed.name);
    if (owner === undefined) continue;
    const { cluster, kind } = owner;
    const codec: ValueCodec<never> = clusterCodecs[kind] as ValueCodec<never>;
    const first = decodeMap(listed, codec, { sharing: sharing.get(kind) });
    const reading = first.type === 'complete' ? first : await readMap(store, listed.name, codec);
    if (reading.type === 'damaged') {
      const detail = reading.message;
      log.warn('a map of a cluster in the store is damaged and counts as missing', { cluster, what: kind, detail });
    }
    readings.set(cluster, { ...readings.get(cluster), [kind]: reading });
  }
  return readings;
}

function createReader(store: SnapshotStore, log: Log) {
  const keys = new Set<string>();
  const parse = <Value>({ key, value }: StoredRecord, shape: Shape): Value | undefined => {
    const json = parseJsonBytes(value);
    if (json !== undefined && shape(json)) return json as Value;
    log.warn('a record of the store is damaged and counts as missing', { record: key });
    return undefined;
  };
  const flat = async <Value>(prefix: string, shape: Shape): Promise<ReadonlyMap<string, Value>> => {
    const result = new Map<string, Value>();
    for await (const record of store.list(prefix)) {
      keys.add(record.key);
      const value = parse<Value>(record, shape);
      if (value !== undefined) result.set(record.key.slice(prefix.length), value);
    }
    return result;
  };
  return {
    flat,
    /** The keys of all records that were listed. */
    keys: (): ReadonlySet<string> => keys,
    one: async <Value>(key: string, shape: Shape): Promise<Value | undefined> => {
      const record = await store.get(key);
      return record === undefined ? undefined : parse<Value>(record, shape);
    },
    nested: async <Value>(prefix: string, shape: Shape): Promise<Nested<Value>> => {
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

const isPosition = fields({ epoch: isTime, sequence: isTime });
const isOrigin = fields({ source: isText, path: isText });

/** The fields of each record that the start of a server relies on. */
export const recordShape = {
  any: () => true,
  held: fields({ reason: isText, message: isText }),
  registration: fields({
    cluster: isText,
    id: isText,
    predecessors: isTime,
    position: isPosition,
    since: isTime,
    warm: isFlag,
  }),
  source: fields({ revision: isText }),
  lastKnownGood: fields({
    kind: (json) => typeof json === 'string' && isEngineKind(json),
    namespace: isText,
    name: isText,
    value: isJsonObject,
    origin: isOrigin,
  }),
  meta: fields({ origins: listOf(isOrigin), scope: listOf(isText) }),
  recovery: fields({ epoch: isTime }),
  revocation: fields({ notBefore: isTime, ended: isTime }),
  approval: fields({ digest: isText, expiresAt: isTime, grantedAt: isTime }),
  window: listOf(fields({ at: isTime, removed: isTime, open: listOf(isText) })),
  approvalOutcomes: fields({
    outcomes: mapOf(fields({ digest: isText, outcome: isText })),
    judged: (json) => json === undefined || listOf(isText)(json),
    loss: (json) => json === undefined || isPosition(json),
  }),
  observed: isJsonObject,
  elapsed: fields({ at: isTime }),
} satisfies Readonly<Record<string, Shape>>;
