import { createHash } from 'node:crypto';
import { parseDigest } from '../../model/fleet/ids.ts';
import { comparePositions, type OutputPosition } from '../../model/fleet/output.ts';
import { type ObjectKey, parseOutputKey } from '../../model/objects/object-key.ts';
import { parseJson } from '../../model/text/json.ts';
import type { OutputStep } from '../../ports/agent-disk.ts';
import { type Entry, lineOf, type Segment } from './content-segment.ts';
import { StoredContent } from './stored-content.ts';
import { asKeys, asObject, asPosition, asText, parsed } from './stored-json.ts';

/** The first line of each file. */
export const FORMAT = JSON.stringify('fleetrelay.dev/outputs/v1');

/** Lines of this length together are hashed at once: a call of the hash takes longer than a line. */
const HASHED_AT_ONCE = 64 * 1024;

/** A step without its contents. `after` absent: the step has the complete snapshot. */
export type StepHead = Pick<OutputStep, 'position' | 'digest' | 'drop'> & { readonly after?: OutputPosition };

/** A step as it was read. */
export interface ReadStep extends StepHead {
  readonly put: readonly StoredContent[];
  /** The length of its file with it. */
  readonly end: number;
}

/** The lines and contents of a step. The last line has a checksum of all lines, which have the digests of the contents. */
export function* stepEntries(
  head: StepHead,
  put: Iterable<{ readonly key: ObjectKey; readonly digest: string; readonly content: Uint8Array }>,
): Generator<Entry & { readonly key?: ObjectKey }> {
  const check = createHash('sha256');
  let unhashed = '';
  for (const { key, digest, content } of put) {
    const line = JSON.stringify({ key, digest, bytes: content.byteLength });
    unhashed += `${line}\n`;
    if (unhashed.length > HASHED_AT_ONCE) {
      check.update(unhashed);
      unhashed = '';
    }
    yield { key, line: lineOf(line), content };
  }
  const step = JSON.stringify(head);
  yield { line: lineOf(`{"step":${step},"check":"${check.update(unhashed).update(step).digest('hex')}"}`) };
}

/**
 * The steps of a file. What follows the last complete one was never confirmed and is left out, because a crash can tear only that.
 * Rejects if the file is damaged before.
 */
export async function readSteps(segment: Segment): Promise<readonly ReadStep[]> {
  const steps: ReadStep[] = [];
  let put: StoredContent[] = [];
  let lines = '';
  let isFirst = true;
  /** What makes the step invalid that is being read. */
  let problem: string | undefined;
  for await (const { line, content, end } of segment.entries(bytesAfter)) {
    if (problem !== undefined) throw new Error(`${segment.path}: ${problem}`);
    if (isFirst) {
      if (line !== FORMAT) throw new Error(`${segment.path}: unknown format`);
      isFirst = false;
      continue;
    }
    if (content === undefined) {
      const step = asStep(line, lines);
      if (step === undefined) problem = `the step before byte ${end} fails its check`;
      else steps.push({ ...step, put, end });
      put = [];
      lines = '';
      continue;
    }
    lines += `${line}\n`;
    const { key, digest } = asObject(parseJson(line));
    const stored = new StoredContent(parsed(parseOutputKey, key), parsed(parseDigest, digest), content.bytes, {
      segment,
      offset: content.offset,
    });
    put.push(stored);
    if (stored.digest !== content.sha256) problem = `the content before byte ${end} fails its check`;
  }
  return steps;
}

/** Undefined: the line ends a step. */
function bytesAfter(line: string): number | undefined {
  const { bytes } = Object(parseJson(line));
  return Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : undefined;
}

function asStep(line: string, lines: string): StepHead | undefined {
  try {
    const { step, check } = asObject(parseJson(line));
    const text = JSON.stringify(step);
    if (createHash('sha256').update(lines).update(text).digest('hex') !== asText(check)) return undefined;
    const { position, after, digest, drop } = asObject(step);
    return {
      position: asPosition(position),
      ...(after === undefined ? {} : { after: asPosition(after) }),
      digest: parsed(parseDigest, digest),
      drop: asKeys(drop),
    };
  } catch {
    return undefined;
  }
}

/**
 * The steps that lead to the snapshot at this position, oldest first; empty: none does. The ones before the first of these are gone:
 * only the oldest file is removed, and what was needed of it is in a later step.
 */
export function stepsTo<Step extends StepHead>(steps: readonly Step[], position: OutputPosition): readonly Step[] {
  const found: Step[] = [];
  let wanted: OutputPosition | undefined = position;
  for (const step of steps.toReversed()) {
    if (wanted === undefined) break;
    if (comparePositions(step.position, wanted) !== 0) continue;
    found.push(step);
    wanted = step.after;
  }
  return found.reverse();
}
