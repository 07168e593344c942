import { kindOf, type ObjectKey } from '../../model/object-key.ts';
import type { CustomResourceState } from '../../ports/custom-resources.ts';
import type { Refusal } from '../tree/revision-check.ts';
import { displayKind } from './resource-path.ts';

/** Tells deletions that a person means from those that befall a kind as a whole. */
export interface MassDeletionWatch {
  /** Resources that an earlier process has seen, before anything is looked at. */
  recall(resources: readonly ObjectKey[]): void;
  /** Notes which kinds are unknown: what they come back with is looked at twice. */
  note(state: CustomResourceState): void;
  /** Why the step from one set of resources to another must not happen by itself. */
  judge(before: ReadonlySet<ObjectKey>, state: CustomResourceState): Refusal | undefined;
  /** A set of resources has entered: what was lost of kinds that are known is lost. */
  entered(state: CustomResourceState): void;
}

/**
 * A kind whose definition was deleted and installed again comes back empty, or half restored: it may have lost no more
 * than half of its resources. So may one that nobody has watched for a while, unless others have come in their place. A kind
 * that was there all the time may not lose all of several at once. What was refused once
 * stays so until all is back, or a person accepts it: what is played back one by one must not let the rest go on the way.
 */
export function createMassDeletionWatch(): MassDeletionWatch {
  const wereUnknown = new Set<string>();
  const refused = new Set<string>();
  /** Of kinds that have not been listed since. */
  const recalled = new Set<ObjectKey>();
  return {
    recall: (resources) => {
      for (const key of resources) recalled.add(key);
    },
    note: ({ kinds }) => {
      for (const { kind, state } of kinds) if (state === 'unknown') wereUnknown.add(kind);
    },
    judge: (entered, state) => {
      const complete = completeKinds(state);
      const stillUnknown = [...recalled].filter((key) => !complete.has(kindOf(key)));
      return judge(new Set([...entered, ...recalled]), new Set([...state.objects.keys(), ...stillUnknown]), {
        wereUnknown,
        unwatched: new Set([...recalled].map(kindOf)),
        refused,
      });
    },
    entered: (state) => {
      const complete = completeKinds(state);
      for (const kind of complete) {
        wereUnknown.delete(kind);
        refused.delete(kind);
      }
      for (const key of recalled) if (complete.has(kindOf(key))) recalled.delete(key);
    },
  };
}

/** Kinds, each as `group/Kind`, that are looked at twice. */
interface Suspects {
  readonly wereUnknown: ReadonlySet<string>;
  /** An earlier process has seen something of them, and this one has not yet. */
  readonly unwatched: ReadonlySet<string>;
  readonly refused: Set<string>;
}

/** Adds to `refused` what it refuses. */
function judge(
  before: ReadonlySet<ObjectKey>,
  after: ReadonlySet<ObjectKey>,
  { wereUnknown, unwatched, refused }: Suspects,
): Refusal | undefined {
  const now = countByKind([...after]);
  const left = countByKind([...before].filter((key) => after.has(key)));
  const allGone = before.size > 0 && after.size === 0;
  const said: string[] = [];
  for (const [kind, count] of countByKind([...before])) {
    const lost = count - (left.get(kind) ?? 0);
    const allOfSeveral = lost === count && count > 1;
    const cameBackSmaller = wereUnknown.has(kind) && lost * 2 > count;
    const shrunk = unwatched.has(kind) && lost * 2 > count && (now.get(kind) ?? 0) * 2 < count && count > 1;
    const notAllBack = refused.has(kind) && lost > 0;
    if (!allGone && !allOfSeveral && !cameBackSmaller && !shrunk && !notAllBack) continue;
    refused.add(kind);
    said.push(`${lost} of ${count} custom resources of ${displayKind(kind)} are gone at once`);
  }
  if (allGone) return { reason: 'AllDeleted', message: 'all custom resources are gone' };
  return said.length === 0 ? undefined : { reason: 'KindDeleted', message: said.join(', ') };
}

function completeKinds({ kinds }: CustomResourceState): ReadonlySet<string> {
  return new Set(kinds.filter(({ state }) => state === 'complete').map(({ kind }) => kind));
}

function countByKind(keys: readonly ObjectKey[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const kind of keys.map(kindOf)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}
