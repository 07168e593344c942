import type { ObjectResult } from '../../model/agent.ts';
import type { Digest } from '../../model/ids.ts';
import type { ObjectHealth } from '../../model/object-health.ts';
import type { Origin } from '../../model/output.ts';
import { unreachable } from '../../model/result.ts';
import type { Collection, Derived, Graph, Index } from '../collections/types.ts';
import type { EngineInputs } from '../inputs.ts';
import type { Output } from '../output/outputs.ts';

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

/** The rollout state of one object in one cluster. Partition: the cluster. Key: the object's. */
export interface Progress {
  readonly state: ProgressState;
  /** Constant word; may be empty. */
  readonly reason: string;
  readonly message: string;
  readonly digest: Digest | null;
  /** Of an applied object, as last reported; absent: not known. */
  readonly health?: ObjectHealth;
  readonly origins: readonly Origin[];
  /** The object can depend on live state, now or when it was accepted. */
  readonly isDerived?: true;
}

/** Joins the outputs with the reports of the agents. */
export function deriveProgress(
  graph: Graph,
  outputs: Collection<Output>,
  { results, agents, ledger }: EngineInputs,
): Derived<Progress> {
  return graph.join<Output, ObjectResult, Progress>({
    name: 'progress',
    left: outputs,
    right: results,
    reads: [agents, ledger],
    compute: ({ partition: cluster, key, left: output, right: result }, read, emit) => {
      if (output === undefined || output.type === 'left') return;
      const connected = read.get(agents, '', cluster)?.connected === true;
      // A result is about content that the agent has accepted: not about content that is not sent yet, or lost in the cluster.
      const entry = read.get(ledger, cluster, key);
      const isAccepted = output.type !== 'object' || (entry?.digest === output.digest && entry.phase === 'accepted');
      const progress = progressOf(output, isAccepted ? result : undefined, connected);
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
    case 'object': {
      const { digest } = output;
      // Only the winning origin is reported.
      return { ...objectProgress(digest, result, connected), digest, origins: origins.slice(0, 1) };
    }
    case 'keep':
    case 'held':
    case 'absent': {
      const { type, reason, message } = output;
      const digest = type === 'absent' ? null : output.digest;
      return { state: type === 'keep' ? 'kept' : 'held', reason, message, digest, origins };
    }
    case 'remove':
    case 'removing':
      return { ...removalProgress(result, connected), digest: output.digest, origins };
    default:
      return unreachable(output);
  }
}

type Reported = Pick<Progress, 'state' | 'reason' | 'message' | 'health'>;

function objectProgress(digest: Digest, result: ObjectResult | undefined, connected: boolean): Reported {
  if (result !== undefined && result.digest === digest) {
    const { state, reason, message, health } = result;
    if (state === 'applied') return { state, reason: '', message: '', ...(health === undefined ? {} : { health }) };
    if (state === 'failed' || state === 'conflict' || state === 'paused') return { state, reason, message };
  }
  const state = connected ? 'pending' : 'unreachable';
  return { state, ...constantCause[state] };
}

function removalProgress(result: ObjectResult | undefined, connected: boolean): Reported {
  if (result?.state === 'failed' || result?.state === 'paused') {
    return { state: result.state, reason: result.reason, message: result.message };
  }
  if (!connected) return { state: 'unreachable', ...constantCause.unreachable };
  const reported = result?.state === 'removing' ? result : undefined;
  return { state: 'removing', reason: reported?.reason ?? '', message: reported?.message ?? '' };
}

/** Why an object is not applied. */
export type Cause = Pick<Progress, 'reason' | 'message'>;

/** The causes of the states in which all objects have the same one. */
export const constantCause: { readonly [State in ProgressState]?: Cause } & Readonly<
  Record<'pending' | 'unreachable', Cause>
> = {
  pending: { reason: '', message: '' },
  unreachable: { reason: 'AgentDisconnected', message: 'the agent is not connected' },
};

/** The objects of a cluster; with a source, those that come from it. */
export function clusterSubject(cluster: string, source = ''): string {
  return `${source}/${cluster}`;
}

/** The derived objects of a document, in all clusters. */
export function documentSubject({ source, path }: Origin): string {
  return `${source}\u0000${path}`;
}

/** The group of a subject's objects in a state, in the index of {@link indexProgress}. */
export function stateGroup(subject: string, state: ProgressState): string {
  return `${subject}\u0000${state}`;
}

/** The group of a subject's objects of a health, in the same index. */
export function healthGroup(subject: string, state: ObjectHealth['state']): string {
  return `${subject}\u0000health\u0000${state}`;
}

/** Indexes progress by subject and state, and by subject and health. */
export function indexProgress(graph: Graph, progress: Collection<Progress>): Index<Progress> {
  return graph.index('progressBySubject', progress, ({ partition: cluster, value }) => {
    const { state, health, origins, isDerived } = value;
    const subjects = [
      clusterSubject(cluster),
      ...origins.map(({ source }) => clusterSubject(cluster, source)),
      ...(isDerived === true ? origins.map(documentSubject) : []),
    ];
    return subjects.flatMap((subject) => [
      stateGroup(subject, state),
      ...(health === undefined ? [] : [healthGroup(subject, health.state)]),
    ]);
  });
}
