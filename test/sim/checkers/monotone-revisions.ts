import { type AdmissionPosition, comparePositions, type OutputPosition } from '../../../src/model/fleet/output.ts';
import type { MakeChecker } from './checker.ts';

/** An agent's position never decreases, and neither does the admission that it was computed from. */
export const monotoneRevisions: MakeChecker = (world, fail) => {
  const highest = new Map<string, { position: OutputPosition; admitted: AdmissionPosition | undefined }>();
  return {
    name: 'monotone revisions',
    stepped: () => {
      for (const { cluster } of world.agents) {
        const state = cluster.memory.inventory.current?.state;
        if (state === undefined) continue;
        const { position, admitted } = state;
        const before = highest.get(cluster.name);
        if (before?.position === position) continue;
        if (before !== undefined && comparePositions(position, before.position) < 0) {
          fail(`the position of ${cluster.name} decreased from ${textOf(before.position)} to ${textOf(position)}`);
        }
        if (
          before?.admitted !== undefined &&
          admitted !== undefined &&
          comparePositions(admitted, before.admitted) < 0
        ) {
          fail(`the admission of ${cluster.name} decreased from ${textOf(before.admitted)} to ${textOf(admitted)}`);
        }
        highest.set(cluster.name, { position, admitted: admitted ?? before?.admitted });
      }
    },
  };
};

function textOf({ epoch, sequence }: OutputPosition): string {
  return `(${epoch}, ${sequence})`;
}
