import type { Engine } from '../../engine/graph.ts';
import type { AgentHolding } from '../../model/agent.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { Counted, Windows } from '../../runtime/removals/windows.ts';

/** Removals on their way, counted for the guards until it is known what became of them. */
export interface Leaving {
  /** A delta with these removals departs. Those that a person has approved are not counted. */
  depart(cluster: string, removals: readonly ObjectKey[]): void;
  /** What was counted for the delta that departs must be on record before it is sent; undefined: nothing was counted. */
  noted(cluster: string): Promise<unknown> | undefined;
  /** All of them were accepted. */
  accepted(cluster: string): void;
  /** The agent has said what it holds: what is still there has not left. */
  holds(cluster: string, holding: AgentHolding): void;
}

export function createLeaving(engine: Engine, windows: Windows): Leaving {
  const underWay = new Map<string, { readonly counted: Counted; readonly keys: readonly ObjectKey[] }>();
  return {
    depart: (cluster, removals) => {
      const keys = removals.filter((key) => engine.inputs.approvals.get(cluster, key) === undefined);
      underWay.set(cluster, { counted: windows.leaving(cluster, keys.length), keys });
    },
    noted: (cluster) => underWay.get(cluster)?.counted.noted(),
    accepted: (cluster) => void underWay.delete(cluster),
    holds: (cluster, { entries }) => {
      const left = underWay.get(cluster);
      underWay.delete(cluster);
      const held = new Set(entries.filter(({ phase }) => phase === 'held').map(({ key }) => key));
      left?.counted.settle(left.keys.filter((key) => !held.has(key)).length);
    },
  };
}
