import type { KindState } from '../../model/agent/agent.ts';
import type { AgentSettings } from '../../model/agent/agent-settings.ts';
import { matchesLabels } from '../../model/objects/label-selector.ts';
import { kindOf, labelsOf, type ObjectKey, objectRefOf } from '../../model/objects/object-key.ts';
import type { JsonObject } from '../../model/text/json.ts';
import type { LiveState } from '../../ports/cluster-api.ts';
import { createExcludedNamespaces, isSwitchedOff } from './namespaces.ts';

export type Selection = ReturnType<typeof createSelection>;

/** Selects the objects of the input snapshot, by the fleet's settings and by annotations. */
export function createSelection(settings: AgentSettings) {
  const { excludedKinds, objectSelector } = settings.discovery;
  const kindsOut = new Set(excludedKinds);
  const namespacesOut = createExcludedNamespaces(settings.discovery);

  return {
    of: settings,
    note,
    takes,
    kind,
    /** Excluded Namespaces that the server counts on. While it is the same list, so is what {@link kind} makes of a state. */
    leftOut: namespacesOut.leftOut,
  };

  /** The reported state of a kind. An excluded kind is `offered`. */
  function kind(found: KindState): KindState {
    if (!kindsOut.has(found.kind)) return namespacesOut.kind(found);
    const { unlisted: _unlisted, ...rest } = found;
    return { ...rest, state: 'offered', message: '' };
  }

  /**
   * Takes a new state. Returns the keys to select again: the changed ones, and all in Namespaces that this state includes
   * or excludes anew; undefined: all keys. `anew`: the selection has not seen the state before.
   */
  function note(live: LiveState, anew: boolean): readonly ObjectKey[] | undefined {
    const moved = namespacesOut.note(live, anew);
    if (moved === undefined) return undefined;
    const changed = live.changed ?? [];
    if (moved.size === 0) return [...changed];
    // Rare: the cost of all keys is acceptable.
    const inside = [...live.objects.keys()].filter((key) => moved.has(objectRefOf(key).namespace));
    return [...new Set([...changed, ...inside])];
  }

  /** Whether the object is in the input snapshot. Its value may have to be read: it is, unless the key decides. */
  function takes(key: ObjectKey, read: () => JsonObject): boolean {
    const kind = kindOf(key);
    if (kindsOut.has(kind)) return false;
    const { namespace, name } = objectRefOf(key);
    const around = kind === '/Namespace' ? name : namespace;
    if (around !== '' && namespacesOut.has(around)) return false;
    const value = read();
    return !isSwitchedOff(value) && (objectSelector === undefined || matchesLabels(objectSelector, labelsOf(value)));
  }
}
