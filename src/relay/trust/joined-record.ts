import { isJsonObject, parseJsonBytes } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import { createTurns } from '../../model/values/in-turn.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';

/** Interval of reading the store, which may lose a record without an event. */
const LOOK_MS = 60_000;
/** Attempts to write the shared record before giving up. */
const MOST_CONFLICTS = 20;

/** A file that only this process writes. */
export interface PrivateFile {
  readonly path: string;
  /** Undefined: it does not exist. */
  read(): Promise<Uint8Array | undefined>;
  /** Replaces the content atomically; durable when it resolves. */
  write(bytes: Uint8Array): Promise<void>;
}

/** Values of a record by key, such as the generation of each cluster's tokens. */
export type Values<Value> = ReadonlyMap<string, Value>;

/** What a record holds, and how two copies of it become one. */
export interface RecordKind<Value> {
  /** Where replicas share it in the store. */
  readonly storeKey: string;
  /** For log lines: `the generations of tokens`. */
  readonly what: string;
  /** What a person does about a damaged file. */
  readonly repair: string;
  /** The value of a JSON member; undefined: it is damaged. */
  readonly read: (json: unknown) => Value | undefined;
  /** The one of two values of a key that counts; the same for either order. */
  readonly join: (one: Value, other: Value) => Value;
  /** Whether the value is not needed any more at this time, in milliseconds since 1970. Absent: it always is. */
  readonly isOver?: (value: Value, now: number) => boolean;
}

/** What a record needs. `store`: shared with other replicas; absent: there are none. */
export interface RecordDeps {
  readonly file: PrivateFile;
  readonly store?: SnapshotStore;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * A record of the trust folder that replicas share. Its copies in memory, in the file and in the store are joined and never
 * replaced. So a store that has lost its record or was restored from a backup is corrected by any replica.
 */
export interface JoinedRecord<Value> {
  get(key: string): Value | undefined;
  /**
   * Joins these values, which are computed after every earlier call has ended. Resolves when they are durable and shared with the
   * reachable replicas; rejects with a text for people.
   */
  add(more: () => Values<Value>): Promise<void>;
  /** Joins these values in memory at once, and shares them as soon as that is possible. */
  learn(more: Values<Value>): void;
  /** Calls `changed` with each key whose value has changed, until the returned function is called. */
  watch(changed: (key: string) => void): () => void;
  /** Stops following the store. Resolves after the current write, also of the file. */
  stop(): Promise<void>;
}

/**
 * Reads a record from the file and from the shared store, and joins them. Rejects with a text for people if they cannot be read,
 * because what the record forbids must not become valid again.
 */
export async function openJoinedRecord<Value>(deps: RecordDeps, kind: RecordKind<Value>): Promise<JoinedRecord<Value>> {
  const { file, store, clock, log } = deps;
  const listeners = new Set<(key: string) => void>();
  let known = await readRecordFile(file, kind);
  let onDisk = textOf(known);
  // Each call starts from the result of the one before.
  const inTurn = createTurns();
  let cancel = (): void => undefined;

  const hold = (more: Values<Value>): void => {
    const before = known;
    known = pruned(joined(kind, known, more), kind, clock.now());
    for (const key of more.keys()) {
      if (JSON.stringify(before.get(key)) === JSON.stringify(known.get(key))) continue;
      for (const listener of listeners) listener(key);
    }
  };
  const writeFile = async (values: Values<Value>): Promise<void> => {
    const text = textOf(values);
    if (text === onDisk) return;
    await file.write(Buffer.from(text));
    onDisk = text;
  };
  const share = async (more: Values<Value>): Promise<void> => {
    const next = pruned(joined(kind, known, more), kind, clock.now());
    if (store === undefined) {
      await writeFile(next);
      hold(more);
      return;
    }
    hold(await joinStore(store, kind, next, clock.now()));
    // The record in the store is durable; the file is a copy in case the store is lost.
    await writeFile(known).catch((error: unknown) =>
      log.error(`relay: ${kind.what} cannot be kept on disk`, { detail: errorText(error) }),
    );
  };
  const shareLater = (more: Values<Value>): void => {
    inTurn(() => share(more)).catch((error: unknown) =>
      log.warn(`relay: ${kind.what} cannot be shared now`, { detail: errorText(error) }),
    );
  };
  const lookLater = (): void => {
    cancel = clock.schedule(LOOK_MS, () => {
      lookLater();
      shareLater(new Map());
    });
  };
  if (store !== undefined) {
    await share(new Map());
    lookLater();
  }
  const unwatch = store?.watch((event) => {
    const concerns = event.type === 'changed' ? event.keys.includes(kind.storeKey) : event.type !== 'down';
    if (concerns) shareLater(new Map());
  });

  return {
    get: (key) => known.get(key),
    add: (more) => inTurn(() => share(more())),
    learn(more) {
      hold(more);
      shareLater(more);
    },
    watch(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    async stop() {
      cancel();
      unwatch?.();
      await inTurn(async () => undefined);
    },
  };
}

/** The values in a file. Rejects with a text for people if the file is damaged. */
export async function readRecordFile<Value>(
  { path, read }: Omit<PrivateFile, 'write'>,
  kind: RecordKind<Value>,
): Promise<Values<Value>> {
  const bytes = await read();
  const values = bytes === undefined ? new Map<string, Value>() : parse(bytes, kind);
  if (values !== undefined) return values;
  throw new Error(`${path} is damaged: ${kind.repair}`);
}

/** Joins these values with the record in the store, and returns the result. Rejects if the store does not answer. */
async function joinStore<Value>(
  store: SnapshotStore,
  kind: RecordKind<Value>,
  values: Values<Value>,
  now: number,
): Promise<Values<Value>> {
  for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts += 1) {
    const record = await store.get(kind.storeKey);
    // A damaged record is replaced.
    const stored = (record && parse(record.value, kind)) ?? new Map<string, Value>();
    const next = pruned(joined(kind, stored, values), kind, now);
    if (textOf(next) === textOf(stored)) return next;
    const write = { key: kind.storeKey, value: Buffer.from(textOf(next)), ifVersion: record?.version ?? null };
    if ((await store.write([write])) === 'written') return next;
  }
  throw new Error(`the replicas do not agree on ${kind.what}: their record changes all the time`);
}

function joined<Value>(kind: RecordKind<Value>, one: Values<Value>, other: Values<Value>): Map<string, Value> {
  const all = new Map(one);
  for (const [key, value] of other) {
    const before = all.get(key);
    all.set(key, before === undefined ? value : kind.join(before, value));
  }
  return all;
}

function pruned<Value>(values: Values<Value>, { isOver }: RecordKind<Value>, now: number): Values<Value> {
  return isOver === undefined ? values : new Map([...values].filter(([, value]) => !isOver(value, now)));
}

/** Sorted by key, so that equal values have equal texts. */
function textOf<Value>(values: Values<Value>): string {
  const sorted = [...values].sort(([a], [b]) => (a < b ? -1 : 1));
  return `${JSON.stringify(Object.fromEntries(sorted))}\n`;
}

function parse<Value>(bytes: Uint8Array, { read }: RecordKind<Value>): Values<Value> | undefined {
  const json = parseJsonBytes(bytes);
  if (!isJsonObject(json)) return undefined;
  const values = new Map<string, Value>();
  for (const [key, member] of Object.entries(json)) {
    const value = read(member);
    if (value === undefined) return undefined;
    values.set(key, value);
  }
  return values;
}
