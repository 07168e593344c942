import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { createObjectBatch } from '../../../../src/adapters/git/object-batch.ts';
import { createSystemClock } from '../../../../src/adapters/system/clock.ts';

const OBJECT = 'a'.repeat(40);

/** A batch whose processes answer that an object is missing. */
function answeringBatch() {
  let started = 0;
  const batch = createObjectBatch(
    createSystemClock(),
    () => {
      started += 1;
      return spawn('sed', ['-u', 's/$/ missing/'], { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    },
    true,
  );
  return { batch, started: () => started };
}

test('a read after the stop fails and starts no process', async () => {
  const { batch, started } = answeringBatch();
  expect(await batch.read(OBJECT, 10)).toBeUndefined();
  batch.stop();
  await expect(batch.read(OBJECT, 10)).rejects.toThrow('the reading was stopped');
  batch.restart();
  await expect(batch.read(OBJECT, 10)).rejects.toThrow('the reading was stopped');
  expect(started()).toBe(1);
});

test('a restart ends the process, and the next read starts another one', async () => {
  const { batch, started } = answeringBatch();
  await batch.read(OBJECT, 10);
  batch.restart();
  expect(await batch.read(OBJECT, 10)).toBeUndefined();
  expect(started()).toBe(2);
  batch.stop();
});
