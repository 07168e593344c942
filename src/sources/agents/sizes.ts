import type { InputDelta, KindState, LiveObject } from '../../model/agent/agent.ts';
import type { ClusterName } from '../../model/fleet/ids.ts';
import type { ClusterSize } from '../../model/limits/quotas.ts';
import { canonicalJson } from '../../model/text/json.ts';
import type { ServerParts } from '../../runtime/parts.ts';

/** The size of an input snapshot; `kindBytes` are a part of `bytes`. */
export interface SnapshotSize extends ClusterSize {
  readonly kindBytes: number;
}

/**
 * The sizes of the input snapshots of connected clusters: counted once for each session, and then by the steps, so that the cost
 * of a step depends on the step.
 */
export function createSnapshotSizes({ engine }: Pick<ServerParts, 'engine'>) {
  const { live, kinds } = engine.inputs;
  const sizes = new Map<string, SnapshotSize>();

  const now = (cluster: ClusterName): SnapshotSize => {
    const known = sizes.get(cluster);
    if (known !== undefined) return known;
    const listed = Array.from(kinds.latestEntries(cluster), ({ value }) => value);
    const kindBytes = bytesOfKinds(listed);
    let objects = 0;
    let bytes = kindBytes;
    for (const { value } of live.latestEntries(cluster)) {
      objects += 1;
      bytes += bytesOf(value);
    }
    const size = { objects, bytes, kinds: listed.length, kindBytes };
    sizes.set(cluster, size);
    return size;
  };
  return {
    /** Counts the size after the step, which is not taken yet. Yields before each of its objects. */
    *after(cluster: ClusterName, { upserts, removals, kinds: listed }: InputDelta): Generator<undefined, SnapshotSize> {
      let { objects, bytes, kinds: count, kindBytes } = now(cluster);
      for (const object of upserts) {
        yield;
        const before = live.latest(cluster, object.key);
        if (before === undefined) objects += 1;
        bytes += bytesOf(object) - (before === undefined ? 0 : bytesOf(before));
      }
      for (const key of removals) {
        yield;
        const before = live.latest(cluster, key);
        if (before === undefined) continue;
        objects -= 1;
        bytes -= bytesOf(before);
      }
      if (listed !== undefined) {
        const after = bytesOfKinds(listed);
        bytes += after - kindBytes;
        [count, kindBytes] = [listed.length, after];
      }
      return { objects, bytes, kinds: count, kindBytes };
    },
    /** A step is staged, and has led to this size. */
    take: (cluster: ClusterName, size: SnapshotSize): void => void sizes.set(cluster, size),
    /** The size is counted anew when it is needed. */
    forget: (cluster: ClusterName): void => void sizes.delete(cluster),
  };
}

function bytesOf(object: LiveObject): number {
  const { key, bytes, content } = object;
  return key.length + (bytes ?? content?.length ?? Buffer.byteLength(object.text ?? canonicalJson(object.value)));
}

function bytesOfKinds(kinds: readonly KindState[]): number {
  let bytes = 0;
  for (const { kind, message, unlisted = {} } of kinds) {
    bytes += kind.length + Buffer.byteLength(message);
    for (const [namespace, why] of Object.entries(unlisted)) bytes += namespace.length + Buffer.byteLength(why);
  }
  return bytes;
}
