import { beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { type AgentWorld, configMap, createConnectedWorld, keyOf } from '../../support/agent-world.ts';

/** Objects whose content moves to another object: the other one is applied first. */

const refusal = { type: 'failed', reason: 'Forbidden', message: 'exceeded quota' } as const;

function annotated(value: JsonObject, annotation: string, names: string): JsonObject {
  const { metadata } = value as { readonly metadata: JsonObject };
  return { ...value, metadata: { ...metadata, annotations: { [`fleetrelay.dev/${annotation}`]: names } } };
}

const whole = configMap('a-first', 'both ports');
const rest = annotated(configMap('a-first', 'one port'), 'updated-after', 'b-second');
const part = annotated(configMap('b-second', 'the other port'), 'removed-after', 'a-first');
const emptied = annotated(configMap('b-second', ''), 'updated-after', 'a-first');
const wholeKey = keyOf(whole);
const partKey = keyOf(part);

let world: AgentWorld;
beforeEach(async () => {
  world = await createConnectedWorld();
  await world.server.say({ upserts: [whole] });
  await world.settle();
  world.cluster.calls.length = 0;
});

const live = (): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    [wholeKey, partKey].map((key) => [key, (world.cluster.objects.get(key)?.value.data as JsonObject | undefined)?.k]),
  );
const writes = (): readonly string[] => world.cluster.calls.filter((call) => call !== 'inventory');
const lastOf = (key: string) => world.server.results.findLast((result) => result.key === key);

const split = { [wholeKey]: 'one port', [partKey]: 'the other port' };

async function splitUp(): Promise<void> {
  await world.server.say({ upserts: [rest, part] });
  await world.settle();
}

type Delta = Parameters<AgentWorld['server']['say']>[0];

/** Says the deltas, of which the last one removes the part, while the whole is refused: so the part stays, and waits. */
async function removeTooEarly(...deltas: readonly Delta[]): Promise<void> {
  world.cluster.fail(wholeKey, refusal);
  for (const delta of deltas) {
    await world.server.say(delta);
    await world.settle();
  }
  expect(live()).toEqual(split);
  expect(lastOf(partKey)).toMatchObject({ state: 'removing', reason: 'WaitsForOther' });
}

describe('an object that waits for another one', () => {
  test('is updated after it', async () => {
    await splitUp();
    expect(live()).toEqual(split);
    expect(writes()).toEqual([`apply ${partKey}`, `apply ${wholeKey}`]);
    expect(world.server.results.filter(({ state }) => state !== 'applied')).toEqual([]);
  });

  test('stays as it is while the other is refused, says why, and follows when it is applied', async () => {
    world.cluster.fail(partKey, refusal);
    await splitUp();
    expect(live()).toEqual({ [wholeKey]: 'both ports', [partKey]: undefined });
    expect(lastOf(wholeKey)).toMatchObject({
      state: 'failed',
      reason: 'WaitsForOther',
      message: 'it stays as it is until ConfigMap/web/b-second is applied, which gets a part of it: exceeded quota',
    });
    world.cluster.fail(partKey, undefined);
    await world.clock.advance(60_000);
    expect(live()).toEqual(split);
    expect(world.server.lastResults()).toEqual({ [wholeKey]: 'applied Applied', [partKey]: 'applied Applied' });
  });

  test('stays as it is while its cluster leaves the other alone', async () => {
    world.cluster.fail(partKey, { type: 'exempt', reason: 'ReconcileDisabled', message: 'it is left alone' });
    await splitUp();
    expect(live()).toMatchObject({ [wholeKey]: 'both ports' });
    expect(lastOf(wholeKey)).toMatchObject({ reason: 'WaitsForOther' });
  });

  test('stays as it is while the other is not declared here, and follows when it is', async () => {
    await world.server.say({ upserts: [rest] });
    await world.settle();
    expect(live()).toMatchObject({ [wholeKey]: 'both ports' });
    expect(lastOf(wholeKey)?.message).toContain('it is not in the inventory');
    await world.server.say({ upserts: [part] });
    await world.settle();
    expect(live()).toEqual(split);
  });

  test('is made at once if it does not exist: there is nothing to lose', async () => {
    world.cluster.personRemoves(wholeKey);
    world.cluster.fail(partKey, refusal);
    await splitUp();
    expect(live()).toEqual({ [wholeKey]: 'one port', [partKey]: undefined });
  });

  test('waits after a restart of the agent as well, and without a server', async () => {
    world.cluster.fail(partKey, refusal);
    await splitUp();
    await world.restart();
    expect(live()).toMatchObject({ [wholeKey]: 'both ports' });
    expect(lastOf(wholeKey)).toMatchObject({ reason: 'WaitsForOther' });
    world.cluster.fail(partKey, undefined);
    await world.clock.advance(60_000);
    expect(live()).toEqual(split);
  });

  test('is not written again by a restart, and says nothing of waiting', async () => {
    await splitUp();
    world.cluster.fail(partKey, undefined);
    await world.restart();
    expect(world.server.results.map(({ state }) => state)).toEqual(['applied', 'applied']);
  });

  test('loses its part only when the other has got it back', async () => {
    await splitUp();
    world.cluster.fail(wholeKey, refusal);
    await world.server.say({ upserts: [whole, emptied] });
    await world.settle();
    expect(live()).toEqual(split);
    world.cluster.fail(wholeKey, undefined);
    await world.clock.advance(60_000);
    expect(live()).toEqual({ [wholeKey]: 'both ports', [partKey]: '' });
  });

  test('is removed only when the other has got its part back', async () => {
    await splitUp();
    await removeTooEarly({ upserts: [whole], removals: [partKey] });
    world.cluster.fail(wholeKey, undefined);
    await world.clock.advance(60_000);
    expect(live()).toEqual({ [wholeKey]: 'both ports', [partKey]: undefined });
  });

  test('says what it waits for where two wait for each other, and neither is written', async () => {
    await world.server.say({ upserts: [configMap('b-second', '')] });
    await world.settle();
    const other = annotated(configMap('b-second', 'more'), 'updated-after', 'a-first');
    world.cluster.calls.length = 0;
    await world.server.say({ upserts: [annotated(configMap('a-first', 'more'), 'updated-after', 'b-second'), other] });
    await world.settle();
    expect(writes()).toEqual([]);
    for (const key of [wholeKey, partKey]) {
      expect(lastOf(key)?.message).toMatch(/^it stays as it is until .* it waits for another object itself$/);
    }
    // A content that waits for none ends it.
    await world.server.say({ upserts: [whole] });
    await world.settle();
    expect(live()).toEqual({ [wholeKey]: 'both ports', [partKey]: 'more' });
  });

  test('does not wait for a change of the other, which has its part already', async () => {
    await splitUp();
    world.cluster.fail(partKey, refusal);
    const newer = [
      annotated(configMap('a-first', 'one port, newer'), 'updated-after', 'b-second'),
      annotated(configMap('b-second', 'the other port, newer'), 'removed-after', 'a-first'),
    ];
    await world.server.say({ upserts: newer });
    await world.settle();
    expect(live()).toEqual({ [wholeKey]: 'one port, newer', [partKey]: 'the other port' });
    expect(lastOf(wholeKey)).toMatchObject({ state: 'applied' });
  });

  test('is removed only when the other has got its part back, though it is declared without it already', async () => {
    await splitUp();
    await removeTooEarly({ upserts: [whole, emptied] }, { removals: [partKey] });
    world.cluster.fail(wholeKey, undefined);
    await world.clock.advance(60_000);
    expect(live()).toEqual({ [wholeKey]: 'both ports', [partKey]: undefined });
  });

  test('is removed only when the other has got its part back, though the disk has lost its content', async () => {
    await splitUp();
    world.disk.unreadable.add(partKey);
    await removeTooEarly({ upserts: [whole], removals: [partKey] });
  });

  test('is removed at once if it has been without its part since the other got it back', async () => {
    await splitUp();
    await world.server.say({ upserts: [whole, emptied] });
    await world.settle();
    world.cluster.fail(wholeKey, refusal);
    await world.server.say({ upserts: [configMap('a-first', 'both ports, newer')], removals: [partKey] });
    await world.settle();
    expect(live()).toEqual({ [wholeKey]: 'both ports', [partKey]: undefined });
  });

  test.each([
    ['is gone', () => world.cluster.personRemoves(partKey)],
    ['belongs to another owner', () => world.cluster.personPuts(partKey, configMap('b-second', 'of another'), 'drop')],
  ])('does not wait for another one that has got its part and %s now', async (_, happens) => {
    await splitUp();
    world.cluster.fail(partKey, refusal);
    happens();
    await world.settle();
    const newer = annotated(configMap('a-first', 'one port, newer'), 'updated-after', 'b-second');
    await world.server.say({ upserts: [newer] });
    await world.settle();
    expect(live()).toMatchObject({ [wholeKey]: 'one port, newer' });
    expect(lastOf(wholeKey)).toMatchObject({ state: 'applied' });
  });

  test('waits for a third one that gets another part, and for that one only', async () => {
    const third = annotated(configMap('c-third', 'a third port'), 'removed-after', 'a-first');
    await splitUp();
    world.cluster.fail(partKey, refusal);
    world.cluster.fail(keyOf(third), refusal);
    world.cluster.personRemoves(partKey);
    await world.settle();
    const less = annotated(configMap('a-first', 'less'), 'updated-after', 'b-second,c-third');
    await world.server.say({ upserts: [less, third] });
    await world.settle();
    expect(live()).toMatchObject({ [wholeKey]: 'one port' });
    expect(lastOf(wholeKey)?.message).toContain('until ConfigMap/web/c-third is applied');
    world.cluster.fail(keyOf(third), undefined);
    await world.clock.advance(60_000);
    expect(live()).toMatchObject({ [wholeKey]: 'less' });
  });

  test('without a part stays up to date while the other is refused', async () => {
    await splitUp();
    await world.server.say({ upserts: [whole, emptied] });
    await world.settle();
    world.cluster.fail(wholeKey, refusal);
    const newer = annotated(configMap('b-second', 'empty, newer'), 'updated-after', 'a-first');
    await world.server.say({ upserts: [configMap('a-first', 'both ports, newer'), newer] });
    await world.settle();
    expect(live()).toEqual({ [wholeKey]: 'both ports', [partKey]: 'empty, newer' });
  });

  test('is paused while the other is, and follows it when the button is released', async () => {
    world.cluster.pause(true);
    await splitUp();
    expect(world.server.lastResults()).toEqual({ [wholeKey]: 'paused Paused', [partKey]: 'paused Paused' });
    world.cluster.fail(partKey, refusal);
    world.cluster.pause(false);
    await world.settle();
    expect(live()).toEqual({ [wholeKey]: 'both ports', [partKey]: undefined });
    expect(lastOf(wholeKey)).toMatchObject({ state: 'failed', reason: 'WaitsForOther' });
    world.cluster.fail(partKey, undefined);
    await world.clock.advance(60_000);
    expect(live()).toEqual(split);
  });

  test('that is to be removed is paused while the other is', async () => {
    await splitUp();
    world.cluster.pause(true);
    await world.server.say({ upserts: [whole], removals: [partKey] });
    await world.settle();
    expect(world.server.lastResults()).toEqual({ [wholeKey]: 'paused Paused', [partKey]: 'paused Paused' });
    world.cluster.pause(false);
    await world.settle();
    expect(live()).toEqual({ [wholeKey]: 'both ports', [partKey]: undefined });
  });

  test('is removed with the other', async () => {
    await splitUp();
    world.cluster.fail(wholeKey, refusal);
    await world.server.say({ removals: [wholeKey, partKey] });
    await world.settle();
    expect(live()).toEqual({ [wholeKey]: 'one port', [partKey]: undefined });
  });
});
