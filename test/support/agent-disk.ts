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
  const memory: MemoryDisk = { stored: undefined, fault: undefined, open };
  return memory;

  function open(): AgentDisk {
    return {
      load: async (position) =>
        memory.stored !== undefined && comparePositions(memory.stored.position, position) === 0
          ? memory.stored
          : undefined,
      append: async (step) => write(advance(memory.stored, step)),
      replace: async (output) => write(output),
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
