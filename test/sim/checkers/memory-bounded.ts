import { OF_PROCESS } from '../../../src/engine/deadlines.ts';
import type { Engine } from '../../../src/engine/graph.ts';
import { objectOf, parseJsonBytes } from '../../../src/model/text/json.ts';
import type { World } from '../world.ts';
import type { MakeChecker } from './checker.ts';

/**
 * What a server remembers has the size of what there is: a server that has lived through everything holds what one holds
 * that was just started, and after everything was taken away next to nothing is left, in its store too.
 */
export const memoryBounded: MakeChecker = (world, fail) => {
  let lived: ReadonlyMap<string, number> = new Map();
  return {
    name: 'memory bounded',
    atRest: (rest) => {
      // What servers know of a hostile cluster follows its word, within its quotas: that is checked elsewhere.
      if (world.hostile !== undefined) return;
      const now = sizesOf(world);
      if (rest === 'quiet') lived = now;
      if (rest === 'restarted') {
        const isWhole = world.agents.every(({ cluster }) => isDeclared(world, cluster.name));
        for (const [name, size] of lived) {
          if (!isWhole && OF_CLUSTERS.includes(name)) continue;
          const fresh = now.get(name) ?? 0;
          if (size > fresh + (PASSING[name] ?? 0)) fail(`${name} held ${size} before a restart and ${fresh} after it`);
        }
      }
      if (rest !== 'cleared') return;
      for (const [name, size] of now) {
        const most = LEFT[name] ?? 0;
        if (size > most) fail(`${name} holds ${size} after everything was taken away`);
      }
    },
  };
};

/** What may be left after everything was taken away, where that is something. */
const LEFT: Readonly<Record<string, number>> = {
  timers: 25,
  // The record of the outcomes of approvals stays.
  records: 21,
  // An agent of an unknown cluster asks again now and then, and each for a moment.
  streams: 4,
  clients: 4,
  // The policy stays, and so do the records of sources and of clusters that may reconnect.
  files: 1,
  documents: 1,
  policy: 1,
  statuses: 1,
  observed: 1,
  declarations: 1,
  lastKnownGood: 1,
  guardLimits: 1,
  fleet: 1,
  safeMode: 1,
  // When the safe start window of the process began, and when it ends.
  safeStart: 1,
  safeStartDeadline: 1,
  deadlines: 1,
  sources: 2,
  sourceProofs: 2,
  agents: 4,
  // An agent of an unknown cluster is told why, and so are those who look after it.
  refusals: 4,
  recentRemovals: 4,
};

/** What goes by itself as time passes, by how much at most. A removal counts until the window of the guards is over. */
const PASSING: Readonly<Record<string, number>> = { timers: 10, recentRemovals: 4, departures: 20 };

/** What is known of a cluster that is not registered any more is known to who knew it before, and of no use. */
const OF_CLUSTERS = ['ledger', 'decisions', 'outputs', 'agents', 'results', 'live', 'kinds'];

function isDeclared({ servers }: World, cluster: string): boolean {
  return servers.every(({ life }) => life()?.server?.engine.clusters.get('', cluster) !== undefined);
}

/** By what it is; of several servers the largest, but for what they share out among them. */
function sizesOf({ servers, memory, setting }: World): Map<string, number> {
  const sizes = new Map<string, number>();
  const add = (what: string, size: number): void => void sizes.set(what, size + (sizes.get(what) ?? 0));
  const note = (what: string, size: number): void => void sizes.set(what, Math.max(size, sizes.get(what) ?? 0));
  // In a store that others write to as well, evicted and lost records leave behind records that no other record names.
  if (!setting.shared) note('records', [...memory.copy()].filter(([key, { value }]) => !isPassing(key, value)).length);
  for (const { life } of servers) {
    const { server, relay, process } = life() ?? {};
    if (server === undefined || relay === undefined || process === undefined) continue;
    note('timers', process.timers());
    for (const [what, size] of engineSizes(server.engine)) note(what, size);
    const { streams, clients } = relay.stats();
    add('streams', streams);
    add('clients', clients.length);
  }
  return sizes;
}

/** Whether the server deletes a record after a time: a window of the guards, and the end of an approval. */
function isPassing(key: string, value: Uint8Array): boolean {
  if (!key.startsWith('approvals/')) return key.startsWith('windows/');
  return objectOf(parseJsonBytes(value)).ended === true;
}

function engineSizes({ inputs, domainInputs, derived }: Engine): (readonly [string, number])[] {
  const ofDomains = Object.values(domainInputs).flatMap((ofDomain) => Object.values(ofDomain));
  const collections = [...Object.values(inputs), ...ofDomains, ...derived].filter(
    ({ name }) => name !== inputs.elapsed.name,
  );
  // The moments that count from the start of a process have not passed yet for a server that was just started.
  const elapsed = inputs.elapsed.size() - inputs.elapsed.size(OF_PROCESS);
  return [
    [inputs.elapsed.name, elapsed],
    ...collections.map(({ name, size }) => [name, size()] as const),
    ...derived.map(({ name, failures }) => [`${name}.failures`, failures.size()] as const),
  ];
}
