import type { Connection } from './connection.ts';
import type { Layout } from './layout.ts';

const AT_ONCE = 1_000;

/** Enters all records into an index that is new, for an index can be evicted while the records are still there. */
export async function restoreIndex(commands: Connection, layout: Layout): Promise<void> {
  let cursor = '0';
  do {
    const answer = await commands.send('SCAN', cursor, 'MATCH', layout.anyRecord, 'COUNT', AT_ONCE);
    if (!Array.isArray(answer) || !Array.isArray(answer[1])) throw new Error('SCAN was answered with something else');
    cursor = String(answer[0]);
    const members = answer[1].map((name) => `k${layout.keyOf(String(name))}`);
    if (members.length > 0) await commands.send('ZADD', layout.index, ...members.flatMap((member) => [0, member]));
  } while (cursor !== '0');
}
