import type { TokenGenerations } from '../../src/relay/trust/tokens.ts';

/** Generations of tokens in memory, counted from one. */
export function createScriptedGenerations(): TokenGenerations {
  const known = new Map<string, number>();
  const listeners = new Set<(cluster: string) => void>();
  const set = (cluster: string, generation: number): void => {
    known.set(cluster, generation);
    for (const listener of listeners) listener(cluster);
  };
  const current = (cluster: string): number => known.get(cluster) ?? 0;
  return {
    current,
    async renew(cluster) {
      set(cluster, current(cluster) + 1);
      return current(cluster);
    },
    shown(cluster, generation) {
      if (generation > current(cluster)) set(cluster, generation);
    },
    watch(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
  };
}
