import { kindOf, type ObjectKey, objectKey, objectRefOf } from '../../model/object-key.ts';
import { type LiveState, NAMESPACE_NOT_FOUND, NO_SUCH_KIND } from '../../ports/cluster-api.ts';
import { PAUSED_REASON } from './reconcile.ts';

/**
 * Objects that wait for something in the cluster: their kind, their Namespace, the release of the stop button. They are
 * tried as soon as a look finds it, and not only after their back-off.
 */
export interface Awaited {
  /** The last word about an object. */
  note(key: ObjectKey, reason: string): void;
  forget(key: ObjectKey): void;
  /** Those whose waiting is over by this state. */
  over(live: LiveState): readonly ObjectKey[];
}

export function createAwaited(): Awaited {
  const reasons = new Map<ObjectKey, string>();
  /** Of what is waited for, what was there at the last look already: that is not what is missing. */
  let before: ReadonlySet<string> = new Set();
  return { note, forget: (key) => void reasons.delete(key), over };

  function note(key: ObjectKey, reason: string): void {
    if (REASONS.includes(reason)) reasons.set(key, reason);
    else reasons.delete(key);
  }

  function over(live: LiveState): readonly ObjectKey[] {
    const kinds = new Set(
      reasons.size === 0 ? [] : live.kinds.filter(({ state }) => state !== 'unknown').map(({ kind }) => kind),
    );
    const there = new Set<string>();
    const keys: ObjectKey[] = [];
    for (const [key, reason] of reasons) {
      if (reason === PAUSED_REASON) {
        if (!live.paused) keys.push(key);
        continue;
      }
      const wanted = reason === NO_SUCH_KIND ? kindOf(key) : namespaceOf(key);
      if (!(reason === NO_SUCH_KIND ? kinds.has(wanted) : live.objects.has(namespaceOf(key)))) continue;
      there.add(wanted);
      if (!before.has(wanted)) keys.push(key);
    }
    before = there;
    return keys;
  }
}

const REASONS: readonly string[] = [NO_SUCH_KIND, NAMESPACE_NOT_FOUND, PAUSED_REASON];

function namespaceOf(key: ObjectKey): ObjectKey {
  return objectKey({ group: '', kind: 'Namespace', namespace: '', name: objectRefOf(key).namespace });
}
