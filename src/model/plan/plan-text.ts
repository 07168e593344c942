import { counted, firstNames } from '../text/messages.ts';
import { given } from '../values/given.ts';
import type { PlannedChange, PlanSummary, PlanView } from './plan.ts';

/** Clusters in which a plan does the same. */
export interface PlanGroup {
  /** In canonical order. */
  readonly clusters: readonly string[];
  /** Why the changes wait after the merge; absent: they do not. */
  readonly waits?: string;
  readonly changes: readonly PlannedChange[];
}

/** The clusters of a plan, those with the same changes together, in the order of the first one. */
export function groupsOf({ clusters }: PlanView): readonly PlanGroup[] {
  const groups = Map.groupBy(clusters, ({ waits, changes }) => JSON.stringify([waits, changes]));
  return [...groups.values()].map((same) => ({
    clusters: same.map(({ cluster }) => cluster),
    ...given({ waits: same[0]?.waits }),
    changes: same[0]?.changes ?? [],
  }));
}

/** What people read about each action: its sign, and its word in a sum. */
export const ACTIONS: Readonly<Record<PlannedChange['action'], { readonly sign: string; readonly word: string }>> = {
  create: { sign: '+', word: 'create' },
  change: { sign: '~', word: 'change' },
  move: { sign: '>', word: 'move' },
  remove: { sign: '-', word: 'remove' },
  hold: { sign: '!', word: 'hold' },
  stay: { sign: '=', word: 'keep after all' },
  leave: { sign: '.', word: 'leave in place' },
  cancel: { sign: 'x', word: 'never create' },
};

/** One line: `3 to create, 1 to remove in 2 of 5 clusters`. */
export function sumOf(summary: PlanSummary): string {
  const { clusters, registered } = summary;
  const parts = Object.entries(ACTIONS).flatMap(([action, { word }]) => {
    const amount = summary[action as keyof PlanSummary];
    return amount === 0 ? [] : [`${amount} to ${word}`];
  });
  if (parts.length === 0) return `no change in any of ${counted(registered, 'cluster')}`;
  return `${parts.join(', ')}, in ${clusters} of ${counted(Math.max(registered, clusters), 'cluster')}`;
}

/** The names of the first clusters, and how many more there are. */
export function namedClusters(clusters: readonly string[]): string {
  return firstNames(clusters, 3);
}

/** Whether a plan does anything. */
export function hasChanges({ clusters }: PlanView): boolean {
  return clusters.length > 0;
}

const LONGEST_VALUE = 120;

/** A value of a field on one line. */
export function shownValue(value: unknown): string {
  const text = typeof value === 'string' && /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}... (${text.length} characters)` : text;
}

/** Why an object changes, on one line; empty: it is not known. */
export function shownReasons({ from, because }: PlannedChange): string {
  const reasons = because.map(({ what, at }) => (what === '' ? at : `${what} (${at})`));
  return [...(from === undefined ? [] : [`from ${from}`]), ...reasons].join('; ');
}

/** What changes in a field: `2 -> 3`, `(not set) -> 3`. */
export function shownChange({ before, after }: { readonly before?: unknown; readonly after?: unknown }): string {
  const older = before === undefined ? '(not set)' : shownValue(before);
  return `${older} -> ${after === undefined ? '(not set)' : shownValue(after)}`;
}

/** A short name of a revision: twelve digits of a commit. */
export function shortRevision(revision: string): string {
  return /^[0-9a-f]{40,64}$/.test(revision) ? revision.slice(0, 12) : revision;
}
