import { compareText } from '../../../model/text/json.ts';
import type { SnapshotStore, StoredRecord, StoreEvent } from '../../../ports/snapshot-store.ts';
import { recordOf, texts } from './layout.ts';
import { createLink, type Link, type Live } from './link.ts';
import type { RedisStoreDeps, RedisStoreOptions } from './options.ts';
import { PAGE } from './scripts.ts';
import { createBatchWriter } from './write-batch.ts';

const KEYS_AT_ONCE = 1_000;
/** Approximate size of one answer while records are listed. */
const BYTES_AT_ONCE = 1024 * 1024;

/**
 * A store that several processes share in one Redis (7.0 or newer; standalone, or a master that sentinels name; never in
 * cluster mode). It is as durable as Redis; the event `lost` reports records that Redis has lost.
 *
 * Resolves when Redis has answered and its version, mode and rights are accepted, without a time limit by default. Rejects,
 * with advice, if the configuration is refused, or if patience or signal end the wait. Afterwards it reconnects without
 * end: while Redis does not answer, every call rejects within the timeout of a command, and nothing is queued.
 */
export async function createRedisStore(deps: RedisStoreDeps, options: RedisStoreOptions): Promise<SnapshotStore> {
  const [node, ...others] = options.nodes;
  if (node === undefined) throw new Error('the store has no address: name the host and port of Redis');
  if (options.sentinel === undefined && others.length > 0) {
    throw new Error('the store has several addresses; that needs `sentinel` with the name of the master');
  }
  const listeners = new Set<(event: StoreEvent) => void>();
  const link = await createLink(deps, options, (event) => {
    for (const listener of listeners) listener(event);
  });
  return {
    shared: true,
    get: async (key) => recordOf(key, await link.live().session.commands.send('GET', link.layout.record(key))),
    list: (prefix) => list(link, prefix),
    write: createBatchWriter(link),
    watch: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    notified: async () => link.live().session.notified(),
    close: async () => {
      listeners.clear();
      await link.close();
    },
  };
}

/** Reads all within one session; rejects if the session ends, since the next one may see another state of the store. */
async function* list(link: Link, prefix: string): AsyncGenerator<StoredRecord> {
  const live = link.live();
  const keys = await keysWith(link, live, prefix);
  let atOnce = 16;
  for (let at = 0; at < keys.length; ) {
    link.live();
    const some = keys.slice(at, at + atOnce);
    const answer = await live.session.commands.send('MGET', ...some.map((key) => link.layout.record(key)));
    if (!Array.isArray(answer)) throw new Error('Redis answered MGET in an unknown form');
    let bytes = 0;
    for (const [index, key] of some.entries()) {
      const record = recordOf(key, answer[index]);
      // Evicted, or deleted since the keys were read.
      if (record === undefined) continue;
      bytes += record.value.byteLength;
      yield record;
    }
    at += some.length;
    const each = bytes / some.length + 1;
    atOnce = Math.max(1, Math.min(KEYS_AT_ONCE, atOnce * 4, Math.floor(BYTES_AT_ONCE / each)));
  }
}

async function keysWith(link: Link, live: Live, prefix: string): Promise<readonly string[]> {
  const keys: string[] = [];
  // The byte 0xff occurs in no UTF-8 text, so this bound follows every key with the prefix.
  const end = Buffer.concat([Buffer.from(`(k${prefix}`), Buffer.from([0xff])]);
  for (let from = `[k${prefix}`; ; ) {
    const members = texts(
      await live.session.commands.run(PAGE, [link.layout.index], [live.marker, from, end, KEYS_AT_ONCE]),
    );
    if (members[0] === '') {
      await link.reopen(live);
      throw new Error('the store was emptied or replaced; list it again');
    }
    for (const member of members) keys.push(member.slice(1));
    const last = members.at(-1);
    if (last === undefined || members.length < KEYS_AT_ONCE) break;
    from = `(${last}`;
  }
  // Redis orders by UTF-8 bytes; the port orders by UTF-16 units.
  return keys.sort(compareText);
}
