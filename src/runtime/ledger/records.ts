import type { LastReadCluster, LastReadPolicy, LedgerEntry, Registration } from '../../model/ledger.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';

/** The ledger's records in the store, by key prefix. Their values are JSON. */
export const recordKey = {
  epoch: 'epoch',
  policy: 'policy',
  registration: (cluster: string) => `registrations/${cluster}`,
  source: (source: string) => `sources/${source}`,
  cluster: (cluster: string) => `clusters/${cluster}`,
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
  /** By cluster, then object key. */
  readonly entries: ReadonlyMap<string, ReadonlyMap<string, LedgerEntry>>;
  readonly held: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly approvals: ReadonlyMap<string, ReadonlyMap<string, ApprovalRecord>>;
  readonly windows: ReadonlyMap<string, WindowRecord>;
}

/** Reads the whole ledger. Rejects when the store cannot be asked. */
export async function readRecords(store: SnapshotStore): Promise<LedgerRecords> {
  const epoch = await store.get(recordKey.epoch);
  const policy = await store.get(recordKey.policy);
  return {
    epoch: epoch === undefined ? undefined : parse<{ epoch: number }>(epoch.value).epoch,
    policy: policy === undefined ? undefined : parse<LastReadPolicy>(policy.value),
    registrations: await readFlat<Registration>(store, recordKey.registration('')),
    sources: await readFlat<{ revision: string }>(store, recordKey.source('')),
    clusters: await readFlat<LastReadCluster>(store, recordKey.cluster('')),
    entries: await readNested<LedgerEntry>(store, 'entries/'),
    held: await readNested<string>(store, 'held/'),
    approvals: await readNested<ApprovalRecord>(store, 'approvals/'),
    windows: await readFlat<WindowRecord>(store, recordKey.window('')),
  };
}

async function readFlat<Value>(store: SnapshotStore, prefix: string): Promise<Map<string, Value>> {
  const result = new Map<string, Value>();
  for await (const { key, value } of store.list(prefix)) result.set(key.slice(prefix.length), parse<Value>(value));
  return result;
}

async function readNested<Value>(store: SnapshotStore, prefix: string): Promise<Map<string, Map<string, Value>>> {
  const result = new Map<string, Map<string, Value>>();
  for (const [path, value] of await readFlat<Value>(store, prefix)) {
    const slash = path.indexOf('/');
    const cluster = path.slice(0, slash);
    const ofCluster = result.get(cluster) ?? new Map<string, Value>();
    ofCluster.set(path.slice(slash + 1), value);
    result.set(cluster, ofCluster);
  }
  return result;
}

/** The store is the server's own: what it holds was written by {@link recordKey}'s users, and nobody else writes there. */
function parse<Value>(bytes: Uint8Array): Value {
  return JSON.parse(new TextDecoder().decode(bytes)) as Value;
}
