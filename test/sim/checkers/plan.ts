import type { PlannedObject } from '../../../src/engine/explain/plan.ts';
import type { SequencedDelta } from '../../../src/model/fleet/output.ts';
import { byAddress, linesOf, planFrom } from '../../support/plan-of-engine.ts';
import type { World } from '../world.ts';
import type { MakeChecker } from './checker.ts';

/** A plan of the revision that a server has observed last. */
interface Made {
  readonly server: string;
  readonly source: string;
  readonly revision: string;
  /** The state that was planned from. */
  readonly base: ReadonlyMap<string, string>;
  readonly paths: ReadonlySet<string>;
  readonly objects: readonly PlannedObject[];
  /** The clusters for which something was still to be sent before, or that had not taken what was sent last. */
  readonly unsettled: ReadonlySet<string>;
  /** By cluster, the deltas that have departed since. */
  readonly deltas: Map<string, readonly SequencedDelta[]>;
}

/** Inputs that the recorders of the same commit write, and that the commit has not read. */
const BOOKKEEPING = ['contenders', 'departures', 'heldRemovals', 'lastKnownGood', 'recentRemovals', 'sources'];

/**
 * With no other input in between, the delta that follows a revision is its plan. The plan is made from a recording of the state
 * before the revision, as a server makes it. If another input has changed in between, the checker does not judge the delta.
 * A change that is cut into several deltas is its plan with all of them.
 * Of several servers the leader admits later, and others have their own sources, so the law is of single servers.
 */
export const plan: MakeChecker = (world, fail) => {
  if (world.servers.length > 1) return { name: 'plan' };
  let made: Made | undefined;
  /** The clusters that have not taken the delta that was sent last: it may be refused or lost, and is sent again then. */
  const sent = new Set<string>();
  /** By cluster, how many changes had no room in the delta that was made last. */
  const rest = new Map<string, number>();
  world.listen((event) => {
    if (event.type === 'log' && event.line.message === 'a delta is sent') {
      rest.set(String(event.line.data.cluster), Number(event.line.data.rest));
    }
    if (event.type === 'taken') sent.delete(event.cluster.name);
    if (event.type === 'observed') {
      const server = serverOf(world);
      const { source, revision, changes } = event.said;
      made = undefined;
      if (server === undefined || server.engine.inputs.sources.get('', source)?.read !== true) return;
      const lines = linesOf(server.engine);
      const { objects } = planFrom(lines, source, changes).plan;
      made = {
        ...{ server: event.server, source, revision, objects, base: byAddress(lines) },
        paths: new Set(changes.map(({ path }) => path)),
        unsettled: new Set([...server.engine.pending.partitions(), ...sent]),
        deltas: new Map(),
      };
    }
    if (event.type !== 'departed') return;
    const { cluster, delta } = event;
    sent.add(cluster.name);
    if (made === undefined) return;
    const planned = made;
    const server = serverOf(world);
    if (server === undefined || planned.unsettled.has(cluster.name)) return;
    if (!delta.revisions.some(({ source, revision }) => source === planned.source && revision === planned.revision))
      return;
    if (moved(planned, byAddress(linesOf(server.engine)), cluster.name).length > 0) return;
    const deltas = [...(planned.deltas.get(cluster.name) ?? []), delta];
    planned.deltas.set(cluster.name, deltas);
    if (rest.get(cluster.name) !== 0) return;
    compared += 1;
    for (const problem of differences(planned, cluster.name, deltas)) {
      fail(`${cluster.name} is sent another delta than was planned for ${planned.revision.slice(0, 8)}: ${problem}`);
    }
  });
  return { name: 'plan' };
};

/** The number of deltas that were compared with a plan: a checker that compares nothing would find nothing. */
let compared = 0;
export const comparedDeltas = (): number => compared;

function serverOf({ servers }: World) {
  return servers[0]?.life()?.server;
}

/** The inputs that are different now, besides the files of the revision and what its own commit writes. */
function moved({ base, source, paths }: Made, now: ReadonlyMap<string, string>, cluster: string): readonly string[] {
  const addresses = new Set([...base.keys(), ...now.keys()]);
  return [...addresses].filter((address) => {
    if (base.get(address) === now.get(address)) return false;
    const [input = '', partition = '', key = ''] = JSON.parse(address) as readonly string[];
    if (BOOKKEEPING.includes(input) || (input === 'files' && partition === source && paths.has(key))) return false;
    // The delta itself is in flight now.
    return !(input === 'ledger' && partition === cluster);
  });
}

function differences({ objects, base }: Made, cluster: string, deltas: readonly SequencedDelta[]): readonly string[] {
  const upserts = deltas.flatMap((delta) => delta.upserts);
  const touches = deltas.flatMap((delta) => delta.touches);
  const removals = deltas.flatMap((delta) => delta.removals);
  const isUnproven = (key: string): boolean =>
    base.get(JSON.stringify(['ledger', cluster, key]))?.includes('"unproven":true') === true;
  const planned = objects.filter((each) => each.cluster === cluster);
  const keysOf = (...actions: readonly PlannedObject['action'][]): readonly string[] =>
    planned.filter(({ action }) => actions.includes(action)).map(({ key }) => key);
  return [
    ...unequal(
      'sent',
      keysOf('create', 'change'),
      upserts.map(({ key }) => key),
    ),
    ...unequal(
      'touched',
      keysOf('move'),
      // The touch of an unproven entry that stays proves it, and changes nothing.
      touches.map(({ key }) => key).filter((key) => !isUnproven(key) || !keysOf('stay').includes(key)),
    ),
    ...unequal('removed', keysOf('remove'), removals),
    ...planned.flatMap(({ key, after }) => {
      const sent = upserts.findLast((upsert) => upsert.key === key);
      const isSame = sent === undefined || JSON.stringify(sent.value) === JSON.stringify(after);
      return isSame ? [] : [`${key} has another content`];
    }),
  ];
}

function unequal(what: string, planned: readonly string[], done: readonly string[]): readonly string[] {
  return [
    ...planned.filter((key) => !done.includes(key)).map((key) => `${key} was to be ${what}, and is not`),
    ...done.filter((key) => !planned.includes(key)).map((key) => `${key} is ${what}, and was not planned`),
  ];
}
