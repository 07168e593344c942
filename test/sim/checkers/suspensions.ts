import type { SequencedDelta } from '../../../src/model/fleet/output.ts';
import type { LogLine } from '../core/log.ts';
import type { SimEvent } from '../world.ts';
import type { MakeChecker } from './checker.ts';
import { followUnwritten } from './unwritten.ts';

type Suspended = Extract<SimEvent, { readonly type: 'suspended' }> & { readonly at: number };

/** Every replica has heard of it by then, if the store was there: word of a change may be lost, and is looked for anew. */
const HEARD_MS = 150_000;

/**
 * No server sends anything to a suspended cluster, or anything new of a suspended source to any cluster. This holds at
 * once for the server that received the request, soon for the others, and for every server that is started again.
 */
export const suspensions: MakeChecker = (world, fail) => {
  const unwritten = followUnwritten(world);
  const all = new Map<string, Suspended>();
  /** What each server has done last, of suspending and resuming something: of two requests at one time people hear in any order. */
  const done = new Map<string, string>();
  /** By living process, when it could write the store again after a failure; Infinity: it cannot yet. */
  const writesAgain = new Map<string, number>();

  const isHeard = ({ process, at }: Suspended, by: string): boolean => {
    if (by === process || world.setting.servers === 1) return true;
    return world.time.elapsed() > Math.max(at, ...writesAgain.values()) + HEARD_MS;
  };
  const judge = (cluster: string, { revisions }: SequencedDelta, by: string): void => {
    const stopped = all.get(`cluster ${cluster}`);
    if (stopped !== undefined && isHeard(stopped, by)) fail(`${cluster} is sent something, and it is suspended`);
    for (const { source, revision } of revisions) {
      const held = all.get(`source ${source}`);
      if (held === undefined || held.revision === revision || !isHeard(held, by)) continue;
      fail(`${cluster} is sent ${revision.slice(0, 8)} of ${source}, which is suspended`);
    }
  };
  const noteStore = ({ message, process }: LogLine): void => {
    if (message === 'the store cannot be written') writesAgain.set(process, Number.POSITIVE_INFINITY);
    if (message === 'the store can be written again') writesAgain.set(process, world.time.elapsed());
  };
  world.listen((event) => {
    switch (event.type) {
      case 'suspended': {
        const address = `${event.what} ${event.name}`;
        if (done.get(`${event.process} ${address}`) === 'resumed') return;
        // A second time it is only given another reason.
        if (!all.has(address)) all.set(address, { ...event, at: world.time.elapsed() });
        return;
      }
      case 'resumed':
        all.delete(`${event.what} ${event.name}`);
        return;
      case 'departed':
        judge(event.cluster.name, event.delta, event.process);
        return;
      case 'log':
        noteDone(done, event.line);
        noteStore(event.line);
        return;
      case 'died':
        // What it could not write is lost with it, and the server that is started next reads the store first.
        writesAgain.delete(event.process);
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
