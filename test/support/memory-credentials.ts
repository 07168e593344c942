import type { AgentCredentials, CredentialStore } from '../../src/ports/credentials.ts';

/** Credentials that several processes in one share. */
export interface MemoryCredentials {
  /** The store as one process sees it. */
  open(): CredentialStore;
  /** What is durable. */
  held: AgentCredentials | undefined;
  /** While it is set, nothing can be loaded or saved. */
  problem: string | undefined;
  /** Each pair and its roots that was saved, in order; a save that changes the requested key alone is left out. */
  readonly saved: AgentCredentials[];
}

export function createMemoryCredentials(): MemoryCredentials {
  let version = 0;
  const memory: MemoryCredentials = { open, held: undefined, problem: undefined, saved: [] };
  return memory;

  function open(): CredentialStore {
    let seen = 0;
    const check = (): void => {
      if (memory.problem !== undefined) throw new Error(memory.problem);
    };
    return {
      place: 'memory',
      load: async () => {
        check();
        seen = version;
        return memory.held;
      },
      save: async (credentials) => {
        check();
        if (seen !== version) throw new Error('memory was changed by another process');
        version += 1;
        seen = version;
        const before = memory.held;
        memory.held = { ...credentials };
        if (isSamePair(before, credentials)) return;
        memory.saved.push(memory.held);
      },
    };
  }
}

function isSamePair(before: AgentCredentials | undefined, { key, certificate, roots }: AgentCredentials): boolean {
  return key === (before?.key ?? '') && certificate === (before?.certificate ?? '') && roots === (before?.roots ?? '');
}
