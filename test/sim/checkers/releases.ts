import type { World } from '../world.ts';
import { followUnwritten } from './unwritten.ts';

/** What a line of a log says of a RemovalApproval. */
export interface Release {
  readonly name: string;
  /**
   * `again`: it has released something before. `unproven`: the same, but the store has become an older copy, and no agent that has
   * taken what was released before has been connected since; when one is, its server ends the approval.
   */
  readonly type: 'first' | 'again' | 'unproven';
}

interface Use {
  readonly at: number;
  readonly process: string;
  /** Clusters whose agents have taken removals that it has released. */
  readonly taken: Set<string>;
}

const BY_FILE = /\(RemovalApproval (\S+)\)$/;

/** Calls `released` whenever a server says that a RemovalApproval has released removals. */
export function followReleases(world: World, released: (release: Release) => void): void {
  const unwritten = followUnwritten(world);
  const uses = new Map<string, Use>();
  const clusters = new Map<string, ReadonlySet<string>>();
  let olderSince = Number.NEGATIVE_INFINITY;
  /** The clusters that were connected since then. */
  const connected = new Set<string>();
  const forgetUnwritten = (by: string): void => {
    for (const [name, { at, process }] of uses) if (process === by && at >= unwritten.since(by)) uses.delete(name);
  };
  const typeOf = (use: Use | undefined): Release['type'] => {
    if (use === undefined) return 'first';
    return use.at < olderSince && connected.isDisjointFrom(use.taken) ? 'unproven' : 'again';
  };
  world.listen((event) => {
    switch (event.type) {
      case 'approvalWritten':
        return void clusters.set(event.name, new Set(event.approval.removals.map(({ cluster }) => cluster)));
      case 'taken':
        for (const [name, { taken }] of uses)
          if (event.delta.removals.length > 0 && clusters.get(name)?.has(event.cluster.name))
            taken.add(event.cluster.name);
        return;
      case 'connected':
        return void connected.add(event.cluster.name);
      case 'storeLost':
        if (event.isOlderCopy !== true) return;
        olderSince = world.time.elapsed();
        return connected.clear();
      case 'died':
        return forgetUnwritten(event.process);
      case 'log': {
        const { message, data, process } = event.line;
        // What its turn had released without the store is void.
        if (message === 'this replica does not lead any more') return forgetUnwritten(process);
        const name = message === 'removals are approved' ? BY_FILE.exec(String(data.by))?.[1] : undefined;
        if (name === undefined) return;
        const use = uses.get(name);
        released({ name, type: typeOf(use) });
        uses.set(name, { at: world.time.elapsed(), process, taken: use?.taken ?? new Set() });
        return;
      }
      default:
        return;
    }
  });
}
