import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { PROGRAM } from '../support/fleet-processes.ts';

/**
 * Recordings of earlier builds, made by `npm run golden`. This build has to compute from their inputs, in a process of its own,
 * the bytes that they had computed. If a change of the engine is meant to compute something else, record anew.
 */
const folder = join(import.meta.dirname, 'recordings');

test.each(readdirSync(folder))('%s computes what was recorded', async (name) => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...[PROGRAM, 'snapshot', 'replay', join(folder, name), '-o', 'json'],
  ]);
  const { differences, unknownInputs, outputs } = JSON.parse(stdout);
  expect({ differences, unknownInputs }).toEqual({ differences: [], unknownInputs: [] });
  expect(outputs).toBeGreaterThan(0);
});
