import { expect, test } from 'vitest';
import { syncSources } from '../../../src/runtime/api/sync-sources.ts';
import type { SourceState } from '../../../src/runtime/source-table.ts';
import { silentLog } from '../../support/silent-log.ts';
import { startedWorld } from '../../support/started-world.ts';

type Condition = Partial<SourceState['condition']>;

/** A source with the revision `r1` whose look ends with this condition; undefined: it does not end. */
function sourceThatFinds(name: string, condition: Condition | undefined): () => SourceState {
  const state = { condition: { state: 'synced', reason: 'Synced', message: '', revision: 'r1' } as Condition };
  const look = async (): Promise<void> => {
    if (condition === undefined) return new Promise(() => undefined);
    state.condition = { ...state.condition, ...condition };
  };
  return () =>
    ({
      source: { name, address: '', look },
      admitted: { revision: 'r1' },
      doubtful: [],
      ...state,
    }) as unknown as SourceState;
}

async function sync(conditions: Readonly<Record<string, Condition | undefined>>, name?: string) {
  const sources = Object.entries(conditions).map(([source, condition]) => sourceThatFinds(source, condition));
  const waited: number[] = [];
  const clock = {
    sleep: async (ms: number) => {
      waited.push(ms);
      // The looks that end have ended before.
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    },
  };
  const deps = {
    sources: { all: () => sources.map((state) => state()) },
    loop: { settled: async () => undefined },
    suspensions: { get: () => undefined },
    ...{ clock, log: silentLog },
  } as unknown as Parameters<typeof syncSources>[0];
  return { waited, answer: await syncSources(deps, name, 'ann') };
}

test('a sync fetches each source, and answers with the outcome of each', async () => {
  const { answer } = await sync({
    pushed: { revision: 'r2' },
    quiet: {},
    broken: { state: 'failing', reason: 'Unreachable', message: 'no route' },
    rewritten: { state: 'refused', refusedRevision: 'r3', message: 'the history was rewritten' },
    slow: undefined,
  });
  const sources = answer.ok ? answer.value.sources : [];
  expect(sources.map(({ name, outcome, revision }) => [name, outcome, revision])).toEqual([
    ['pushed', 'new', 'r2'],
    ['quiet', 'unchanged', 'r1'],
    ['broken', 'failed', 'r1'],
    ['rewritten', 'refused', 'r1'],
    ['slow', 'looking', 'r1'],
  ]);
  expect(sources.map(({ message }) => message)).toEqual(['', '', 'no route', 'the history was rewritten', '']);
  expect(sources[3]).toMatchObject({ before: 'r1', refusedRevision: 'r3' });
});

test('a sync of one source fetches that one, and a name that no source has is not found', async () => {
  const { answer } = await sync({ main: { revision: 'r2' }, other: { revision: 'r2' } }, 'other');
  expect(answer.ok && answer.value.sources.map(({ name }) => name)).toEqual(['other']);
  expect((await sync({ main: {} }, 'nowhere')).answer).toMatchObject({ ok: false, kind: 'notFound' });
  expect((await sync({})).answer).toMatchObject({ ok: false, message: 'no source is configured' });
});

test('a server answers with what it has admitted', async () => {
  const world = await startedWorld();
  expect(await world.server.api.syncSources('main', 'ann')).toMatchObject({
    ok: true,
    value: { sources: [{ name: 'main', outcome: 'unchanged', revision: 'r1' }] },
  });
  expect(await world.server.api.syncSources('other', 'ann')).toMatchObject({ ok: false, kind: 'notFound' });
});
