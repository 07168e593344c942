import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore, StoredRecord, StoreEvent, StoreWrite } from '../../ports/snapshot-store.ts';
import { createFreshness } from './freshness.ts';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NAME_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** First byte of a sealed value; the name of the secret, the nonce, the encrypted generation and bytes, and the tag follow. */
const FORM = 3;
const GENERATION_BYTES = 8;
const HEAD_BYTES = 1 + NAME_BYTES;

/** A record that none of the secrets of this server opens. */
export class OtherSecretError extends Error {
  override readonly name = 'OtherSecretError';
}

/** Keys derived from one secret. */
interface SealKeys {
  /** Identifies the secret that sealed a value without revealing it. */
  readonly name: Buffer;
  /** Created once: creating a key object takes longer than opening most records. */
  readonly cipher: KeyObject;
  readonly nonce: KeyObject;
}

/**
 * Encrypts the values of a store; record keys and value sizes stay visible. The first secret encrypts, every secret decrypts.
 * A value that was damaged, moved from another key or never sealed reads as empty bytes, so its reader finds it damaged.
 * A value that was sealed with an unknown secret rejects: another configuration may still need it.
 *
 * Each value has a generation. If an older value than this process knows is put back, the store counts as one that has lost
 * writes: the log has a warning, and each owner writes its records again from memory (`lost`). The read returns the older value
 * after that event.
 */
export function sealStore(
  inner: SnapshotStore,
  secrets: readonly Uint8Array[],
  { clock, log }: { readonly clock: Pick<Clock, 'now'>; readonly log: Log },
): SnapshotStore {
  const keys = secrets.map(keysOf);
  const [first] = keys;
  if (first === undefined) throw new Error('sealing the store needs a secret');
  const freshness = createFreshness(clock.now);
  const listeners = new Set<(event: StoreEvent) => void>();
  const opened = (record: StoredRecord, begun: number): StoredRecord => {
    const { generation, value } = open(keys, record);
    if (generation !== undefined && freshness.isPutBack(record.key, generation, begun)) {
      const message = `an older value of ${record.key} was put back`;
      log.warn('the store has an older value of a record than before; records are written again from memory', {
        key: record.key,
      });
      for (const listener of listeners) listener({ type: 'lost', message });
    }
    return { ...record, value };
  };
  return {
    ...inner,
    get: async (key) => {
      const begun = freshness.begin();
      const record = await inner.get(key);
      return record === undefined ? undefined : opened(record, begun);
    },
    async *list(prefix) {
      const begun = freshness.begin();
      for await (const record of inner.list(prefix)) yield opened(record, begun);
    },
    write: async (writes) => {
      const sealed = writes.map((write) =>
        sealedWrite(write, (value) =>
          freshness.bytesOf(write.key, (generation) => seal(first, write.key, { generation, value })),
        ),
      );
      const outcome = await inner.write(sealed);
      for (const { key } of writes) freshness.settled(key, outcome === 'written');
      return outcome;
    },
    watch: (listener) => {
      listeners.add(listener);
      const unwatch = inner.watch((event) => {
        if (event.type === 'lost') freshness.forget();
        listener(event);
      });
      return () => {
        listeners.delete(listener);
        unwatch();
      };
    },
  };
}

/**
 * Seals all values that a later secret has sealed with the first one, so that the later one can be removed. `inner` is the
 * store itself, not its sealed view. A record that another process changes meanwhile is skipped: its new value is sealed with
 * the first secret. Rejects if the store does not answer.
 */
export async function sealAnew(inner: SnapshotStore, secrets: readonly Uint8Array[]): Promise<void> {
  const [first, ...later] = secrets.map(keysOf);
  if (first === undefined) return;
  for await (const record of inner.list('')) {
    const { key, value, version } = record;
    if (!later.some((keys) => isNamed(keys, value))) continue;
    const { generation = 0, value: bytes } = open(later, record);
    await inner.write([{ key, value: seal(first, key, { generation, value: bytes }), ifVersion: version }]);
  }
}

function keysOf(secret: Uint8Array): SealKeys {
  const all = Buffer.from(hkdfSync('sha256', secret, '', 'fleetrelay store', 2 * KEY_BYTES + NAME_BYTES));
  return {
    cipher: createSecretKey(all.subarray(0, KEY_BYTES)),
    nonce: createSecretKey(all.subarray(KEY_BYTES, 2 * KEY_BYTES)),
    name: all.subarray(2 * KEY_BYTES),
  };
}

function sealedWrite(write: StoreWrite, sealed: (value: Uint8Array) => Uint8Array): StoreWrite {
  const { value } = write;
  return value === undefined || value === null ? write : { ...write, value: sealed(value) };
}

/** A value and its generation; absent: the record is damaged. */
interface Opened {
  readonly generation?: number;
  readonly value: Uint8Array;
}

/**
 * The nonce is derived from key, generation and value. A batch that is retried after a lost reply must have equal bytes, because
 * the store recognises it by them.
 */
function seal(
  { name, cipher, nonce: nonceKey }: SealKeys,
  key: string,
  { generation, value }: Required<Opened>,
): Uint8Array {
  const head = Buffer.alloc(GENERATION_BYTES);
  head.writeBigUInt64BE(BigInt(generation));
  const hash = createHmac('sha256', nonceKey)
    .update(`${Buffer.byteLength(key)} ${key}`)
    .update(head)
    .update(value);
  const nonce = hash.digest().subarray(0, NONCE_BYTES);
  const encryption = createCipheriv(CIPHER, cipher, nonce);
  // The record key is authenticated too, so that a value cannot be moved to another key.
  encryption.setAAD(Buffer.from(key));
  const encrypted = [encryption.update(head), encryption.update(value), encryption.final(), encryption.getAuthTag()];
  return Buffer.concat([Buffer.from([FORM, ...name]), nonce, ...encrypted]);
}

function open(all: readonly SealKeys[], { key, value }: StoredRecord): Opened {
  const damaged = { value: new Uint8Array(0) };
  if (value[0] !== FORM || value.length < HEAD_BYTES + NONCE_BYTES + GENERATION_BYTES + TAG_BYTES) return damaged;
  const keys = all.find((one) => isNamed(one, value));
  if (keys === undefined) {
    throw new OtherSecretError(
      `the record ${key} of the store was sealed with another relay secret: give every replica the same one (during a rotation, the previous one as the second); if that secret is lost, empty the store or use another prefix`,
    );
  }
  const [start, end] = [HEAD_BYTES + NONCE_BYTES, value.length - TAG_BYTES];
  const decryption = createDecipheriv(CIPHER, keys.cipher, value.subarray(HEAD_BYTES, start));
  decryption.setAAD(Buffer.from(key));
  decryption.setAuthTag(value.subarray(end));
  const bytes = decryption.update(value.subarray(start, end));
  try {
    const all = Buffer.concat([bytes, decryption.final()]);
    return { generation: Number(all.readBigUInt64BE()), value: all.subarray(GENERATION_BYTES) };
  } catch {
    return damaged;
  }
}

function isNamed({ name }: SealKeys, value: Uint8Array): boolean {
  return value[0] === FORM && name.equals(value.subarray(1, 1 + NAME_BYTES));
}
