import { describe, expect, test } from 'vitest';
import { type Digest, parseSourceName } from '../../../src/model/fleet/ids.ts';
import type { SequencedDelta } from '../../../src/model/fleet/output.ts';
import { must } from '../../../src/model/values/result.ts';
import { suspensions } from '../../sim/checkers/suspensions.ts';
import { createWorld } from '../../sim/world.ts';

const deltaOf = (revision: string): SequencedDelta => ({
  position: { epoch: 1, sequence: 1 },
  from: 'nothing' as Digest,
  to: 'one' as Digest,
  revisions: [{ source: must(parseSourceName('main')), revision }],
  ...{ upserts: [], touches: [], removals: [], keeps: [] },
});

/** Three servers. The first one receives the suspension of `main` at 0 s, and answers that `old` is admitted. */
function suspended() {
  const world = {
    ...createWorld(1),
    servers: [],
    setting: { servers: 3, shared: true, lease: 'cluster' } as const,
  };
  const found: string[] = [];
  suspensions(world, (message) => void found.push(message));
  const { cluster } = world.agents[0] ?? expect.fail();
  world.tell({ type: 'suspended', process: 'first', what: 'source', name: 'main', revision: 'old' });
  return {
    found,
    pass: (seconds: number) => world.time.advance(seconds * 1_000, () => undefined),
    log: (process: string, message: string) =>
      world.tell({ type: 'log', line: { process, level: 'warn', message, data: {} } }),
    dies: (process: string) => world.tell({ type: 'died', process }),
    sends: (process: string, revision: string) =>
      world.tell({ type: 'departed', process, cluster, delta: deltaOf(revision) }),
  };
}

const FAILS = 'the store cannot be written';
const WRITES_AGAIN = 'the store can be written again';
const REPORT = expect.stringContaining('is sent new of main, which is suspended');

describe('the checker of suspensions', () => {
  test('lets every server send the revision of the answer, and reports another one of the server that answered', () => {
    const { sends, found } = suspended();
    for (const process of ['first', 'second', 'third']) sends(process, 'old');
    expect(found).toEqual([]);
    sends('first', 'new');
    expect(found).toEqual([REPORT]);
  });

  test('gives another server time to hear of it', async () => {
    const { sends, pass, found } = suspended();
    await pass(149);
    sends('second', 'new');
    expect(found).toEqual([]);
    await pass(2);
    sends('second', 'new');
    expect(found).toEqual([REPORT]);
  });

  test('gives it the time since all servers can write the store again, not only one of them', async () => {
    const { sends, log, pass, found } = suspended();
    for (const process of ['first', 'second']) log(process, FAILS);
    await pass(10);
    log('first', WRITES_AGAIN);
    await pass(160);
    sends('second', 'new');
    expect(found).toEqual([]);
    log('second', WRITES_AGAIN);
    await pass(151);
    sends('second', 'new');
    expect(found).toEqual([REPORT]);
  });

  test('does not wait for a server that has ended', async () => {
    const { sends, log, dies, pass, found } = suspended();
    log('third', FAILS);
    dies('third');
    await pass(151);
    sends('second', 'new');
    expect(found).toEqual([REPORT]);
  });
});
