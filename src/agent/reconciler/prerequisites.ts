import { type ObjectResult, STOP_BUTTON_REASON } from '../../model/agent/agent.ts';
import { kindOf, type ObjectKey, objectKey, objectRefOf } from '../../model/objects/object-key.ts';
import { type LiveState, NAMESPACE_NOT_FOUND, NAMESPACE_TERMINATING, NO_SUCH_KIND } from '../../ports/cluster-api.ts';

const REASONS: readonly string[] = [NO_SUCH_KIND, NAMESPACE_NOT_FOUND, NAMESPACE_TERMINATING, STOP_BUTTON_REASON];

/**
 * Objects that wait for a change in the cluster: a prerequisite (their kind, their Namespace, the release of the stop button), or the
 * end of the cause of a refusal.
 */
export function createPrerequisites() {
  const reasons = new Map<ObjectKey, string>();
  const failed = new Set<ObjectKey>();
  let hasRemoved = false;
  /** Kinds and Namespaces that existed in the last state already: something else is missing then. */
  let before: ReadonlySet<string> = new Set();
  return {
    note,
    /** The object is removed. */
    forget(key: ObjectKey): void {
      reasons.delete(key);
      failed.delete(key);
      hasRemoved = true;
    },
    /** The failed objects, once after removals: a removed object can have had what they need. */
    takeFreed(): Iterable<ObjectKey> {
      const freed = hasRemoved ? failed : [];
      hasRemoved = false;
      return freed;
    },
    metBy,
    redefinedIn,
    freedIn,
    renewedIn,
  };

  /** Notes the last result of an object. */
  function note(key: ObjectKey, { state, reason }: Pick<ObjectResult, 'state' | 'reason'>): void {
    if (REASONS.includes(reason)) reasons.set(key, reason);
    else reasons.delete(key);
    if (state === 'failed') failed.add(key);
    else failed.delete(key);
  }

  /** The objects whose prerequisite is new in this state. */
  function metBy(live: LiveState): readonly ObjectKey[] {
    const kinds = new Set(
      reasons.size === 0 ? [] : live.kinds.filter(({ state }) => state !== 'unknown').map(({ kind }) => kind),
    );
    const existing = new Set<string>();
    const keys: ObjectKey[] = [];
    for (const [key, reason] of reasons) {
      if (reason === STOP_BUTTON_REASON) {
        if (!live.paused) keys.push(key);
        continue;
      }
      if (reason === NAMESPACE_TERMINATING) continue;
      const namespace = namespaceOf(key);
      const required = reason === NO_SUCH_KIND ? kindOf(key) : namespace;
      if (!(reason === NO_SUCH_KIND ? kinds.has(required) : live.objects.has(namespace))) continue;
      existing.add(required);
      if (!before.has(required)) keys.push(key);
    }
    before = existing;
    return keys;
  }

  /** The failed objects whose kind has another definition since the state before this one. */
  function redefinedIn({ redefined }: LiveState): readonly ObjectKey[] {
    return redefined === undefined ? [] : [...failed].filter((key) => redefined.has(kindOf(key)));
  }

  /**
   * The failed objects of kinds with an object that is gone since the state before this one. It can have had what they need, such as
   * a port or a part of a quota.
   */
  function freedIn({ changed, objects }: LiveState): readonly ObjectKey[] {
    if (failed.size === 0 || changed === undefined) return [];
    const kinds = new Set([...changed].filter((key) => !objects.has(key)).map(kindOf));
    return kinds.size === 0 ? [] : [...failed].filter((key) => kinds.has(kindOf(key)));
  }

  /**
   * The failed objects of Namespaces that are gone since the state before this one, and of new Namespaces if they were refused
   * because an old Namespace of the name was being deleted.
   */
  function renewedIn({ changed, objects }: LiveState): readonly ObjectKey[] {
    const [gone, whole] = [new Set<ObjectKey>(), new Set<ObjectKey>()];
    for (const key of changed ?? []) {
      if (kindOf(key) !== NAMESPACE) continue;
      const live = objects.get(key);
      if (live === undefined) gone.add(key);
      else if (live.health === undefined || live.health.state === 'current') whole.add(key);
    }
    if (gone.size + whole.size === 0) return [];
    return [...failed].filter((key) => {
      const namespace = namespaceOf(key);
      return gone.has(namespace) || (whole.has(namespace) && reasons.get(key) === NAMESPACE_TERMINATING);
    });
  }
}

const NAMESPACE = '/Namespace';

function namespaceOf(key: ObjectKey): ObjectKey {
  return objectKey({ group: '', kind: 'Namespace', namespace: '', name: objectRefOf(key).namespace });
}
