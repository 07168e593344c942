import { join } from 'node:path';
import { comparePositions, type OutputPosition } from '../../model/fleet/output.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { errorText } from '../../model/text/messages.ts';
import {
  type AgentDisk,
  diskFullError,
  type OutputStep,
  type StoredContents,
  type StoredObject,
  type StoredOutput,
} from '../../ports/agent-disk.ts';
import type { Log } from '../../ports/log.ts';
import { isErrno } from './files.ts';
import { makeFoldersSync } from './folders.ts';
import { createOutputFiles } from './output-files.ts';
import { type ReadStep, stepsTo } from './output-steps.ts';
import { type StoredContent, sizeOf } from './stored-content.ts';

const FOLDER = 'outputs';

/** The snapshot that the disk has. */
interface Current {
  readonly position: OutputPosition;
  readonly digest: StoredOutput['digest'];
  readonly objects: Map<ObjectKey, StoredContent>;
  /** What the objects take on the disk, in bytes. */
  readonly needed: number;
}

/** What undoes the last step: its inventory may never be saved. */
interface Undo {
  /** Of the snapshot that the step started from. */
  readonly position: OutputPosition;
  /** Returns that snapshot; undefined: the disk had none. */
  readonly restore: () => Current | undefined;
}

/**
 * Creates an agent's disk: the folder `outputs` in a folder (created with mode 0700). Its files contain the steps one after the
 * other. When half of the bytes are not needed any more, what is needed of the oldest file is copied into a step of its own, and
 * the file is removed.
 */
export function createAgentDisk(deps: { readonly log: Log }, options: { readonly folder: string }): AgentDisk {
  const folder = join(options.folder, FOLDER);
  makeFoldersSync(folder, { mode: 0o700 });
  const files = createOutputFiles(deps, folder);
  let current: Current | undefined;
  let undo: Undo | undefined;

  return {
    load,
    append: (step) => asDiskFull(() => append(step)),
    replace: (output) => asDiskFull(() => replace(output)),
    close: async () => files.close(),
  };

  async function load(position: OutputPosition): Promise<StoredOutput | undefined> {
    current = undefined;
    undo = undefined;
    try {
      const steps = stepsTo(await files.open(), position);
      const last = steps.at(-1);
      const objects = objectsOf(steps);
      if (last !== undefined) current = { position, digest: last.digest, objects, needed: sizeOf(objects.values()) };
    } catch (error) {
      deps.log.error('the stored output snapshot is damaged and is ignored', {
        path: folder,
        reason: errorText(error),
      });
      files.damaged();
    }
    return current && { position, digest: current.digest, objects: new Map(current.objects) };
  }

  async function append(step: OutputStep): Promise<StoredContents> {
    const { position, after, digest, put, drop } = step;
    const isNext = current === undefined || comparePositions(current.position, after) === 0;
    if (!isNext) current = restored(undo, after);
    // The inventory has been saved, or the step is undone.
    undo = undefined;
    if (current === undefined || !files.exist()) {
      const before = current;
      const objects = new Map<ObjectKey, StoredObject>(before?.objects);
      for (const key of drop) objects.delete(key);
      for (const object of put) objects.set(object.key, object);
      const stored = await replace({ position, digest, objects });
      undo = { position: after, restore: () => before };
      return stored;
    }
    // Nothing needs what was before.
    if (isNext) await files.collectGarbage(current);
    const { objects } = current;
    const stored = await files.write({ position, after, digest, drop }, byKey(put));
    const before = Array.from(new Set([...drop, ...stored.keys()]), (key) => [key, objects.get(key)] as const);
    undo = { position: after, restore: restoring(current, before) };
    for (const key of drop) objects.delete(key);
    for (const [key, content] of stored) objects.set(key, content);
    const released = sizeOf(before.flatMap(([, content]) => content ?? []));
    current = { position, digest, objects, needed: current.needed + sizeOf(stored.values()) - released };
    return stored;
  }

  async function replace({ position, digest, objects }: StoredOutput): Promise<StoredContents> {
    const stored = await files.writeComplete({ position, digest, drop: [] }, objects);
    current = { position, digest, objects: stored, needed: sizeOf(stored.values()) };
    undo = undefined;
    return new Map(stored);
  }
}

/** The objects themselves, because the value of one may be parsed only when it is read. */
function byKey(put: OutputStep['put']): StoredContents {
  return new Map(put.map((object) => [object.key, object]));
}

function restored(undo: Undo | undefined, after: OutputPosition): Current | undefined {
  if (undo !== undefined && comparePositions(undo.position, after) === 0) return undo.restore();
  throw new Error('the step starts from another output snapshot than the disk has');
}

function restoring(
  before: Current,
  changed: readonly (readonly [ObjectKey, StoredContent | undefined])[],
): Undo['restore'] {
  return () => {
    const { objects } = before;
    for (const [key, content] of changed) {
      if (content === undefined) objects.delete(key);
      else objects.set(key, content);
    }
    return before;
  };
}

function objectsOf(steps: readonly ReadStep[]): Map<ObjectKey, StoredContent> {
  const objects = new Map<ObjectKey, StoredContent>();
  for (const { drop, put } of steps) {
    for (const key of drop) objects.delete(key);
    for (const content of put) objects.set(content.key, content);
  }
  return objects;
}

async function asDiskFull<Value>(write: () => Promise<Value>): Promise<Value> {
  try {
    return await write();
  } catch (error) {
    throw isErrno(error, 'ENOSPC', 'EDQUOT') ? diskFullError(error) : error;
  }
}
