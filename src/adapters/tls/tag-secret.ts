import { randomBytes } from 'node:crypto';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';

const KEY = 'trust/tag-secret';
const BYTES = 32;

/** A secret in the store. */
export interface StoredTagSecret {
  readonly secret: Uint8Array;
  /** Does not write it any more. */
  stop(): void;
}

/**
 * The secret for the tags of outputs where servers have no relay secret in common (mode `insecure`): 32 random bytes in the
 * store, made once and shared by all replicas, and written again after each loss. Rejects if the store does not answer.
 */
export async function openTagSecret({
  store,
  log,
}: {
  readonly store: SnapshotStore;
  readonly log: Log;
}): Promise<StoredTagSecret> {
  const secret = await agreeOnSecret(store, randomBytes(BYTES));
  const stop = store.watch((event) => {
    if (event.type !== 'lost') return;
    agreeOnSecret(store, secret).catch((error: unknown) =>
      log.error('the secret for the tags of outputs cannot be written to the store', { error }),
    );
  });
  return { secret, stop };
}

/** Resolves with the secret in the store; writes `ours` if there is none. A damaged one is replaced. */
async function agreeOnSecret(store: SnapshotStore, ours: Uint8Array): Promise<Uint8Array> {
  for (;;) {
    const found = await store.get(KEY);
    if (found?.value.length === BYTES) return found.value;
    await store.write([{ key: KEY, value: ours, ifVersion: found?.version ?? null }]);
  }
}
