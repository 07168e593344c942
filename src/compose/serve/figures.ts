import type { Engine } from '../../engine/graph.ts';
import type { RefusedAgents } from '../../runtime/refused-agents.ts';
import type { ReplicaFigures } from '../../server/metrics.ts';
import type { Parts } from './wire-replica.ts';

/** The state of a management server that the metrics show and its API does not. */
interface ManagementFigures extends ReplicaFigures {
  /** Records that the store had lost and that were written again. */
  readonly refilled: number;
}

/** Returns what computes the figures. The time of the current admission is noted at each commit. */
export function createFigures(parts: Parts, refusedAgents: Pick<RefusedAgents, 'counts'>): () => ManagementFigures {
  const { engine, loop, replica, approvals, journal, clock } = parts;
  let admitted = replica.admitted();
  let admittedAt = clock.now();
  const note = (): void => {
    const now = replica.admitted();
    if (now.epoch === admitted.epoch && now.sequence === admitted.sequence) return;
    admitted = now;
    admittedAt = clock.now();
  };
  loop.addSink('readers', note);
  return () => {
    note();
    const { leads, problem, alive } = replica.view();
    return {
      leads,
      problem,
      alive,
      admitted,
      admittedAt,
      snapshots: { has: (cluster) => engine.inputs.snapshots.get('', cluster) !== undefined },
      heldByGuard: heldByGuard(engine),
      approvals: approvals.counts(),
      refusals: refusedAgents.counts(),
      refilled: journal.refilled(),
    };
  };
}

function heldByGuard(engine: Engine): ReadonlyMap<string, number> {
  const held = new Map<string, number>();
  for (const { value } of engine.indexes.held.members('all')) {
    if (value.type === 'held') held.set(value.reason, (held.get(value.reason) ?? 0) + 1);
  }
  return held;
}
