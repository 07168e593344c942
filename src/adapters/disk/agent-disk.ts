import { join } from 'node:path';
import { parseDigest } from '../../model/ids.ts';
import type { JsonValue } from '../../model/json.ts';
import { errorText } from '../../model/messages.ts';
import { type ObjectKey, parseObjectKey } from '../../model/object-key.ts';
import { comparePositions, type OutputPosition } from '../../model/output.ts';
import type { AgentDisk, OutputStep, StoredObject, StoredOutput } from '../../ports/agent-disk.ts';
import type { Log } from '../../ports/log.ts';
import { makeFoldersSync } from './folders.ts';
import { openRecordLog, type RecordLogContent } from './record-log.ts';
import { asKeys, asList, asObject, asPosition, parsed } from './stored-json.ts';

const FORMAT = 'fleetrelay.dev/output/v1';
const REWRITE_FROM_BYTES = 4 * 1024 * 1024;

/** Creates an agent's disk: the file `output` in a folder (created with mode 0700). */
export function createAgentDisk(deps: { readonly log: Log }, options: { readonly folder: string }): AgentDisk {
  makeFoldersSync(options.folder, { mode: 0o700 });
  const path = join(options.folder, 'output');
  const file = openRecordLog(path, FORMAT, REWRITE_FROM_BYTES);
  let current: (StoredOutput & { readonly objects: Map<ObjectKey, StoredObject> }) | undefined;
  /** The file contains steps after `current`, or does not contain `current`: the next write replaces it. */
  let mustRewrite = true;

  return { load, append, replace, close: async () => file.close() };

  async function load(position: OutputPosition): Promise<StoredOutput | undefined> {
    try {
      const steps = stepsOf(file.content);
      const reached = steps.filter((step) => comparePositions(step.position, position) <= 0);
      const last = reached.at(-1);
      const isThere = last !== undefined && comparePositions(last.position, position) === 0;
      current = isThere ? { position, digest: last.digest, objects: applySteps(new Map(), reached) } : undefined;
      mustRewrite = current === undefined || reached.length < steps.length;
    } catch (error) {
      deps.log.error('the stored output snapshot is damaged and is ignored', { path, reason: errorText(error) });
      current = undefined;
      mustRewrite = true;
    }
    return current;
  }

  async function append(step: OutputStep): Promise<void> {
    const { position, digest } = step;
    const next = (): StoredOutput => ({ position, digest, objects: applySteps(new Map(current?.objects), [step]) });
    if (mustRewrite || current === undefined) return replace(next());
    const { objects } = current;
    await file.append(step, () => completeStep(next()));
    // Only now: a step that was not written is no part of what the next rewrite writes.
    current = { position, digest, objects: applySteps(objects, [step]) };
  }

  async function replace(output: StoredOutput): Promise<void> {
    await file.rewrite(completeStep(output));
    current = { ...output, objects: new Map(output.objects) };
    mustRewrite = false;
  }
}

function completeStep({ position, digest, objects }: StoredOutput): OutputStep {
  return { position, digest, put: [...objects].map(([key, object]) => ({ key, ...object })), drop: [] };
}

function applySteps(objects: Map<ObjectKey, StoredObject>, steps: readonly OutputStep[]): Map<ObjectKey, StoredObject> {
  for (const { put, drop } of steps) {
    for (const { key, digest, value } of put) objects.set(key, { digest, value });
    for (const key of drop) objects.delete(key);
  }
  return objects;
}

/** Throws if the content is damaged. */
function stepsOf(content: RecordLogContent): readonly OutputStep[] {
  if (content.type === 'damaged') throw new Error(content.message);
  return content.type === 'missing' ? [] : content.records.map(asStep);
}

function asStep(record: unknown): OutputStep {
  const { position, digest, put, drop } = asObject(record);
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
