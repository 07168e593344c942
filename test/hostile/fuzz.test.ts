import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hooks } from '../fuzz/hooks.ts';
import { manifests } from '../fuzz/manifests.ts';
import { relay } from '../fuzz/relay.ts';
import { replayInput, runFuzz } from '../fuzz/run-fuzz.ts';
import type { FuzzTarget } from '../fuzz/target.ts';

const SEED = 1;

function reads(count: number): (inputs: number) => boolean {
  return (inputs) => inputs < count;
}

test.each<[FuzzTarget<unknown>, number]>([
  [relay, 200],
  [manifests, 300],
  [hooks, 300],
])('no property of $name breaks', async (target, count) => {
  expect(await runFuzz(target, SEED, reads(count))).toEqual({ inputs: count, finding: undefined });
});

test('a planted crash is found, and made small', async () => {
  const planted: FuzzTarget<string> = {
    name: 'planted',
    inputs: fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 40 }),
    check: async (text) => void (text.includes('b') && JSON.parse('{')),
  };
  const { finding } = await runFuzz(planted, SEED, reads(1_000));
  expect(finding?.input).toBe('b');
  expect((await replayInput(planted, 'b'))?.error).toContain('SyntaxError');
  expect(await replayInput(planted, 'a')).toBeUndefined();
});
