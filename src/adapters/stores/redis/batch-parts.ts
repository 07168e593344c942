import { createTurns, type InTurn } from '../../../model/in-turn.ts';
import type { StoreWrite } from '../../../ports/snapshot-store.ts';
import type { Connection } from './connection.ts';
import type { Layout } from './layout.ts';
import { withVersion } from './record-bytes.ts';

/** On their way at the same time. */
const WINDOW_BYTES = 4 * 1024 * 1024;
/** A batch that was given up leaves nothing behind for longer. */
const PART_TTL_MS = 120_000;

/** Sends the large values of a batch ahead, under names of their own, so that the batch itself only renames them. */
export interface Staging {
  /** One large batch after the other, so that what is on its way stays bounded. */
  readonly inTurn: InTurn;
  stage(commands: Connection, writes: ReadonlySet<StoreWrite>, batch: string): Promise<ReadonlyMap<StoreWrite, string>>;
  /** Never rejects: they go by themselves after a while. */
  discard(commands: Connection, parts: ReadonlyMap<StoreWrite, string>): Promise<void>;
}

export function createStaging(layout: Layout): Staging {
  return {
    inTurn: createTurns(),
    stage: async (commands, writes, batch) => {
      const parts = new Map<StoreWrite, string>();
      try {
        for (const window of windowsOf(writes)) {
          const sent = window.map(([write, value]) => {
            const name = layout.part(batch, parts.size);
            parts.set(write, name);
            return commands.send('SET', name, withVersion(batch, value), 'PX', PART_TTL_MS);
          });
          await Promise.all(sent);
        }
        return parts;
      } catch (error) {
        await discard(commands, parts);
        throw error;
      }
    },
    discard,
  };
}

async function discard(commands: Connection, parts: ReadonlyMap<StoreWrite, string>): Promise<void> {
  if (parts.size > 0) await commands.send('UNLINK', ...parts.values()).catch(() => undefined);
}

function* windowsOf(writes: ReadonlySet<StoreWrite>): Generator<readonly (readonly [StoreWrite, Uint8Array])[]> {
  let window: (readonly [StoreWrite, Uint8Array])[] = [];
  let bytes = 0;
  for (const write of writes) {
    if (!(write.value instanceof Uint8Array)) continue;
    window.push([write, write.value]);
    bytes += write.value.byteLength;
    if (bytes < WINDOW_BYTES) continue;
    yield window;
    window = [];
    bytes = 0;
  }
  if (window.length > 0) yield window;
}
