/**
 * `npm run golden -- FILE NAME`: makes a golden test of a recording (`fleetrelay snapshot record`). Every later version has to
 * compute from its inputs what was recorded, see `test/golden/recordings.test.ts`.
 */
import { copyFile, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { replayRecording } from '../src/compose/snapshot/replay.ts';
import { errorText } from '../src/model/text/messages.ts';

const FOLDER = join(import.meta.dirname, '../test/golden/recordings');

async function run(file: string | undefined, name: string | undefined): Promise<string> {
  if (file === undefined || name === undefined || !/^[a-z0-9][a-z0-9-]*$/.test(name)) {
    throw new Error('usage: npm run golden -- FILE NAME, the name of lower-case letters, digits and dashes');
  }
  const { differences, outputs } = await replayRecording({ file, cwd: process.cwd() });
  const [first] = differences;
  if (first !== undefined) {
    const where = `${first.collection} ${first.partition} ${first.key}`;
    throw new Error(
      `this version computes something else from ${file}, first at ${where}: fleetrelay snapshot replay ${file}`,
    );
  }
  await mkdir(FOLDER, { recursive: true });
  const target = join(FOLDER, `${name}.jsonl.gz`);
  await copyFile(resolve(file), target);
  return `${target}: a golden test of ${outputs} outputs; it runs with npm test -- test/golden/recordings.test.ts`;
}

const [file, name] = process.argv.slice(2);
try {
  process.stdout.write(`${await run(file, name)}\n`);
} catch (error) {
  process.stderr.write(`golden: ${errorText(error)}\n`);
  process.exitCode = 1;
}
