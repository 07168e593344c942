import { type ObjectKey, objectRefOf } from '../../model/object-key.ts';
import type { CustomResourceState } from '../../ports/custom-resources.ts';
import type { Refusal } from '../tree/admission.ts';
import { displayKind } from './resource-path.ts';

/** Tells deletions that a person means from those that befall a kind as a whole. */
export interface MassDeletionWatch {
  /** Notes which kinds are unknown: what they come back with is looked at twice. */
  note(state: CustomResourceState): void;
  /** Why the step from one set of resources to another must not happen by itself. */
  judge(before: ReadonlySet<ObjectKey>, after: ReadonlySet<ObjectKey>): Refusal | undefined;
  /** A set of resources has entered: what was lost is lost. */
  entered(state: CustomResourceState): void;
}

/**
 * A kind whose definition was deleted and installed again comes back empty, or half restored: it may have lost no more
 * than half of its resources. A kind that was there all the time may not lose all of several at once.
 */
export function createMassDeletionWatch(): MassDeletionWatch {
  const wereUnknown = new Set<string>();
  return {
    note: ({ kinds }) => {
      for (const { kind, state } of kinds) if (state === 'unknown') wereUnknown.add(kind);
    },
    judge: (before, after) => {
      if (before.size > 0 && after.size === 0) {
        return { reason: 'AllDeleted', message: 'all custom resources are gone' };
      }
      const had = countByKind(before);
      const left = countByKind(new Set([...before].filter((key) => after.has(key))));
      for (const [kind, count] of had) {
        const lost = count - (left.get(kind) ?? 0);
        const allOfSeveral = lost === count && count > 1;
        const cameBackSmaller = wereUnknown.has(kind) && lost * 2 > count;
        if (!allOfSeveral && !cameBackSmaller) continue;
        const message = `${lost} of ${count} custom resources of ${displayKind(kind)} are gone at once`;
        return { reason: 'KindDeleted', message };
      }
      return undefined;
    },
    entered: ({ kinds }) => {
      for (const { kind, state } of kinds) if (state === 'complete') wereUnknown.delete(kind);
    },
  };
}

function countByKind(keys: ReadonlySet<ObjectKey>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) {
    const { group, kind } = objectRefOf(key);
    counts.set(`${group}/${kind}`, (counts.get(`${group}/${kind}`) ?? 0) + 1);
  }
  return counts;
}
