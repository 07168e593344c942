import { comparePositions } from '../../src/model/output.ts';
import type { AgentDisk, OutputStep, StoredOutput } from '../../src/ports/agent-disk.ts';

/** An agent's disk in memory; what is in `stored` outlasts the agent. */
export interface MemoryDisk {
  stored: StoredOutput | undefined;
  /** The next writes fail with this. */
  fault: Error | undefined;
  open(): AgentDisk;
}

export function createMemoryDisk(): MemoryDisk {
  /** What later steps were added to; the last that was kept is not among them. */
  const earlier: StoredOutput[] = [];
  const memory: MemoryDisk = { stored: undefined, fault: undefined, open };
  return memory;

  function open(): AgentDisk {
    return {
      load: async (position) => {
        const known = memory.stored === undefined ? [] : [...earlier, memory.stored];
        const found = known.findLast((stored) => comparePositions(stored.position, position) === 0);
        if (found !== undefined) memory.stored = found;
        return found;
      },
      append: async (step) => {
        const before = memory.stored;
        write(advance(before, step));
        if (before !== undefined) earlier.push(before);
      },
      replace: async (output) => {
        write(output);
        earlier.length = 0;
      },
      close: async () => {},
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
