import type { RevisionRef } from '../../../src/model/fleet/output.ts';
import type { Tree } from '../desired.ts';
import type { Vector } from '../oracle.ts';
import type { World } from '../world.ts';

/** What the servers have admitted so far, by what was seen at their sources. */
export interface Admitted {
  /**
   * What was meant by these revisions; a source that is not among them was not read, and is as it was admitted last.
   * Undefined if one of the revisions was never admitted.
   */
  vector(revisions: readonly RevisionRef[]): Vector | undefined;
}

const EMPTY: Tree = new Map();

export function followAdmitted(world: World): Admitted {
  const admitted = new Set<string>();
  const latest = new Map<string, Tree>();
  const treeOf = (source: string, revision: string): Tree =>
    world.repositories.find((repository) => repository.source === source)?.treeAt(revision) ?? EMPTY;
  world.listen((event) => {
    if (event.type !== 'observed') return;
    const { source, revision } = event.said;
    admitted.add(`${source} ${revision}`);
    latest.set(source, treeOf(source, revision));
  });
  return {
    vector: (revisions) => {
      if (!revisions.every(({ source, revision }) => admitted.has(`${source} ${revision}`))) return undefined;
      return world.repositories.map(({ source }) => {
        const said = revisions.find((ref) => ref.source === source);
        return said === undefined
          ? { source, tree: latest.get(source) ?? EMPTY, read: false }
          : { source, tree: treeOf(source, said.revision), read: true };
      });
    },
  };
}
