import { type KindState, LEFT_OUT, MOST_UNLISTED, unknownKind } from '../../model/agent/agent.ts';
import type { DiscoverySettings } from '../../model/agent/agent-settings.ts';
import { matchesLabels } from '../../model/objects/label-selector.ts';
import { annotationOf, kindOf, labelsOf, type ObjectKey, objectRefOf } from '../../model/objects/object-key.ts';
import type { JsonObject } from '../../model/text/json.ts';
import type { LiveState } from '../../ports/cluster-api.ts';

/** The value `disabled` excludes an object, or all objects of a Namespace, from input snapshots. */
const DISCOVERY_ANNOTATION = 'fleetrelay.dev/discovery';

export function isSwitchedOff(value: JsonObject): boolean {
  return annotationOf(value, DISCOVERY_ANNOTATION) === 'disabled';
}

/** The Namespaces whose objects are left out: by name, by label, or by their annotation. */
export function createExcludedNamespaces(settings: DiscoverySettings) {
  const { excludedNamespaces, additionalKinds = [], namespaceSelector } = settings;
  const excluded = new Set(excludedNamespaces);
  /** Those that the server counts on seeing. */
  const named = new Set(additionalKinds.flatMap(({ namespaces = [] }) => namespaces));
  /** Whether a Namespace that the state does not contain is excluded: its labels are not known. */
  const outUnseen = namespaceSelector !== undefined && !matchesLabels(namespaceSelector, {});
  /** Whether each Namespace is excluded by its own labels and annotations. */
  const out = new Map<string, boolean>();
  let leftOut: readonly string[] = [];
  /** Why Namespaces cannot be listed, where a selector needs their labels; then unseen Namespaces are excluded. */
  let blind: string | undefined;

  return { has, note, kind, leftOut: () => leftOut };

  function has(namespace: string): boolean {
    return excluded.has(namespace) || (out.get(namespace) ?? (blind !== undefined || outUnseen));
  }

  /**
   * Takes a new state. Returns the Namespaces that are included or excluded anew; undefined: all can be. `anew`: the state before
   * is not known.
   */
  function note(live: LiveState, anew: boolean): ReadonlySet<string> | undefined {
    const wasBlind = blind !== undefined;
    blind = namespaceSelector === undefined ? undefined : whyUnseen(live.kinds);
    const moved =
      anew || live.changed === undefined || wasBlind !== (blind !== undefined) ? undefined : new Set<string>();
    if (moved === undefined) out.clear();
    for (const key of moved === undefined ? live.objects.keys() : (live.changed ?? [])) {
      if (kindOf(key) === '/Namespace' && look(live, key)) moved?.add(objectRefOf(key).name);
    }
    if (moved === undefined || moved.size > 0) {
      const now = [...named].filter(has);
      if (now.join() !== leftOut.join()) leftOut = now;
    }
    return moved;
  }

  /** True if the Namespace is now included or excluded anew. */
  function look(live: LiveState, key: ObjectKey): boolean {
    const { name } = objectRefOf(key);
    const before = has(name);
    const value = live.objects.get(key)?.value;
    if (value === undefined) out.delete(name);
    else {
      const selected = namespaceSelector === undefined || matchesLabels(namespaceSelector, labelsOf(value));
      out.set(name, !selected || isSwitchedOff(value));
    }
    return has(name) !== before;
  }

  /** A kind whose Namespace labels are unknown is `unknown`. Excluded Namespaces that the server counts on are named. */
  function kind(found: KindState): KindState {
    if (found.state !== 'complete' || found.scope === 'Cluster') return found;
    if (blind !== undefined) {
      return unknownKind(found, `Namespaces are selected by labels, and cannot be listed: ${blind}`);
    }
    if (leftOut.length === 0) return found;
    const unlisted = { ...found.unlisted, ...Object.fromEntries(leftOut.map((namespace) => [namespace, LEFT_OUT])) };
    const count = Object.keys(unlisted).length;
    return count > MOST_UNLISTED ? unknownKind(found, `${count} Namespaces cannot be listed`) : { ...found, unlisted };
  }
}

function whyUnseen(kinds: readonly KindState[]): string | undefined {
  const namespaces = kinds.find(({ kind }) => kind === '/Namespace');
  return namespaces?.state === 'unknown' ? namespaces.message : undefined;
}
