import type {
  LastReadCluster,
  LastReadPlacement,
  LastReadPolicy,
  LedgerEntry,
  Registration,
} from '../../model/ledger.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore, StoredRecord } from '../../ports/snapshot-store.ts';

/** The ledger's records in the store, by key prefix. Their values are JSON. */
export const recordKey = {
  epoch: 'epoch',
  policy: 'policy',
  registration: (cluster: string) => `registrations/${cluster}`,
  source: (source: string) => `sources/${source}`,
  cluster: (cluster: string) => `clusters/${cluster}`,
  placement: (name: string) => `placements/${name}`,
  entry: (cluster: string, key: string) => `entries/${cluster}/${key}`,
  held: (cluster: string, key: string) => `held/${cluster}/${key}`,
  approval: (cluster: string, key: string) => `approvals/${cluster}/${key}`,
  window: (cluster: string) => `windows/${cluster}`,
} as const;

/** A removal that a person has approved, until `expiresAt` (milliseconds since 1970). */
export interface ApprovalRecord {
  readonly digest: string;
  readonly by: string;
  readonly expiresAt: number;
}

/** Removals from one cluster that still count in the guards' window. */
export type WindowRecord = readonly { readonly at: number; readonly removed: number }[];

/** Everything that the store holds, as last written. */
export interface LedgerRecords {
  /** Undefined: the store is new or was lost. */
  readonly epoch: number | undefined;
  readonly policy: LastReadPolicy | undefined;
  readonly registrations: ReadonlyMap<string, Registration>;
  readonly sources: ReadonlyMap<string, { readonly revision: string }>;
  readonly clusters: ReadonlyMap<string, LastReadCluster>;
  readonly placements: ReadonlyMap<string, LastReadPlacement>;
  /** By cluster, then object key. */
  readonly entries: ReadonlyMap<string, ReadonlyMap<string, LedgerEntry>>;
  readonly held: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly approvals: ReadonlyMap<string, ReadonlyMap<string, ApprovalRecord>>;
  readonly windows: ReadonlyMap<string, WindowRecord>;
}

/**
 * Reads the whole ledger. Rejects when the store cannot be asked. A record that cannot be read is missing, and said: the
 * agents and the sources tell again what matters of it.
 */
export async function readRecords(store: SnapshotStore, log: Log): Promise<LedgerRecords> {
  const read = createReader(store, log);
  return {
    epoch: (await read.one<{ epoch: number }>(recordKey.epoch))?.epoch,
    policy: await read.one<LastReadPolicy>(recordKey.policy),
    registrations: await read.flat<Registration>(recordKey.registration('')),
    sources: await read.flat<{ revision: string }>(recordKey.source('')),
    clusters: await read.flat<LastReadCluster>(recordKey.cluster('')),
    placements: await read.flat<LastReadPlacement>(recordKey.placement('')),
    entries: await read.nested<LedgerEntry>('entries/'),
    held: await read.nested<string>('held/'),
    approvals: await read.nested<ApprovalRecord>('approvals/'),
    windows: await read.flat<WindowRecord>(recordKey.window('')),
  };
}

function createReader(store: SnapshotStore, log: Log) {
  const parse = <Value>({ key, value }: StoredRecord): Value | undefined => {
    try {
      return JSON.parse(new TextDecoder().decode(value)) as Value;
    } catch {
      log.warn('a record of the store is damaged and counts as missing', { record: key });
      return undefined;
    }
  };
  const flat = async <Value>(prefix: string): Promise<Map<string, Value>> => {
    const result = new Map<string, Value>();
    for await (const record of store.list(prefix)) {
      const value = parse<Value>(record);
      if (value !== undefined) result.set(record.key.slice(prefix.length), value);
    }
    return result;
  };
  return {
    flat,
    one: async <Value>(key: string): Promise<Value | undefined> => {
      const record = await store.get(key);
      return record === undefined ? undefined : parse<Value>(record);
    },
    nested: async <Value>(prefix: string): Promise<Map<string, Map<string, Value>>> => {
      const result = new Map<string, Map<string, Value>>();
      for (const [path, value] of await flat<Value>(prefix)) {
        const slash = path.indexOf('/');
        const cluster = path.slice(0, slash);
        const ofCluster = result.get(cluster) ?? new Map<string, Value>();
        ofCluster.set(path.slice(slash + 1), value);
        result.set(cluster, ofCluster);
      }
      return result;
    },
  };
}
