import type { ConditionValue } from '../../model/conditions.ts';
import type { Index, Reader } from '../collections/types.ts';
import { worstFirst } from './conditions.ts';
import { constantTrouble, type Progress, type ProgressState } from './progress.ts';

/** Looks groups up: a {@link Reader} inside a computation, {@link asCommitted} outside. */
export type Lookups = Pick<Reader, 'count' | 'first'>;

/** Sees indexes as of the last commit. */
export const asCommitted: Lookups = {
  count: (index, group) => index.count(group),
  first: (index, group, count) => index.first(group, count),
};

/** The number in each of some groups, by their names. */
export function tally<Name extends string>(
  names: readonly Name[],
  count: (name: Name) => number,
): Readonly<Record<Name, number>> {
  return Object.fromEntries(names.map((name) => [name, count(name)])) as Record<Name, number>;
}

/** Why something is not applied. */
export type Trouble = Pick<Progress, 'reason' | 'message'>;

/** What every object in a state says; undefined if that depends on the object. */
export function constantTroubleOf(state: ProgressState): Trouble | undefined {
  return state === 'pending' || state === 'unreachable' ? constantTrouble[state] : undefined;
}

/** What a person should hear of first of the objects in some groups, one for each state; undefined if all are applied. */
export function worstTrouble(
  look: Lookups,
  index: Index<Progress>,
  group: (state: ProgressState) => string,
): Trouble | undefined {
  const state = worstFirst.find((each) => look.count(index, group(each)) > 0);
  if (state === undefined) return undefined;
  return constantTroubleOf(state) ?? look.first(index, group(state), 1)[0]?.value;
}

/** The condition `ClustersSelected`; none while a choice names only registered clusters and selects some. */
export function selectionCondition(
  unknownClusters: readonly string[],
  selectsNone: string | undefined,
): readonly ConditionValue[] {
  const type = 'ClustersSelected';
  if (unknownClusters.length > 0) {
    const named = unknownClusters.slice(0, 5).join(', ');
    const message = `no KubernetesCluster of this name is declared: ${named}${unknownClusters.length > 5 ? ', ...' : ''}`;
    return [{ type, status: 'False', reason: 'UnknownClusters', message }];
  }
  if (selectsNone === undefined) return [];
  return [{ type, status: 'False', reason: 'NoCluster', message: selectsNone }];
}
