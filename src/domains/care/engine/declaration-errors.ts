import type { Derived, Graph } from '../../../engine/collections/types.ts';
import { type Declarations, type Declared, declaredOf } from '../../../engine/fleet/declared.ts';
import type { EngineInputs } from '../../../engine/inputs.ts';
import { acceptedCondition } from '../../../engine/status/declared-status.ts';
import type { JsonObject } from '../../../model/text/json.ts';
import { declarationError } from '../model/declaration-error.ts';

/**
 * Derives what is wrong with the declarations of Shoots that hold as last known good: the file is invalid, or its change was
 * refused. Partition empty, key the Shoot's.
 */
export function deriveDeclarationErrors(
  graph: Graph,
  declarations: Declarations,
  { files }: Pick<EngineInputs, 'files'>,
): Derived<JsonObject> {
  return graph.derive<Declared<'Shoot'>, JsonObject>({
    name: 'declarationErrorsOfShoots',
    ...declaredOf(declarations, 'Shoot'),
    reads: [files],
    compute: ({ key, value: { origin, isLastKnownGood, refusal } }, read, emit) => {
      const accepted = acceptedCondition(read.get(files, origin.source, origin.path), isLastKnownGood);
      const message = refusal?.message ?? (accepted.status === 'False' ? accepted.message : undefined);
      if (message !== undefined) emit('', key, declarationError(message));
    },
  });
}
