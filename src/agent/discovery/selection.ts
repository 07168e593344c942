import type { KindState } from '../../model/agent.ts';
import type { AgentSettings } from '../../model/agent-settings.ts';
import type { JsonObject } from '../../model/json.ts';
import { matchesLabels } from '../../model/label-selector.ts';
import { kindOf, type ObjectKey, objectRefOf } from '../../model/object-key.ts';
import { annotationOf, labelsOf } from '../../model/object-metadata.ts';
import type { LiveState } from '../../ports/cluster-api.ts';

/** Says of an object, or of the Namespace around it, that it stays out of input snapshots. */
const DISCOVERY_ANNOTATION = 'fleetrelay.dev/discovery';

/** What of a cluster goes into its input snapshot, by the fleet's settings and by annotations. */
export interface Selection {
  /** The settings that it is made of. */
  readonly of: AgentSettings;
  /**
   * Takes a new state. Returns the keys to look at: what changed, and whatever lies in a Namespace that was taken in or
   * left out by it; undefined if that is everything. `anew`: nothing is known of the state before.
   */
  note(live: LiveState, anew: boolean): readonly ObjectKey[] | undefined;
  takes(key: ObjectKey, value: JsonObject): boolean;
  /** A kind that is left out is offered, and not empty; one of which nobody knows what is to be left out is unknown. */
  kind(kind: KindState): KindState;
}

/** Makes the selection of these settings. */
export function createSelection(settings: AgentSettings): Selection {
  const { excludedNamespaces, excludedKinds, namespaceSelector, objectSelector } = settings.discovery;
  const namespacesOut = new Set(excludedNamespaces);
  const kindsOut = new Set(excludedKinds);
  /** Of a Namespace that cannot be seen no labels are known. */
  const outUnseen = namespaceSelector !== undefined && !matchesLabels(namespaceSelector, {});
  /** Whether Namespaces are left out by what they say of themselves. */
  const out = new Map<string, boolean>();
  /** Why the labels of Namespaces are not known, where they matter: what lies in one that was never seen stays out. */
  let blind: string | undefined;

  return {
    of: settings,
    note,
    takes,
    kind,
  };

  function kind(said: KindState): KindState {
    if (kindsOut.has(said.kind)) return { ...said, state: 'offered', message: '' };
    if (blind === undefined || said.state !== 'complete' || said.scope === 'Cluster') return said;
    return { ...said, state: 'unknown', message: `Namespaces are selected by labels, and cannot be listed: ${blind}` };
  }

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
    // Rare enough to walk over everything.
    const inside = [...live.objects.keys()].filter((key) => moved.has(objectRefOf(key).namespace));
    return [...new Set([...changed, ...inside])];
  }

  function isOut(namespace: string): boolean {
    return namespacesOut.has(namespace) || (out.get(namespace) ?? (blind !== undefined || outUnseen));
  }

  /** True if a Namespace has come in or gone out. */
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
