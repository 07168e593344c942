import { comparePositions, type OutputPosition } from '../../src/model/fleet/output.ts';
import type { ObjectKey } from '../../src/model/objects/object-key.ts';
import type { AgentDisk, OutputStep, StoredObject, StoredOutput } from '../../src/ports/agent-disk.ts';

/** An agent's disk in memory; what is in `stored` outlasts the agent. */
export interface MemoryDisk {
  stored: StoredOutput | undefined;
  /** The next writes fail with this. */
  fault: Error | undefined;
  /** Keys of objects that cannot be read any more. */
  readonly unreadable: Set<ObjectKey>;
  open(): AgentDisk;
}

export function createMemoryDisk(): MemoryDisk {
  /** What later steps were added to; the last that was kept is not among them. */
  const earlier: StoredOutput[] = [];
  const memory: MemoryDisk = { stored: undefined, fault: undefined, unreadable: new Set(), open };
  return memory;

  function at(position: OutputPosition): StoredOutput | undefined {
    const known = memory.stored === undefined ? [] : [...earlier, memory.stored];
    return known.findLast((stored) => comparePositions(stored.position, position) === 0);
  }

  function open(): AgentDisk {
    /** The next step starts from what is stored. */
    let isLoaded = false;
    /** What the first step started from: it is undone by another one from there. */
    let start: OutputPosition | undefined;
    return {
      load: async (position) => {
        const found = at(position);
        isLoaded = found !== undefined;
        if (found !== undefined) memory.stored = found;
        return found;
      },
      append: async (step) => {
        const isFirst = !isLoaded || (start !== undefined && comparePositions(start, step.after) === 0);
        const before = isFirst ? undefined : at(step.after);
        if (!isFirst && before === undefined) throw new Error('the step starts from another output');
        write(advance(before, step));
        start = before === undefined ? step.after : undefined;
        if (before === undefined) earlier.length = 0;
        else earlier.push(before);
        isLoaded = true;
        return new Map(step.put.map((object) => [object.key, readFrom(object)]));
      },
      replace: async (output) => {
        write(output);
        earlier.length = 0;
        isLoaded = true;
        return output.objects;
      },
      close: async () => {},
    };
  }

  function readFrom({ key, digest, value }: OutputStep['put'][number]): StoredObject {
    return {
      digest,
      get value() {
        if (memory.unreadable.has(key)) throw new Error(`${key} cannot be read`);
        return value;
      },
    };
  }

  function write(next: StoredOutput): void {
    if (memory.fault !== undefined) throw memory.fault;
    memory.stored = next;
  }
}

function advance(before: StoredOutput | undefined, step: OutputStep): StoredOutput {
  const objects = new Map(before?.objects);
  for (const { key, digest, value } of step.put) objects.set(key, { digest, value });
  for (const key of step.drop) objects.delete(key);
  return { position: step.position, digest: step.digest, objects };
}
