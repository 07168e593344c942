import type { Change } from '../../engine/collections/types.ts';
import type { Engine } from '../../engine/graph.ts';
import { routesTo } from '../../engine/placement/assignments.ts';
import { type PlacementStatus, placementStatus } from '../../engine/status/placements.ts';
import type { Progress } from '../../engine/status/progress.ts';

/** The status of Placements, worked out anew only for those whose objects have moved. */
export interface PlacementStatuses {
  /** After each commit. */
  note(): void;
  get(name: string): PlacementStatus | undefined;
}

export function createPlacementStatuses(engine: Engine): PlacementStatuses {
  const placements = engine.graph.watch(engine.placements);
  const progress = engine.graph.watch(engine.progress);
  const known = new Map<string, PlacementStatus | undefined>();
  return {
    note: () => {
      for (const { key } of placements.take()) known.delete(key);
      const moved = progress.take();
      if (known.size === 0) return;
      const seen = new Set<string>();
      for (const change of moved) {
        for (const path of pathsOf(change)) {
          const place = `${change.partition}\u0000${path}`;
          if (seen.has(place)) continue;
          seen.add(place);
          for (const route of routesTo(change.partition, path, engine.placementsByFolder)) {
            if (route.type === 'placement') known.delete(route.name);
          }
        }
      }
    },
    get: (name) => {
      if (!known.has(name)) known.set(name, placementStatus(engine, name));
      return known.get(name);
    },
  };
}

function pathsOf({ before, after }: Change<Progress>): readonly string[] {
  return [...(before?.origins ?? []), ...(after?.origins ?? [])].map(({ path }) => path);
}
