import { expect, test } from 'vitest';
import { createRedefinedKinds } from '../../../../../../src/adapters/kubernetes/cluster/live/redefined-kinds.ts';

const definition = (uid: string, generation: number) => ({
  metadata: { uid, generation },
  spec: { group: 'example.com', names: { kind: 'Widget' } },
});
const widget = new Set(['example.com/Widget']);
const none = new Set<string>();

function known() {
  const kinds = createRedefinedKinds(3_000);
  kinds.seen('widgets', definition('a', 1), undefined);
  return kinds;
}

test('a change is told after each reading until one that begins when the API server uses it, however many there are', () => {
  const kinds = known();
  kinds.seen('widgets', definition('a', 2), 1_000);
  for (const begun of [1_100, 1_250, 3_900]) {
    expect(kinds.tell(begun)).toBe(true);
    expect([kinds.take(), kinds.isWaiting()]).toEqual([widget, true]);
  }
  expect(kinds.tell(4_000)).toBe(true);
  expect([kinds.take(), kinds.isWaiting()]).toEqual([widget, false]);
  expect([kinds.tell(9_000), kinds.take()]).toEqual([false, none]);
});

test('a definition that was deleted and made again has changed, although its generation is the same', () => {
  const kinds = known();
  kinds.seen('widgets', definition('a', 1), 1_000);
  expect(kinds.isWaiting()).toBe(false);
  kinds.seen('widgets', definition('b', 1), 1_000);
  expect(kinds.isWaiting()).toBe(true);
});

test('a definition that is gone is told, too', () => {
  const kinds = known();
  kinds.gone('widgets', 1_000);
  expect([kinds.tell(4_000), kinds.take(), kinds.isWaiting()]).toEqual([true, widget, false]);
});
