import * as fc from 'fast-check';
import { expect } from 'vitest';
import { buildGraph, bytesOf, entriesOf, play, stage } from '../build.ts';
import { lawOf } from '../check.ts';
import { type GraphSpec, graphSpecs, histories, keys, type NodeSpec, partitions } from '../spec.ts';

/**
 * A record whose function throws disturbs no other record: everything is as if the function had given nothing for it,
 * except for the failure that names it. It heals when its input does.
 */
export const isolation = lawOf((create) =>
  fc.property(
    graphSpecs({ readsFailures: false }).map(withVictim),
    histories,
    histories,
    fc.nat({ max: 2 }),
    fc.nat({ max: 3 }),
    (spec, before, after, partition, key) => {
      const [throwing, silent, healthy] = [create(), create(), create()];
      const poisoned = buildGraph(throwing, spec);
      const quiet = buildGraph(silent, spec, { silent: true });
      const never = buildGraph(healthy, spec);
      const all = [[throwing, poisoned] as const, [silent, quiet] as const, [healthy, never] as const];
      for (const [graph, built] of all) play(graph, built, before);
      const sick = { op: 'set', input: 0, partition, key, value: 3 } as const;
      for (const [graph, built] of all.slice(0, 2)) {
        stage(built, sick, (value) => ({ ...value, poison: `n${victim}` }));
        for (const write of after.flat()) if (!meets(write, sick, built.inputs.length)) stage(built, write);
        graph.commit();
      }
      const address = [partitions[partition] as string, keys[key] as string] as const;
      const failures = poisoned.nodes[victim]?.failures;
      expect(failures?.get(...address)).toEqual({ message: 'poisoned' });
      expect(bytesOf(poisoned, [failures?.name ?? '', ...address])).toBe(bytesOf(quiet));
      stage(poisoned, sick);
      stage(never, sick);
      for (const write of after.flat()) if (!meets(write, sick, never.inputs.length)) stage(never, write);
      throwing.commit();
      healthy.commit();
      expect(bytesOf(poisoned)).toBe(bytesOf(never));
      expect(entriesOf(failures as NonNullable<typeof failures>).some(({ value }) => isPoison(value))).toBe(false);
    },
  ),
);

/** The node that is hit: the first after the two inputs that are always there. */
const victim = 2;

function withVictim(spec: GraphSpec): GraphSpec {
  const hit: NodeSpec = {
    kind: 'derive',
    from: 0,
    right: 0,
    fromFailures: false,
    onlyPartition: undefined,
    withoutKey: undefined,
    reads: [],
    scoped: false,
    seesAll: false,
    emission: 'collide',
    coarse: false,
    throwsOneIn: 0,
    equals: 'default',
    salt: 7,
  };
  return [...spec.slice(0, victim), hit, ...spec.slice(victim)];
}

function isPoison(value: unknown): boolean {
  return (value as { message: string }).message === 'poisoned';
}

/** Whether a write would overwrite the sick record. */
function meets(
  write: { readonly op: string; readonly input: number; readonly partition: number; readonly key?: number },
  sick: { readonly input: number; readonly partition: number; readonly key: number },
  inputs: number,
): boolean {
  if (write.input % inputs !== sick.input || write.partition !== sick.partition) return false;
  return write.op === 'drop' || write.key === sick.key;
}
