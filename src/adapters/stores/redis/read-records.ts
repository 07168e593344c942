import { compareText } from '../../../model/json.ts';
import type { StoredRecord } from '../../../ports/snapshot-store.ts';
import type { Live } from './current-session.ts';
import type { Link } from './link.ts';
import { recordOf } from './record-bytes.ts';
import { PAGE } from './scripts.ts';
import { texts } from './session.ts';

const KEYS_AT_ONCE = 1_000;
/** About so much is asked for at once. */
const BYTES_AT_ONCE = 1024 * 1024;

export async function getRecord(link: Link, key: string): Promise<StoredRecord | undefined> {
  const { session } = link.live();
  return recordOf(key, await session.commands.send('GET', link.layout.record(key)));
}

/** All of one session: if it ends in between, the list rejects instead of going on with another state of the store. */
export async function* listRecords(link: Link, prefix: string): AsyncGenerator<StoredRecord> {
  const live = link.live();
  const keys = await keysWith(link, live, prefix);
  let atOnce = 16;
  for (let at = 0; at < keys.length; ) {
    link.live();
    const some = keys.slice(at, at + atOnce);
    const answer = await live.session.commands.send('MGET', ...some.map((key) => link.layout.record(key)));
    if (!Array.isArray(answer)) throw new Error('MGET was answered with something else');
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
  // No text has this byte, so it is after all that begin with the prefix.
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
  // Redis orders by bytes of UTF-8, everything else here by UTF-16 units.
  return keys.sort(compareText);
}
