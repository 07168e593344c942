import type { KindState } from '../../model/agent.ts';
import type { AgentSettings } from '../../model/agent-settings.ts';
import type { JsonObject } from '../../model/json.ts';
import { matchesLabels } from '../../model/label-selector.ts';
import { annotationOf, kindOf, labelsOf, type ObjectKey, objectRefOf } from '../../model/object-key.ts';
import type { LiveState } from '../../ports/cluster-api.ts';

/** The value `disabled` excludes an object, or all objects of a Namespace, from input snapshots. */
const DISCOVERY_ANNOTATION = 'fleetrelay.dev/discovery';

export type Selection = ReturnType<typeof createSelection>;

/** Selects the objects of the input snapshot, by the fleet's settings and by annotations. */
export function createSelection(settings: AgentSettings) {
  const { excludedNamespaces, excludedKinds, namespaceSelector, objectSelector } = settings.discovery;
  const namespacesOut = new Set(excludedNamespaces);
  const kindsOut = new Set(excludedKinds);
  /** Whether a Namespace that the state does not contain is excluded: its labels are not known. */
  const outUnseen = namespaceSelector !== undefined && !matchesLabels(namespaceSelector, {});
  /** Whether each Namespace is excluded by its own labels and annotations. */
  const out = new Map<string, boolean>();
  /** Why Namespaces cannot be listed, where a selector needs their labels; then unseen Namespaces are excluded. */
  let blind: string | undefined;

  return { of: settings, note, takes, kind };

  /** The reported state of a kind. An excluded kind is `offered`; a kind whose Namespace labels are unknown is `unknown`. */
  function kind(found: KindState): KindState {
    if (kindsOut.has(found.kind)) return { ...found, state: 'offered', message: '' };
    if (blind === undefined || found.state !== 'complete' || found.scope === 'Cluster') return found;
    return { ...found, state: 'unknown', message: `Namespaces are selected by labels, and cannot be listed: ${blind}` };
  }

  /**
   * Takes a new state. Returns the keys to select again: the changed ones, and all in Namespaces that this state includes
   * or excludes anew; undefined: all keys. `anew`: the selection has not seen the state before.
   */
  function note(live: LiveState, anew: boolean): readonly ObjectKey[] | undefined {
    const { changed } = live;
    const wasBlind = blind !== undefined;
    blind = namespaceSelector === undefined ? undefined : whyUnseen(live.kinds);
    if (anew || changed === undefined || wasBlind !== (blind !== undefined)) {
      out.clear();
      for (const key of live.objects.keys()) if (kindOf(key) === '/Namespace') look(live, key);
      return undefined;
    }
    const moved = new Set<string>();
    for (const key of changed) if (kindOf(key) === '/Namespace' && look(live, key)) moved.add(objectRefOf(key).name);
    if (moved.size === 0) return [...changed];
    // Rare: the cost of all keys is acceptable.
    const inside = [...live.objects.keys()].filter((key) => moved.has(objectRefOf(key).namespace));
    return [...new Set([...changed, ...inside])];
  }

  function isOut(namespace: string): boolean {
    return namespacesOut.has(namespace) || (out.get(namespace) ?? (blind !== undefined || outUnseen));
  }

  /** True if the Namespace is now included or excluded anew. */
  function look(live: LiveState, key: ObjectKey): boolean {
    const { name } = objectRefOf(key);
    const before = isOut(name);
    const value = live.objects.get(key)?.value;
    if (value === undefined) out.delete(name);
    else {
      const selected = namespaceSelector === undefined || matchesLabels(namespaceSelector, labelsOf(value));
      out.set(name, !selected || isSwitchedOff(value));
    }
    return isOut(name) !== before;
  }

  function takes(key: ObjectKey, value: JsonObject): boolean {
    const kind = kindOf(key);
    if (kindsOut.has(kind)) return false;
    const { namespace, name } = objectRefOf(key);
    const around = kind === '/Namespace' ? name : namespace;
    if (around !== '' && isOut(around)) return false;
    return !isSwitchedOff(value) && (objectSelector === undefined || matchesLabels(objectSelector, labelsOf(value)));
  }
}

function whyUnseen(kinds: readonly KindState[]): string | undefined {
  const namespaces = kinds.find(({ kind }) => kind === '/Namespace');
  return namespaces?.state === 'unknown' ? namespaces.message : undefined;
}

function isSwitchedOff(value: JsonObject): boolean {
  return annotationOf(value, DISCOVERY_ANNOTATION) === 'disabled';
}
