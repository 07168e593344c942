import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { parseHeader, parseLine, type RecordedLine, type RecordingHeader } from '../../model/fleet/recording.ts';
import { errorText } from '../../model/text/messages.ts';

/** Longer lines than any that a fleet within the default limits makes. */
const LONGEST_LINE = 64 * 1024 * 1024;
const GZIP = [0x1f, 0x8b];

/** An opened recording. */
export interface OpenedRecording {
  readonly header: RecordingHeader;
  /** Rejects with a text for a person that names file and line if a line is damaged, or the end is missing. */
  readonly lines: AsyncIterable<RecordedLine>;
}

/** Opens a recording, packed with gzip or not. Rejects with a text for a person. `name`: of the file, for people. */
export async function openRecording(file: string, name: string): Promise<OpenedRecording> {
  return parseRecording(await bytesOf(file, name), name);
}

/** Begins to read a recording from its bytes. Rejects with a text for a person. */
export async function parseRecording(bytes: AsyncIterable<Uint8Array>, name: string): Promise<OpenedRecording> {
  const texts = linesOf(bytes, name)[Symbol.asyncIterator]();
  const first = await texts.next();
  const header = parseHeader(first.done === true ? '' : first.value);
  if (!header.ok) throw new Error(`${name}:1: ${header.problem}`);
  return { header: header.value, lines: parsedLines(texts, name) };
}

async function bytesOf(file: string, name: string): Promise<Readable> {
  try {
    const handle = await open(file);
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
      const isPacked = bytesRead === 2 && GZIP.every((byte, index) => buffer[index] === byte);
      const stream = createReadStream(file);
      return isPacked ? stream.pipe(createGunzip()) : stream;
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw new Error(`the recording ${name} cannot be read: ${errorText(error)}`);
  }
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const chunk of bytes) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
      if (rest.length > LONGEST_LINE) throw new Error(`a line is longer than ${LONGEST_LINE} characters`);
    }
  } catch (error) {
    throw new Error(`the recording ${name} cannot be read: ${errorText(error)}`);
  }
  if (rest !== '') yield rest;
}

async function* parsedLines(texts: AsyncIterator<string>, name: string): AsyncGenerator<RecordedLine> {
  for (let number = 2; ; number += 1) {
    const next = await texts.next();
    if (next.done === true) throw new Error(`${name}:${number}: the recording ends too early; record it again`);
    const line = parseLine(next.value);
    if (!line.ok) throw new Error(`${name}:${number}: the line ${line.problem}`);
    yield line.value;
    if (line.value.type === 'end') return;
  }
}
