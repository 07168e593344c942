import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { releaseIdleMemory } from '../../../src/compose/serve/memory-at-rest.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

/** Returns the switches of the memory saver for these busy shares, one a look. */
async function switchesOf(shares: readonly number[]): Promise<readonly string[]> {
  const clock = createVirtualClock();
  const switches: string[] = [];
  let looks = 0;
  const end = releaseIdleMemory(clock, {
    busyShare: () => shares[looks++] ?? 0,
    saveMemory: (saves) => switches.push(`${looks} ${saves ? 'save' : 'spend'}`),
    heapBytes: () => 0,
    growBy: () => expect.unreachable('a small heap grows as V8 sees fit'),
  });
  await clock.advance(shares.length * 2_000);
  end();
  const before = looks;
  await clock.advance(60_000);
  expect(looks).toBe(before);
  return switches;
}

describe('memory at rest', () => {
  const rest = (looks: number): readonly number[] => Array.from({ length: looks }, () => 0.1);

  it('is saved after ten quiet seconds, for half a minute', async () => {
    expect(await switchesOf([0.9, ...rest(30)])).toEqual(['6 save', '21 spend']);
  });

  it('is saved again every ten minutes while nothing happens', async () => {
    expect(await switchesOf(rest(330))).toEqual(['5 save', '20 spend', '305 save', '320 spend']);
  });

  it('is not saved while the process is busy now and then', async () => {
    expect(await switchesOf([0, 0, 0, 0, 0.3, 0, 0, 0, 0, 0.3])).toEqual([]);
  });

  it('is not saved from the first look of a burst on, and again after it', async () => {
    expect(await switchesOf([...rest(5), 0.4, 0.5, 1, ...rest(6)])).toEqual(['5 save', '7 spend', '13 save']);
  });

  it('grows slowly while the heap is large, from a minute after the start on', async () => {
    const clock = createVirtualClock();
    const MIB = 1024 * 1024;
    const sizes = [...Array<number>(30).fill(900), 60, 127, 128, 900, 900, 100];
    const percents: string[] = [];
    let looks = 0;
    const end = releaseIdleMemory(clock, {
      busyShare: () => {
        looks += 1;
        return 1;
      },
      saveMemory: () => expect.unreachable('a busy process does not save memory'),
      heapBytes: () => (sizes[looks - 1] ?? 0) * MIB,
      growBy: (percent) => percents.push(`${looks} ${percent}`),
    });
    await clock.advance(sizes.length * 2_000);
    end();
    expect(percents).toEqual(['33 25', '36 0']);
  });

  it('is saved by flags that this Node.js knows, also after its start', () => {
    const flags = [
      '--memory-saver-mode',
      '--no-memory-saver-mode',
      '--heap-growing-percent=25',
      '--heap-growing-percent=0',
    ];
    const script = flags.map((flag) => `require('node:v8').setFlagsFromString('${flag}')`).join(';');
    const { stderr, status } = spawnSync(process.execPath, ['-e', `setTimeout(() => { ${script} }, 1)`], {
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
  });
});
