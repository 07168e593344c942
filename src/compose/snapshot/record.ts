import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { engineDomains } from '../../domains/engines.ts';
import { createGraph } from '../../engine/collections/graph.ts';
import { createEngine } from '../../engine/graph.ts';
import { recordedOutputs, stagerOf } from '../../engine/recording.ts';
import {
  END_LINE,
  inputLine,
  outputLine,
  type RecordedLine,
  type RecordingHeader,
} from '../../model/fleet/recording.ts';
import { errorText } from '../../model/text/messages.ts';
import { parseRecording } from './read-recording.ts';

/** A recording that was written. */
export interface WrittenRecording {
  readonly file: string;
  readonly header: RecordingHeader;
  readonly inputs: number;
  readonly outputs: number;
  readonly bytes: number;
}

interface RecordRequest {
  /** Relative to the working directory. */
  readonly file: string;
  /** Replace a file that is there. */
  readonly force: boolean;
  readonly cwd: string;
  /** A recording of masked inputs alone. */
  readonly inputs: AsyncIterable<Uint8Array>;
}

/**
 * Writes a recording: the masked inputs as they come, and then what this process computes from them. The file appears when it
 * is complete, and only its owner can read it. Rejects with a text for a person.
 */
export async function writeRecording({ file, force, cwd, inputs }: RecordRequest): Promise<WrittenRecording> {
  const target = resolve(cwd, file);
  if (!force && (await stat(target).catch(() => undefined)) !== undefined) {
    throw new Error(`${file} is there already: name another file, or replace it with --force`);
  }
  const unfinished = `${target}.${randomUUID()}`;
  const { header, lines } = await parseRecording(inputs, 'the answer of the server');
  const counts = { inputs: 0, outputs: 0 };
  try {
    const text = linesOfRecording(header, lines, counts);
    await pipeline(Readable.from(text), createGzip(), createWriteStream(unfinished, { mode: 0o600, flags: 'wx' }));
    await rename(unfinished, target);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw new Error(`the recording ${file} cannot be written: ${errorText(error)}`);
  }
  return { file: target, header, ...counts, bytes: (await stat(target)).size };
}

async function* linesOfRecording(
  header: RecordingHeader,
  lines: AsyncIterable<RecordedLine>,
  counts: { inputs: number; outputs: number },
): AsyncGenerator<string> {
  const engine = createEngine(createGraph(), engineDomains);
  const stage = stagerOf(engine);
  yield `${JSON.stringify(header)}\n`;
  for await (const line of lines) {
    if (line.type !== 'input') continue;
    counts.inputs += 1;
    stage(line);
    yield `${inputLine(line)}\n`;
  }
  engine.commit();
  for (const output of recordedOutputs(engine)) {
    counts.outputs += 1;
    yield `${outputLine(output)}\n`;
  }
  yield `${END_LINE}\n`;
}
