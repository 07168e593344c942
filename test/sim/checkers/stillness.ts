import { STATUS_BRANCH } from '../actors/server.ts';
import type { World } from '../world.ts';
import type { MakeChecker } from './checker.ts';

/**
 * Status is committed every two seconds at most, by the policy that holds here. A commit whose answer was lost is followed
 * by the next try, which may know more.
 */
const LEAST_MS = 900;
/** Time until another replica leads, in milliseconds. */
const HANDOVER_MS = 30_000;

/**
 * A server or agent without a change writes nothing: at rest no status is committed and no object is written, also after
 * a restart. In between, status is committed no more often than the policy permits.
 */
export const stillness: MakeChecker = (world, fail) => {
  let before: { readonly writes: number; readonly status: string } | undefined;
  let lastBranch: string | undefined;
  let lastTip: string | undefined;
  let lastAt = Number.NEGATIVE_INFINITY;
  let handedOver = 0;
  let lives: readonly unknown[] = [];
  /** A new process or a new leader does not know when the earlier one committed, whose push may still arrive. */
  const isHandedOver = (): boolean => {
    let at = 0;
    let is = false;
    const note = (what: unknown): void => {
      is ||= lives[at] !== what;
      at += 1;
    };
    // After every event of the world: it makes nothing while nothing has changed.
    for (const { life } of world.servers) {
      const now = life();
      if (now?.server === undefined) continue;
      note(now.process.name);
      note(now.server.replica.leads());
    }
    if (!is && at === lives.length) return false;
    lives = world.servers.flatMap(({ life }) => {
      const now = life();
      return now?.server === undefined ? [] : [now.process.name, now.server.replica.leads()];
    });
    return true;
  };
  return {
    name: 'stillness',
    stepped: () => {
      const at = world.time.elapsed();
      if (isHandedOver()) handedOver = at;
      const branch = world.repositories[0]?.remote.tip(STATUS_BRANCH);
      if (branch === lastBranch) return;
      lastBranch = branch;
      const tip = tipOf(world);
      if (tip === lastTip) return;
      if (at - lastAt < LEAST_MS && at - handedOver > HANDOVER_MS)
        fail(`status was committed twice within ${Math.round(at - lastAt)} ms`);
      lastTip = tip;
      lastAt = at;
    },
    atRest: (rest) => {
      const now = { writes: writesOf(world), status: statusOf(world) };
      if (rest === 'restarted' && before !== undefined) {
        if (now.writes !== before.writes) fail(`${now.writes - before.writes} writes in clusters after a restart`);
        if (now.status !== before.status) fail('status says something else after a restart, and nothing had changed');
      }
      before = now;
    },
  };
};

/** The last commit of a server on the status branch; people write there as well. */
function tipOf({ repositories }: World): string | undefined {
  const remote = repositories[0]?.remote;
  return remote?.history(STATUS_BRANCH).find((commit) => remote.message(commit).includes('Fleetrelay-Fleet:'));
}

/**
 * All of the status branch as one text. Without lines: they are found by reading a file again, which may have failed when
 * it was written, and nothing tells that it would not now.
 */
function statusOf({ repositories, setting, hostile, agents }: World): string {
  const remote = repositories[0]?.remote;
  const tip = remote?.tip(STATUS_BRANCH);
  const all = remote === undefined || tip === undefined ? {} : remote.files(tip);
  // Agents of several servers are away for longer than their absence can be kept from being news.
  const isOfOthers = (path: string): boolean =>
    agents.some(({ cluster }) => cluster !== hostile?.cluster && path === `clusters/${cluster.name}.yaml`);
  const isKept = ([path]: readonly [string, string]): boolean => {
    // Objects and revisions are in the hostile cluster too, and follow its word there.
    if (hostile !== undefined) return setting.servers === 1 && isOfOthers(path);
    return setting.servers === 1 || path.startsWith('objects/');
  };
  const files = Object.fromEntries(Object.entries(all).filter(isKept));
  return JSON.stringify(files, Object.keys(files).sort()).replace(/:\d+:\d+/g, '');
}

function writesOf({ agents, hostile }: World): number {
  return agents.reduce((sum, { cluster }) => sum + (cluster === hostile?.cluster ? 0 : cluster.writes), 0);
}
