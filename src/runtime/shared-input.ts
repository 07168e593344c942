import type { Input } from '../engine/collections/types.ts';
import type { Receipt } from '../model/fleet/receipt.ts';
import { type JsonValue, jsonEquals, parseJsonBytes } from '../model/text/json.ts';
import type { ServerCore } from './core.ts';
import type { SharedRecord } from './ledger/records.ts';
import { createKeyedTask, type KeyedTask } from './single-flight.ts';

/** What the records of an input need. */
export type SharedInputDeps = Pick<ServerCore, 'store' | 'journal' | 'loop' | 'clock' | 'log' | 'records'>;

interface SharedInputOptions<Value extends JsonValue, Staged extends JsonValue> {
  readonly input: Input<Staged>;
  /** What is staged of a record. */
  readonly staged: (value: Value) => Staged;
  /** A value that another process has written does not count beside the own one: it is written over. Default: it counts. */
  readonly isOutdated?: (value: Value, own: Value) => boolean;
  /** Another process has written this record, or the store has lost it (undefined). */
  readonly changed?: (key: string, value: Value | undefined) => void;
}

/** From this number of changed records on, one listing costs less than reading each record. */
const LIST_FROM = 100;

/**
 * An input of the engine with records of the store as its values: the record that was written last counts, if it is not outdated.
 * What this process writes is staged at once; what others write is staged when it was read. A value without news is neither
 * written nor staged.
 */
export function createSharedInput<Value extends JsonValue, Staged extends JsonValue>(
  deps: SharedInputDeps,
  { prefix, shape }: SharedRecord,
  options: SharedInputOptions<Value, Staged>,
) {
  const { store, journal, loop } = deps;
  const { input, staged } = options;
  const values = new Map<string, Value>();
  const stagedValues = new Map<string, Staged>();

  const stage = (key: string, value: Value | undefined): void => {
    if (value === undefined) values.delete(key);
    else values.set(key, value);
    const next = value === undefined ? undefined : staged(value);
    const before = stagedValues.get(key);
    if (next === undefined ? before === undefined : before !== undefined && jsonEquals(before, next)) return;
    loop.transact(() => {
      if (next === undefined) {
        stagedValues.delete(key);
        input.delete('', key);
      } else {
        stagedValues.set(key, next);
        input.set('', key, next);
      }
    });
  };
  /** A record of the store: it counts, also one that this process has not written, unless it is outdated. */
  const take = (record: string, bytes: Uint8Array | undefined): void => {
    const key = record.slice(prefix.length);
    const json = bytes === undefined ? undefined : parseJsonBytes(bytes);
    const value = shape(json) ? (json as Value) : undefined;
    const before = values.get(key);
    if (value === undefined ? before === undefined : before !== undefined && jsonEquals(before, value)) return;
    // A missing record may be lost with the store: then the process that knows it writes it again.
    if (value === undefined) return;
    if (before !== undefined && options.isOutdated?.(value, before) === true) {
      journal.put(record, before);
      return;
    }
    journal.noted(record, value);
    stage(key, value);
    options.changed?.(key, value);
  };
  const readAll = async (): Promise<readonly string[]> => {
    for await (const { key, value } of store.list(prefix)) take(key, value);
    return [];
  };
  const reading = createKeyedTask(deps, 'reading what other replicas have written', {
    allFrom: LIST_FROM,
    all: readAll,
    each: async (record) => take(record, (await store.get(record))?.value),
  });
  const stored = deps.records.shared.get(prefix);
  if (stored === undefined)
    throw new Error(`the records ${prefix} were not read: they are not in the list of the server`);
  for (const [key, value] of stored) {
    journal.noted(prefix + key, value);
    // Its shape was checked when the record was read.
    stage(key, value as Value);
  }

  return {
    get: (key: string): Value | undefined => values.get(key),
    entries: (): Iterable<[string, Value]> => values.entries(),
    /** Writes and stages a value, if it has news. */
    set: (key: string, value: Value): void => {
      const before = values.get(key);
      if (before !== undefined && jsonEquals(before, value)) return;
      journal.put(prefix + key, value);
      stage(key, value);
    },
    /** Of the value that this process has set last. */
    receipt: (key: string): Receipt => journal.receipt([prefix + key]),
    /** Forgets the subject. */
    delete: (key: string): void => {
      if (!values.has(key)) return;
      journal.put(prefix + key, null);
      stage(key, undefined);
    },
    /** Follows what other replicas write, until the returned function is called. */
    follow: (): (() => Promise<void>) => follow(store, prefix, reading),
  };
}

function follow(store: SharedInputDeps['store'], prefix: string, reading: KeyedTask): () => Promise<void> {
  if (!store.shared) return async () => undefined;
  const unwatch = store.watch((event) => {
    if (event.type === 'changed') {
      for (const key of event.keys) if (key.startsWith(prefix)) reading.wake(key);
    } else if (event.type === 'up') reading.wake();
  });
  reading.wake();
  return async () => {
    unwatch();
    await reading.stop();
  };
}
