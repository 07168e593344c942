import type { ObjectResult } from '../../../model/agent.ts';
import type { Digest } from '../../../model/ids.ts';
import type { JsonValue } from '../../../model/json.ts';
import { type ObjectKey, objectRefOf } from '../../../model/object-key.ts';
import { isOfGardener } from '../../../model/shoot.ts';
import type { Collection, Derived, Graph } from '../../collections/types.ts';
import type { AgentValue, EngineInputs } from '../../inputs.ts';
import { type BoundShoot, isCaredFor } from '../binding.ts';
import { careSettingsOf } from '../settings.ts';
import { lastOperationOf } from '../written-operation.ts';

interface Reads extends Pick<EngineInputs, 'observed' | 'results'> {
  readonly bindings: Derived<BoundShoot>;
  readonly settings: Collection<JsonValue>;
  readonly agents: Collection<AgentValue>;
}

/**
 * Derives the objects that agents send no requests for: they could not be applied, and the operation that they belong to is Failed,
 * by a policy that stops then. Another operation is another attempt. By cluster and key, with the content that could not be applied.
 */
export function deriveStops(graph: Graph, { bindings, settings, observed, agents, results }: Reads): Derived<Digest> {
  const unapplied = graph.index<ObjectResult>('unappliedObjects', results, ({ partition, key, value: { state } }) => {
    if (state !== 'failed' && state !== 'conflict') return [];
    return [partition, `${partition}/${objectRefOf(key as ObjectKey).namespace}`];
  });
  return graph.derive<BoundShoot, Digest>({
    name: 'stoppedObjects',
    from: bindings,
    reads: [settings, observed, agents, unapplied],
    compute: ({ key, value: shoot }, read, emit) => {
      const { cluster, seed, controlPlaneNamespace } = shoot;
      const { stopFailed } = careSettingsOf(read, settings);
      if (!stopFailed || !isCaredFor(shoot) || shoot.elected !== undefined) return;
      const written = read.get(observed, 'Shoot', key);
      // An operation of a Gardener is about other objects.
      if (lastOperationOf(written)?.state !== 'Failed' || isOfGardener(written?.fields ?? {})) return;
      const places = seed === undefined || seed === cluster ? [cluster] : [cluster, `${seed}/${controlPlaneNamespace}`];
      for (const { partition, key: object, value } of places.flatMap((place) => read.members(unapplied, place))) {
        if (read.get(agents, '', partition)?.takesStopped === true) emit(partition, object, value.digest);
      }
    },
  });
}
