import { kindOf, type ObjectKey } from '../../model/objects/object-key.ts';
import type { CustomResourceKindState } from '../../ports/custom-resources.ts';
import type { Refusal } from '../tree/revision-check.ts';
import { displayKind } from './resource-path.ts';

type Kinds = readonly CustomResourceKindState[];

/** The step from one set of custom resources to another. */
interface Step {
  readonly before: () => readonly ObjectKey[];
  readonly after: () => readonly ObjectKey[];
  /** `after` lacks a resource of `before`. */
  readonly isRemoving: boolean;
  readonly kinds: Kinds;
}

export type MassDeletionWatch = ReturnType<typeof createMassDeletionWatch>;

/**
 * Distinguishes deletions of resources by a person from the loss of a complete kind.
 * A kind comes back empty or half restored if its definition was deleted and installed again: it may have lost at most half of its
 * resources. The same holds for a kind that no process has watched for a while, unless others have replaced the resources. A kind
 * that was watched all the time may not lose all of several resources at once. A refused kind stays refused until all its resources
 * are back or a person accepts: a restore that recreates them one by one must not let the others be removed meanwhile.
 */
export function createMassDeletionWatch() {
  const wereUnknown = new Set<string>();
  const refused = new Set<string>();
  /** Resources of an earlier process whose kinds were not listed since. */
  const recalled = new Set<ObjectKey>();
  return {
    /** Takes the resources that an earlier process has read. Called before the first look. */
    recall(resources: readonly ObjectKey[]): void {
      for (const key of resources) recalled.add(key);
    },
    /** Notes which kinds are unknown. */
    note(kinds: Kinds): void {
      for (const { kind, state } of kinds) if (state === 'unknown') wereUnknown.add(kind);
    },
    /** Why a person has to accept the step; undefined: none has to. */
    judge({ before, after, isRemoving, kinds }: Step): Refusal | undefined {
      if (!isRemoving && recalled.size === 0) return undefined;
      const complete = completeKinds(kinds);
      const stillUnknown = [...recalled].filter((key) => !complete.has(kindOf(key)));
      return judgeRemovals(new Set([...before(), ...recalled]), new Set([...after(), ...stillUnknown]), {
        wereUnknown,
        unwatched: new Set([...recalled].map(kindOf)),
        refused,
      });
    },
    /** A set of resources has entered: what it lacks of complete kinds is gone. */
    entered(kinds: Kinds): void {
      const complete = completeKinds(kinds);
      for (const kind of complete) {
        wereUnknown.delete(kind);
        refused.delete(kind);
      }
      for (const key of recalled) if (complete.has(kindOf(key))) recalled.delete(key);
    },
  };
}

/** Kinds, each as `group/Kind`, whose losses are judged more strictly. */
interface Suspects {
  readonly wereUnknown: ReadonlySet<string>;
  /** An earlier process has read resources of them, and this one has not yet. */
  readonly unwatched: ReadonlySet<string>;
  /** Kinds that are refused now are added. */
  readonly refused: Set<string>;
}

function judgeRemovals(
  before: ReadonlySet<ObjectKey>,
  after: ReadonlySet<ObjectKey>,
  { wereUnknown, unwatched, refused }: Suspects,
): Refusal | undefined {
  const now = countByKind([...after]);
  const left = countByKind([...before].filter((key) => after.has(key)));
  const allGone = before.size > 0 && after.size === 0;
  const losses: string[] = [];
  for (const [kind, count] of countByKind([...before])) {
    const lost = count - (left.get(kind) ?? 0);
    const allOfSeveral = lost === count && count > 1;
    const cameBackSmaller = wereUnknown.has(kind) && lost * 2 > count;
    const shrunk = unwatched.has(kind) && lost * 2 > count && (now.get(kind) ?? 0) * 2 < count && count > 1;
    const notAllBack = refused.has(kind) && lost > 0;
    if (!allGone && !allOfSeveral && !cameBackSmaller && !shrunk && !notAllBack) continue;
    refused.add(kind);
    losses.push(`${lost} of ${count} custom resources of ${displayKind(kind)} are gone at once`);
  }
  if (allGone) return { reason: 'AllDeleted', message: 'all custom resources are gone' };
  return losses.length === 0 ? undefined : { reason: 'KindDeleted', message: losses.join(', ') };
}

function completeKinds(kinds: Kinds): ReadonlySet<string> {
  return new Set(kinds.filter(({ state }) => state === 'complete').map(({ kind }) => kind));
}

function countByKind(keys: readonly ObjectKey[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const kind of keys.map(kindOf)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}
