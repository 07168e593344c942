import { kindOf, type ObjectKey, objectKey, objectRefOf } from '../../model/object-key.ts';
import { type LiveState, NAMESPACE_NOT_FOUND, NO_SUCH_KIND } from '../../ports/cluster-api.ts';
import { PAUSED_REASON } from './object-step.ts';

const REASONS: readonly string[] = [NO_SUCH_KIND, NAMESPACE_NOT_FOUND, PAUSED_REASON];

/**
 * Objects that wait for a prerequisite in the cluster: their kind, their Namespace, the release of the stop button. Work on
 * them starts when a live state shows the prerequisite, before their back-off ends.
 */
export function createPrerequisites() {
  const reasons = new Map<ObjectKey, string>();
  /** Kinds and Namespaces that existed in the last state already: something else is missing then. */
  let before: ReadonlySet<string> = new Set();
  return { note, forget: (key: ObjectKey) => void reasons.delete(key), metBy };

  /** Notes the reason of the last result of an object. */
  function note(key: ObjectKey, reason: string): void {
    if (REASONS.includes(reason)) reasons.set(key, reason);
    else reasons.delete(key);
  }

  /** The objects whose prerequisite is new in this state. */
  function metBy(live: LiveState): readonly ObjectKey[] {
    const kinds = new Set(
      reasons.size === 0 ? [] : live.kinds.filter(({ state }) => state !== 'unknown').map(({ kind }) => kind),
    );
    const existing = new Set<string>();
    const keys: ObjectKey[] = [];
    for (const [key, reason] of reasons) {
      if (reason === PAUSED_REASON) {
        if (!live.paused) keys.push(key);
        continue;
      }
      const namespace = namespaceOf(key);
      const required = reason === NO_SUCH_KIND ? kindOf(key) : namespace;
      if (!(reason === NO_SUCH_KIND ? kinds.has(required) : live.objects.has(namespace))) continue;
      existing.add(required);
      if (!before.has(required)) keys.push(key);
    }
    before = existing;
    return keys;
  }
}

function namespaceOf(key: ObjectKey): ObjectKey {
  return objectKey({ group: '', kind: 'Namespace', namespace: '', name: objectRefOf(key).namespace });
}
