import type { Collection, Derived, Graph } from '../../../../engine/collections/types.ts';
import type { AgentValue, EngineInputs } from '../../../../engine/inputs.ts';
import { isBefore, type Tries } from '../../../../engine/output/tries.ts';
import type { ObjectResult } from '../../../../model/agent/agent.ts';
import { type ObjectKey, objectRefOf } from '../../../../model/objects/object-key.ts';
import { type JsonValue, textOf } from '../../../../model/text/json.ts';
import { parseRfc3339 } from '../../../../model/text/time.ts';
import { isOfGardener } from '../../model/shoot.ts';
import { type BoundShoot, isCaredFor } from '../binding.ts';
import { careSettingsOf } from '../settings.ts';
import { lastOperationOf } from '../written-operation.ts';

interface Reads extends Pick<EngineInputs, 'observed' | 'results'> {
  readonly bindings: Derived<BoundShoot>;
  readonly settings: Collection<JsonValue>;
  readonly agents: Collection<AgentValue>;
}

/**
 * Derives how agents try the objects of a Shoot that could not be applied, by cluster and key. While its operation is Failed, no requests
 * are sent for them, by a policy that stops then. An operation that began after they had failed is another attempt.
 */
export function deriveTries(graph: Graph, { bindings, settings, observed, agents, results }: Reads): Derived<Tries> {
  const unapplied = graph.index<ObjectResult>('unappliedObjects', results, ({ partition, key, value: { state } }) => {
    if (state !== 'failed' && state !== 'conflict') return [];
    return [partition, `${partition}/${objectRefOf(key as ObjectKey).namespace}`];
  });
  return graph.derive<BoundShoot, Tries>({
    name: 'triesOfShoots',
    from: bindings,
    reads: [settings, observed, agents, unapplied],
    compute: ({ key, value: shoot }, read, emit) => {
      const { cluster, seed, controlPlaneNamespace } = shoot;
      if (!isCaredFor(shoot) || shoot.elected !== undefined) return;
      const written = read.get(observed, 'Shoot', key);
      const last = lastOperationOf(written);
      // An operation of a Gardener is about other objects.
      if (last === undefined || isOfGardener(written?.fields ?? {})) return;
      const isStopped = last.state === 'Failed' && careSettingsOf(read, settings).stopFailed;
      const began = parseRfc3339(textOf(written?.fields.retryCycleStartTime));
      if (!isStopped && began === undefined) return;
      const places = seed === undefined || seed === cluster ? [cluster] : [cluster, `${seed}/${controlPlaneNamespace}`];
      for (const { partition, key: object, value } of places.flatMap((place) => read.members(unapplied, place))) {
        const agent = read.get(agents, '', partition);
        const { digest } = value;
        if (isStopped) {
          if (agent?.takesStopped === true) emit(partition, object, { digest, stopped: true });
        } else if (began !== undefined && agent?.takesAttempts === true && isBefore(value, began)) {
          emit(partition, object, { digest, attempt: began });
        }
      }
    },
  });
}
