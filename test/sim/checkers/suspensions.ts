import type { SequencedDelta } from '../../../src/model/output.ts';
import type { LogLine } from '../core/log.ts';
import type { SimEvent } from '../world.ts';
import type { MakeChecker } from './checker.ts';
import { followUnwritten } from './unwritten.ts';

type Suspended = Extract<SimEvent, { readonly type: 'suspended' }> & {
  readonly at: number;
  readonly underWay: string | undefined;
};

/** Every replica has heard of it by then, if the store was there: word of a change may be lost, and is looked for anew. */
const HEARD_MS = 150_000;

/**
 * No server sends anything to a suspended cluster, or anything new of a suspended source to any cluster. This holds at
 * once for the server that received the request, soon for the others, and for every server that is started again.
 */
export const suspensions: MakeChecker = (world, fail) => {
  const unwritten = followUnwritten(world);
  const all = new Map<string, Suspended>();
  /** The revision of each source that a server saw last, and may be committing when the source is suspended. */
  const latest = new Map<string, string>();
  /** What each server has done last, of suspending and resuming something: of two requests at one time people hear in any order. */
  const done = new Map<string, string>();
  let storeFailedAt = 0;

  const isHeard = ({ process, at }: Suspended, by: string): boolean => {
    if (by === process || world.setting.servers === 1) return true;
    return world.time.elapsed() > Math.max(at, storeFailedAt) + HEARD_MS;
  };
  const judge = (cluster: string, { revisions }: SequencedDelta, by: string): void => {
    const stopped = all.get(`cluster ${cluster}`);
    if (stopped !== undefined && isHeard(stopped, by)) fail(`${cluster} is sent something, and it is suspended`);
    for (const { source, revision } of revisions) {
      const held = all.get(`source ${source}`);
      if (held === undefined || held.revision === revision || held.underWay === revision || !isHeard(held, by))
        continue;
      fail(`${cluster} is sent ${revision.slice(0, 8)} of ${source}, which is suspended`);
    }
  };
  world.listen((event) => {
    switch (event.type) {
      case 'suspended': {
        const address = `${event.what} ${event.name}`;
        if (done.get(`${event.process} ${address}`) === 'resumed') return;
        // A second time it is only given another reason.
        // One of several servers admits it before all commit it.
        const underWay = world.setting.servers === 1 ? latest.get(event.name) : undefined;
        if (!all.has(address)) all.set(address, { ...event, underWay, at: world.time.elapsed() });
        return;
      }
      case 'observed':
        if (!all.has(`source ${event.said.source}`)) latest.set(event.said.source, event.said.revision);
        return;
      case 'resumed':
        all.delete(`${event.what} ${event.name}`);
        return;
      case 'departed':
        judge(event.cluster.name, event.delta, event.process);
        return;
      case 'log':
        noteDone(done, event.line);
        if (event.line.message === 'the store cannot be written') storeFailedAt = Number.POSITIVE_INFINITY;
        if (event.line.message === 'the store can be written again') storeFailedAt = world.time.elapsed();
        return;
      case 'died':
        for (const [address, { process, at }] of all) {
          // The server died before it wrote the suspension to the store: the next leader cannot read it there.
          if (process === event.process && at >= unwritten.since(process)) all.delete(address);
        }
        return;
      case 'storeLost':
      case 'evicted':
        // It is written again by a server that lives; who begins after that finds nothing.
        all.clear();
        return;
      default:
        return;
    }
  });
  return { name: 'suspensions' };
};

function noteDone(done: Map<string, string>, { message, process, data }: LogLine): void {
  if (message !== 'suspended' && message !== 'resumed') return;
  for (const what of ['cluster', 'source']) {
    if (data[what] !== undefined) done.set(`${process} ${what} ${String(data[what])}`, message);
  }
}
