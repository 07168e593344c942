import * as fc from 'fast-check';
import { expect } from 'vitest';
import { buildGraph, bytesOf, play } from '../build.ts';
import { lawOf } from '../check.ts';
import { graphSpecs, histories, type Write, writes } from '../spec.ts';

/** Another order of the same inputs, with detours that leave nothing behind, gives the same bytes. */
export const order = lawOf((create) =>
  fc.property(
    graphSpecs(),
    fc.uniqueArray(writes.filter(isSet), { selector: addressOf, maxLength: 24 }),
    fc.infiniteStream(fc.nat()),
    histories,
    (spec, inputs, shuffle, detour) => {
      const [straight, other] = [create(), create()];
      const [first, second] = [buildGraph(straight, spec), buildGraph(other, spec)];
      const distinct = lastPerAddress(inputs, first.inputs.length);
      play(straight, first, [distinct]);
      play(other, second, detour);
      const drops = second.inputs.flatMap((_input, input) =>
        [0, 1, 2].map((partition) => ({ op: 'drop', input, partition }) as const),
      );
      play(other, second, [drops.filter((_drop, at) => at % 2 === 0), drops.filter((_drop, at) => at % 2 === 1)]);
      const shuffled = distinct.map((write) => ({ write, place: shuffle.next().value as number }));
      shuffled.sort((a, b) => a.place - b.place);
      play(
        other,
        second,
        shuffled.map(({ write }) => [write]),
      );
      expect(bytesOf(second)).toBe(bytesOf(first));
    },
  ),
);

function isSet(write: Write): boolean {
  return write.op === 'set';
}

function addressOf(write: Write): string {
  return `${write.input}/${write.partition}/${write.op === 'drop' ? '' : write.key}`;
}

/** Writes that meet at one input once its number is taken modulo the number of inputs: the last one counts. */
function lastPerAddress(inputs: readonly Write[], count: number): readonly Write[] {
  return [...new Map(inputs.map((write) => [addressOf({ ...write, input: write.input % count }), write])).values()];
}
