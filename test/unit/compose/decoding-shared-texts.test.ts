import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { openSourceDecoder } from '../../../src/compose/decoding/source-decoder.ts';
import { decodeFile } from '../../support/decode-file.ts';
import { bytesOf } from '../../support/decoding.ts';
import { plainText } from '../../support/expanding-manifests.ts';

it('keeps a text that aliases repeat once, though the thread that decodes the file sends a copy for each of them', async () => {
  const decoder = await openSourceDecoder({ clock: createSystemClock() });
  try {
    const files = [];
    const before = heapUsed();
    for (let at = 0; at < 8; at += 1) {
      const bytes = bytesOf(plainText(`a${at}`, 15 * 2 ** 20));
      const decoded = await decoder.decode(`a${at}.yaml`, bytes, 'b');
      expect(decoded.size.expandedBytes).toBeGreaterThan(15 * 2 ** 20);
      files.push(decoded);
      if (at === 0) expect(decoded.reading).toEqual(decodeFile('a0.yaml', bytes, 'b').reading);
    }
    expect((heapUsed() - before) / files.length).toBeLessThan(2 * 2 ** 20);
    expect(files).toHaveLength(8);
  } finally {
    await decoder.close();
  }
});

it('keeps the event loop free while it decodes a small file that is large without its aliases', async () => {
  const decoder = await openSourceDecoder({ clock: createSystemClock() });
  let turns = 0;
  const count = (): void => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const times = (name: string, often: number): string =>
    `[${Array.from({ length: often }, () => `*${name}`).join(',')}]`;
  try {
    const text = `x: &a "\\x01"\nb: &b ${times('a', 28)}\nc: &c ${times('b', 28)}\nd: &d ${times('c', 28)}\n`;
    const { size } = await decoder.decode('a.yaml', bytesOf(text), 'a');
    expect(size.nodes).toBeGreaterThan(20_000);
    expect(turns).toBeGreaterThan(0);
  } finally {
    clearImmediate(next);
    await decoder.close();
  }
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
