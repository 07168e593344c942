import type { AgentDisk } from '../../../src/ports/agent-disk.ts';
import { createMemoryDisk, type MemoryDisk } from '../../support/agent-disk.ts';
import type { SimProcess } from '../core/process.ts';

/** An agent's disk, which outlasts its processes and may be torn. */
export interface SimDisk {
  open(process: SimProcess): AgentDisk;
  /** Removes the disk with all its files. */
  lose(): void;
  /** What was written last is back to what it was before, or cannot be read. */
  tear(): void;
  /** While true nothing can be written. */
  full(full: boolean): void;
}

export function createSimDisk(): SimDisk {
  let disk: MemoryDisk = createMemoryDisk();
  let before: MemoryDisk['stored'];
  return {
    lose: () => {
      disk = createMemoryDisk();
      before = undefined;
    },
    tear: () => {
      const torn = before;
      disk = createMemoryDisk();
      disk.stored = torn;
    },
    full: (full) => {
      disk.fault = full ? new Error('the disk is full') : undefined;
    },
    open: (process) => {
      const opened = disk;
      const api = opened.open();
      const writing = <Value>(write: () => Promise<Value>): Promise<Value> => {
        before = opened.stored;
        return write();
      };
      return {
        load: (position) => process.call(0, () => api.load(position)),
        append: (step) => process.write(0, () => writing(() => api.append(step))),
        replace: (output) => process.write(0, () => writing(() => api.replace(output))),
        close: () => process.call(0, () => api.close()),
      };
    },
  };
}
