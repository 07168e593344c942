import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseDigest } from '../../model/ids.ts';
import type { JsonValue } from '../../model/json.ts';
import { errorText } from '../../model/messages.ts';
import { type ObjectKey, parseObjectKey } from '../../model/object-key.ts';
import { comparePositions, type OutputPosition } from '../../model/output.ts';
import type { AgentDisk, OutputStep, StoredObject, StoredOutput } from '../../ports/agent-disk.ts';
import type { Log } from '../../ports/log.ts';
import { openRecordLog, type RecordLogContent } from './record-log.ts';
import { asKeys, asList, asObject, asPosition, parsed } from './stored-json.ts';

const HEADER = { format: 'fleetrelay.dev/output', version: 1 };
/** The file is rewritten when it is this many times as long as after the last rewrite, and at least this long. */
const SLACK = 3;
const SMALLEST_REWRITE_BYTES = 4 * 1024 * 1024;

/** An agent's disk: the file `output` in a folder (created with mode 0700). */
export function createAgentDisk(deps: { readonly log: Log }, options: { readonly folder: string }): AgentDisk {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  const path = join(options.folder, 'output');
  const { log: file, content } = openRecordLog(path);
  let current: StoredOutput | undefined;
  let lengthAtRewrite = 0;
  /** The file holds steps beyond `current`, or is damaged: the next write replaces it. */
  let mustRewrite = true;

  return { load, append, replace, close: async () => file.close() };

  async function load(position: OutputPosition): Promise<StoredOutput | undefined> {
    const replayed = replay(content, position);
    if (replayed.problem !== undefined) {
      deps.log.error('the stored output snapshot is damaged and is ignored', { path, reason: replayed.problem });
    }
    current = replayed.output;
    mustRewrite = current === undefined || replayed.leftOver;
    lengthAtRewrite = lengthOf(current);
    return current;
  }

  async function append(step: OutputStep): Promise<void> {
    const next = advance(current, step);
    const tooLong = file.size() > Math.max(SMALLEST_REWRITE_BYTES, SLACK * lengthAtRewrite);
    if (mustRewrite || tooLong || !file.isThere()) return replace(next);
    await file.append(step);
    current = next;
  }

  async function replace(output: StoredOutput): Promise<void> {
    const { position, digest } = output;
    const put = [...output.objects].map(([key, object]) => ({ key, ...object }));
    await file.rewrite([HEADER, { position, digest, put, drop: [] } satisfies OutputStep]);
    current = output;
    mustRewrite = false;
    lengthAtRewrite = file.size();
  }
}

/** Estimated length after a rewrite. The length of the file itself would raise the limit at each start. */
function lengthOf(output: StoredOutput | undefined): number {
  let length = 0;
  for (const { value } of output?.objects.values() ?? []) length += JSON.stringify(value).length;
  return length;
}

function advance(before: StoredOutput | undefined, step: OutputStep): StoredOutput {
  const objects = new Map(before?.objects);
  for (const { key, digest, value } of step.put) objects.set(key, { digest, value });
  for (const key of step.drop) objects.delete(key);
  return { position: step.position, digest: step.digest, objects };
}

function replay(
  content: RecordLogContent,
  position: OutputPosition,
): { readonly output?: StoredOutput; readonly leftOver: boolean; readonly problem?: string } {
  if (content.type === 'missing') return { leftOver: false };
  if (content.type === 'damaged') return { leftOver: true, problem: content.message };
  try {
    const [header, ...lines] = content.records;
    const { format, version } = asObject(header);
    if (format !== HEADER.format || version !== HEADER.version) return { leftOver: true, problem: 'unknown format' };
    const objects = new Map<ObjectKey, StoredObject>();
    let last: OutputStep | undefined;
    for (const line of lines) {
      const step = asStep(line);
      if (comparePositions(step.position, position) > 0) break;
      for (const { key, digest, value } of step.put) objects.set(key, { digest, value });
      for (const key of step.drop) objects.delete(key);
      last = step;
    }
    if (last === undefined || comparePositions(last.position, position) !== 0) return { leftOver: true };
    const leftOver = comparePositions(asStep(lines.at(-1)).position, position) !== 0;
    return { output: { position: last.position, digest: last.digest, objects }, leftOver };
  } catch (error) {
    return { leftOver: true, problem: errorText(error) };
  }
}

function asStep(line: unknown): OutputStep {
  const { position, digest, put, drop } = asObject(line);
  return {
    position: asPosition(position),
    digest: parsed(parseDigest, digest),
    put: asList(put).map(asStored),
    drop: asKeys(drop),
  };
}

function asStored(item: JsonValue): StoredObject & { readonly key: ObjectKey } {
  const { key, digest, value } = asObject(item);
  return { key: parsed(parseObjectKey, key), digest: parsed(parseDigest, digest), value: asObject(value) };
}
