import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import type { SnapshotStore, StoredRecord, StoreWrite } from '../../ports/snapshot-store.ts';
import { KEY_BYTES, mayBeBox, NONCE_BYTES, openBox, sealBox } from '../sealing/box.ts';

const NAME_BYTES = 4;
/** Of the form of a value: this byte and the name of the secret, then the box. Another one gets another number. */
const FORM = 2;
const HEAD_BYTES = 1 + NAME_BYTES;

/** What is derived from one secret. */
interface SealKeys {
  /** Tells which secret has sealed a value, and nothing about it. */
  readonly name: Buffer;
  /** Made once: making one of bytes takes longer than most records take to open. */
  readonly cipher: KeyObject;
  readonly nonce: KeyObject;
}

/**
 * A store whose values only who has one of the secrets can read or make; keys, and how large values are, stay visible. The
 * first secret seals, any of them opens. A value that was spoiled, moved from another key or never sealed reads as an empty
 * one, which is no record of anything; one that another secret has sealed rejects, since it is somebody's.
 */
export function sealStore(inner: SnapshotStore, secrets: readonly Uint8Array[]): SnapshotStore {
  const keys = secrets.map(keysOf);
  const [first] = keys;
  if (first === undefined) throw new Error('sealing the store needs a secret');
  const opened = (record: StoredRecord): StoredRecord => ({ ...record, value: open(keys, record) });
  return {
    ...inner,
    get: async (key) => {
      const record = await inner.get(key);
      return record === undefined ? undefined : opened(record);
    },
    async *list(prefix) {
      for await (const record of inner.list(prefix)) yield opened(record);
    },
    write: (writes) => inner.write(writes.map((write) => sealedWrite(first, write))),
  };
}

/**
 * Seals with the first secret what a later one has sealed, so that the later one can go: of the store itself, not of its
 * sealed view. What changes meanwhile is left to who changes it. Rejects if the store cannot be asked.
 */
export async function sealAnew(inner: SnapshotStore, secrets: readonly Uint8Array[]): Promise<void> {
  const [first, ...later] = secrets.map(keysOf);
  if (first === undefined) return;
  for await (const record of inner.list('')) {
    const { key, value, version } = record;
    if (!later.some((keys) => isNamed(keys, value))) continue;
    await inner.write([sealedWrite(first, { key, value: open(later, record), ifVersion: version })]);
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

function sealedWrite(keys: SealKeys, write: StoreWrite): StoreWrite {
  const { key, value } = write;
  return value === undefined || value === null ? write : { ...write, value: seal(keys, key, value) };
}

/**
 * The nonce comes from key and value: a store tells a batch that is written again after its reply was lost by its bytes,
 * which must be the same then. All that this shows is that a value is the one that its key has had before.
 */
function seal({ name, cipher, nonce: nonceKey }: SealKeys, key: string, value: Uint8Array): Uint8Array {
  const hash = createHmac('sha256', nonceKey)
    .update(`${Buffer.byteLength(key)} ${key}`)
    .update(value);
  const nonce = hash.digest().subarray(0, NONCE_BYTES);
  return sealBox({ key: cipher, purpose: key }, Buffer.from([FORM, ...name]), nonce, value);
}

function open(all: readonly SealKeys[], { key, value }: StoredRecord): Uint8Array {
  if (value[0] !== FORM || !mayBeBox(HEAD_BYTES, value)) return new Uint8Array(0);
  const keys = all.find((one) => isNamed(one, value));
  if (keys === undefined) {
    throw new Error(
      `the record ${key} of the store was sealed with another relay secret: give every replica the same one (while it is replaced, the one before as the second); if that secret is lost, empty the store or use another prefix`,
    );
  }
  return openBox({ key: keys.cipher, purpose: key }, HEAD_BYTES, value) ?? new Uint8Array(0);
}

function isNamed({ name }: SealKeys, value: Uint8Array): boolean {
  return value[0] === FORM && name.equals(value.subarray(1, 1 + NAME_BYTES));
}
