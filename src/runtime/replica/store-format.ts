import { objectOf, parseJsonBytes } from '../../model/json.ts';
import type { SnapshotStore, StoreWrite } from '../../ports/snapshot-store.ts';
import { recordKey, STORE_FORMAT } from '../ledger/records.ts';
import type { StoreCondition } from './conditioned-store.ts';
import { jsonWrite } from './records.ts';

/**
 * Keeps versions with different records apart: the store says what its records are like, whoever writes first as a newer
 * version says so in that very batch, and from then on an older one writes, and reads, nothing more. `outgrown` is told
 * once. Rejects if the store cannot be asked, or is of a newer version already.
 */
export async function openStoreFormat(
  store: SnapshotStore,
  outgrown: (reason: string) => void,
  ours = STORE_FORMAT,
): Promise<StoreCondition> {
  const key = recordKey.format;
  let check: StoreWrite | undefined;
  let newer: string | undefined;

  const look = async (): Promise<void> => {
    const record = await store.get(key);
    const version = record?.version ?? null;
    if (newer !== undefined || check?.ifVersion === version) return;
    const { format } = objectOf(record === undefined ? undefined : parseJsonBytes(record.value));
    if (typeof format === 'number' && format > ours) {
      newer = `the store was written by a newer version (format ${format}, known is ${ours})`;
      outgrown(newer);
      return;
    }
    check = format === ours ? { key, ifVersion: version } : jsonWrite(key, { format: ours }, version);
  };
  await look();
  if (newer !== undefined) throw new Error(newer);
  return {
    key,
    look,
    trouble: () => newer,
    check: () => check ?? { key, ifVersion: null },
  };
}
