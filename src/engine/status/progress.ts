import type { ObjectResult } from '../../model/agent.ts';
import type { Digest } from '../../model/ids.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import type { ObjectHealth } from '../../model/object-health.ts';
import type { Origin } from '../../model/output.ts';
import { unreachable } from '../../model/result.ts';
import type { Collection, Derived, Graph } from '../collections/types.ts';
import type { AgentValue } from '../inputs.ts';
import type { Output } from '../output/outputs.ts';

/** How far an output has got in its cluster. */
export const progressStates = [
  'applied',
  'pending',
  'failed',
  'conflict',
  'kept',
  'held',
  'removing',
  'paused',
  'unreachable',
] as const;
export type ProgressState = (typeof progressStates)[number];

/** One outcome for one object in one cluster. Partition: the cluster. Key: the object's. */
export interface Progress {
  readonly state: ProgressState;
  /** Constant word; empty when there is nothing to add. */
  readonly reason: string;
  readonly message: string;
  readonly digest: Digest | null;
  /** Of what is applied, as last seen; absent: not known. */
  readonly health?: ObjectHealth;
  readonly origins: readonly Origin[];
  /** It was computed from live state, now or when it was accepted; absent: it was not. */
  readonly isDerived?: true;
}

/** Group of all progress of one state in one cluster; with a source, of what came from it. */
export function progressGroup(cluster: string, state: ProgressState, source = ''): string {
  return `${source}/${cluster}/${state}`;
}

/** Group of all objects of one health in one cluster; with a source, of what came from it. */
export function healthGroup(cluster: string, state: ObjectHealth['state'], source = ''): string {
  return `${source}/${cluster}/${state}`;
}

/** Group of the derived objects of one document in one state, over all clusters. */
export function derivedGroup({ source, path }: Origin, state: ProgressState | ObjectHealth['state']): string {
  return `${source}\u0000${path}\u0000${state}`;
}

/** Joins what should be with what the agents reported. */
export function deriveProgress(
  graph: Graph,
  outputs: Collection<Output>,
  results: Collection<ObjectResult>,
  agents: Collection<AgentValue>,
  ledger: Collection<LedgerEntry>,
): Derived<Progress> {
  return graph.join<Output, ObjectResult, Progress>({
    name: 'progress',
    left: outputs,
    right: results,
    reads: [agents, ledger],
    compute: ({ partition: cluster, key, left: output, right: result }, read, emit) => {
      if (output === undefined || output.type === 'left') return;
      const connected = read.get(agents, '', cluster)?.connected === true;
      // A result speaks of what the cluster has accepted, and of nothing that it has lost or not yet been sent.
      const held = read.get(ledger, cluster, key);
      const isHeld = output.type !== 'object' || (held?.digest === output.digest && held.phase === 'accepted');
      const progress = progressOf(output, isHeld ? result : undefined, connected);
      const isDerived = output.type !== 'absent' && output.scope.length > 0;
      emit(cluster, key, isDerived ? { ...progress, isDerived } : progress);
    },
  });
}

function progressOf(
  output: Exclude<Output, { readonly type: 'left' }>,
  result: ObjectResult | undefined,
  connected: boolean,
): Progress {
  const { origins } = output;
  switch (output.type) {
    case 'object':
      // Who wants it as well, and is not whose it is, says nothing of how it is.
      return {
        ...objectProgress(output.digest, result, connected),
        digest: output.digest,
        origins: origins.slice(0, 1),
      };
    case 'keep':
      return { state: 'kept', reason: output.reason, message: output.message, digest: output.digest, origins };
    case 'held':
      return { state: 'held', reason: output.reason, message: output.message, digest: output.digest, origins };
    case 'absent':
      return { state: 'held', reason: output.reason, message: output.message, digest: null, origins };
    case 'remove':
    case 'removing':
      return { ...removalProgress(result, connected), digest: output.digest, origins };
    default:
      return unreachable(output);
  }
}

type Judged = Pick<Progress, 'state' | 'reason' | 'message' | 'health'>;

function objectProgress(digest: Digest, result: ObjectResult | undefined, connected: boolean): Judged {
  if (result !== undefined && result.digest === digest) {
    const { state, reason, message, health } = result;
    if (state === 'applied') return { state, reason: '', message: '', ...(health === undefined ? {} : { health }) };
    if (state === 'failed' || state === 'conflict' || state === 'paused') return { state, reason, message };
  }
  return connected ? underWay : outOfReach;
}

function removalProgress(result: ObjectResult | undefined, connected: boolean): Judged {
  if (result?.state === 'failed' || result?.state === 'paused') {
    return { state: result.state, reason: result.reason, message: result.message };
  }
  if (!connected) return outOfReach;
  const reported = result?.state === 'removing' ? result : undefined;
  return { state: 'removing', reason: reported?.reason ?? '', message: reported?.message ?? '' };
}

/** What every object says that is in one of these states. */
export const constantTrouble = {
  pending: { reason: '', message: '' },
  unreachable: { reason: 'AgentDisconnected', message: 'the agent is not connected' },
} as const satisfies { readonly [State in ProgressState]?: Pick<Progress, 'reason' | 'message'> };

const underWay: Judged = { state: 'pending', ...constantTrouble.pending };
const outOfReach: Judged = { state: 'unreachable', ...constantTrouble.unreachable };
