import type { AgentSettings, KindNarrowing } from '../../../../model/agent/agent-settings.ts';
import { AUTOSCALER_KIND } from '../../../../model/objects/autoscalers.ts';
import { labelsOf, nameOfKind, objectRefOf } from '../../../../model/objects/object-key.ts';
import type { ApiResource } from '../../api/types.ts';
import { isDiscovered } from './discovered-kinds.ts';
import type { LiveEntry } from './entry.ts';

export const NAMESPACE = '/Namespace';

/** What is followed of a kind. `shown`: objects of all owners are reported; else only those with our stamp. */
export type KindPlan = WholePlan | NarrowedPlan;

/** All objects, or those with the label of a fleet. */
export interface WholePlan {
  readonly type: 'all' | 'labelled';
  readonly shown: boolean;
}

/** The objects that one of the entries takes, and ours. */
export interface NarrowedPlan {
  readonly type: 'narrowed';
  readonly shown: boolean;
  /** Without excluded Namespaces. */
  readonly entries: readonly KindNarrowing[];
  readonly owned: Owned | undefined;
}

/** Where objects of a kind are followed that we own: all at once, or in these Namespaces, since the agent may not list all. */
export type Owned = 'everywhere' | readonly string[];

/** Plans what is followed of a kind; undefined: nothing. `owned`: we own an object of the kind. */
export function planOf(
  resource: ApiResource,
  { discovery }: AgentSettings,
  owned: Owned | undefined,
): KindPlan | undefined {
  const { group, kind, verbs, namespaced } = resource;
  if (!verbs.includes('list') || !verbs.includes('watch')) return undefined;
  const name = nameOfKind(resource);
  // Namespaces are always shown: their annotations and labels select the objects in them.
  if (name === NAMESPACE) return { type: 'all', shown: true };
  const { additionalKinds = [], excludedKinds, excludedNamespaces } = discovery;
  const isExcluded = excludedKinds.includes(name);
  const added = additionalKinds.filter(
    ({ kinds }) => !isExcluded && (kinds.includes(name) || kinds.includes(`${group}/*`)),
  );
  const shown = !isExcluded && (isDiscovered(group, kind) || added.some(isUnnarrowed));
  if (shown || name === AUTOSCALER_KIND) return { type: 'all', shown };
  const entries = added.flatMap(({ kinds: _kinds, ...entry }): readonly KindNarrowing[] => {
    if (entry.namespaces === undefined) return [entry];
    const namespaces = namespaced ? entry.namespaces.filter((each) => !excludedNamespaces.includes(each)) : [];
    return namespaces.length === 0 ? [] : [{ ...entry, namespaces }];
  });
  if (entries.length > 0) return { type: 'narrowed', shown: true, entries, owned };
  if (owned === undefined) return undefined;
  return owned === 'everywhere'
    ? { type: 'labelled', shown: false }
    : { type: 'narrowed', shown: false, entries: [], owned };
}

function isUnnarrowed({ namespaces, namePrefixes, labels, metadataOnly }: KindNarrowing): boolean {
  return [namespaces, namePrefixes, labels, metadataOnly].every((narrowing) => narrowing === undefined);
}

/** Tests whether one of the entries takes an object. */
export function takerOf(entries: readonly KindNarrowing[]): (entry: LiveEntry) => boolean {
  const tests = entries.map(({ namespaces, namePrefixes, labels = {} }) => {
    const inside = namespaces && new Set(namespaces);
    const wanted = Object.entries(labels);
    return (entry: LiveEntry): boolean => {
      const { namespace, name } = objectRefOf(entry.key);
      if (inside?.has(namespace) === false) return false;
      if (namePrefixes?.some((prefix) => name.startsWith(prefix)) === false) return false;
      if (wanted.length === 0) return true;
      const found = labelsOf(entry.value);
      return wanted.every(([label, value]) => found[label] === value);
    };
  });
  return (entry) => tests.some((takes) => takes(entry));
}
