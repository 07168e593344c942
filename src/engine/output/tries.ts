import type { ObjectResult } from '../../model/agent/agent.ts';
import type { Digest } from '../../model/fleet/ids.ts';
import type { ObjectMeta } from '../../model/fleet/output.ts';
import type { Collection, Derived, Graph, Index } from '../collections/types.ts';
import type { AgentValue, AttemptRequest } from '../inputs.ts';

/** How an agent tries an object, as long as it has this content. */
export interface Tries extends Pick<ObjectMeta, 'stopped' | 'attempt'> {
  readonly digest: Digest;
}

interface Reads {
  readonly attempts: Collection<AttemptRequest>;
  readonly agents: Collection<AgentValue>;
  /** By cluster. */
  readonly unsettled: Index<ObjectResult>;
}

/** Indexes the results of objects that could not be applied or removed, by cluster. */
export function indexUnsettled(graph: Graph, results: Collection<ObjectResult>): Index<ObjectResult> {
  return graph.index<ObjectResult>('unsettledObjects', results, ({ partition, value }) =>
    isUnsettled(value) ? [partition] : [],
  );
}

/** Whether an agent could not apply or remove the object, and tries it again. */
export function isUnsettled({ state }: ObjectResult): boolean {
  return state === 'failed' || state === 'conflict' || state === 'removing';
}

/**
 * Derives the attempts that people have asked for, by cluster and object key: of an object that has failed since before that. What has
 * failed later was tried later.
 */
export function deriveAttempts(graph: Graph, { attempts, agents, unsettled }: Reads): Derived<Tries> {
  return graph.derive<AttemptRequest, Tries>({
    name: 'attemptsOfObjects',
    from: attempts,
    reads: [agents, unsettled],
    compute: ({ key: cluster, value: { all = 0, objects } }, read, emit) => {
      if (read.get(agents, '', cluster)?.takesAttempts !== true) return;
      for (const { key, value } of read.members(unsettled, cluster)) {
        const attempt = Math.max(all, objects[key] ?? 0);
        if (isBefore(value, attempt)) emit(cluster, key, { digest: value.digest, attempt });
      }
    },
  });
}

/** Whether the object had failed before this moment, in milliseconds since 1970. */
export function isBefore({ since = Number.POSITIVE_INFINITY }: ObjectResult, moment: number): boolean {
  return since < moment;
}
