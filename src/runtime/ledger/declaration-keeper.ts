import type { Change, Derived, Input } from '../../engine/collections/types.ts';
import type { Declared } from '../../engine/fleet/declared.ts';
import type { Engine } from '../../engine/graph.ts';
import type { LastRead } from '../../model/ledger.ts';
import type { Journal } from './journal.ts';
import { recordKey } from './records.ts';

/**
 * Remembers declarations as they were last read, so that they hold while they cannot be; forgets those that are proven
 * gone. Returns true if it has staged something.
 */
export function createDeclarationKeeper(engine: Engine, journal: Journal): () => boolean {
  const { inputs } = engine;
  const keepers = [
    keep(engine, engine.clusters, inputs.lastReadClusters, journal, recordKey.cluster),
    keep(engine, engine.placementDeclarations, inputs.lastReadPlacements, journal, recordKey.placement),
    keep(engine, engine.policy, inputs.lastReadPolicy, journal, () => recordKey.policy),
  ];
  return () => keepers.map((keeper) => keeper()).some((staged) => staged);
}

function keep<Value>(
  engine: Engine,
  declared: Derived<Declared<Value>>,
  lastRead: Input<LastRead<Value>>,
  journal: Journal,
  recordOf: (name: string) => string,
): () => boolean {
  const changes = engine.graph.watch(declared);
  const note = ({ key, after }: Change<Declared<Value>>): void => {
    if (after === undefined) lastRead.delete('', key);
    else lastRead.set('', key, { value: after.value, origin: after.origin });
    journal.put(recordOf(key), after === undefined ? null : { value: after.value, origin: after.origin });
  };
  return () => {
    const news = changes.take().filter(({ after }) => after?.asLastRead !== true);
    news.forEach(note);
    return news.length > 0;
  };
}
