import type { ObservedStatus } from '../../model/conditions.ts';
import type { DeclarationValues } from '../../model/desired.ts';
import { type EngineKind, engineKindRow, isEngineKind } from '../../model/engine-kinds.ts';

/** A change of what is declared. */
export interface DeclarationChange<Kind extends EngineKind = EngineKind> {
  /** As last known good. */
  readonly before: DeclarationValues[Kind];
  readonly after: DeclarationValues[Kind];
  /** The status written last; undefined: none is known. */
  readonly observed: ObservedStatus | undefined;
}

/** Why a change is not taken. */
export interface Refusal {
  /** Constant UpperCamelCase word. */
  readonly reason: string;
  readonly message: string;
}

/** By kind: refuses a change, or gives undefined. Pure. A refused declaration holds as last known good. */
export type Accepts = {
  readonly [Kind in EngineKind]?: (change: DeclarationChange<Kind>) => Refusal | undefined;
};

/**
 * What the domains say of a change of a kind; the first refusal counts. Throws if a domain would refuse changes of a kind
 * that does not hold as last known good: there would be nothing to go back to.
 */
export function joinAccepts(
  all: readonly (Accepts | undefined)[],
): (kind: EngineKind, change: DeclarationChange) => Refusal | undefined {
  for (const kind of all.flatMap((accepts) => Object.keys(accepts ?? {}))) {
    if (isEngineKind(kind) && engineKindRow(kind).holdsAsLastKnownGood) continue;
    throw new Error(`changes of ${kind} cannot be refused: it does not hold as last known good`);
  }
  return (kind, change) => {
    for (const accepts of all) {
      // The values of a change are of its kind.
      const refusal = (accepts?.[kind] as ((change: DeclarationChange) => Refusal | undefined) | undefined)?.(change);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
}
