/**
 * The recorders of a commit run in this order, again after each round in which one of them has staged a change. Within a phase
 * their order does not matter: the simulation shuffles it.
 *
 * - `judgements`: moments that have passed, answers to requests, statuses that were written, clusters that may be judged. What
 *   they stage is an input of all that follows.
 * - `contenders`: which sources could still want an object. A removal is only judged against all of them.
 * - `approvals`: approvals that files declare are spent before what is held is noted.
 * - `holds`: what the guards hold.
 * - `declarations`: the accepted declarations, the guards' limits among them. Looser limits are on record only after all that was
 *   held under the limits before them.
 * - `deregistration`: ends of clusters, which forget the records of the phases before.
 * - `resources`: statuses that custom resources had when their declarations appeared. Sinks of the same commit write them.
 */
export const RECORDER_PHASES = [
  'judgements',
  'contenders',
  'approvals',
  'holds',
  'declarations',
  'deregistration',
  'resources',
] as const;

export type RecorderPhase = (typeof RECORDER_PHASES)[number];

/**
 * The sinks of a settled commit run in this order. Within a phase their order does not matter: the simulation shuffles it.
 *
 * - `permits`: which removals have passed the guards.
 * - `admission`: what this replica admits, and permits followers to remove; positions of later deltas follow from it.
 * - `windows`: counts of removals that agents will be sent.
 * - `deltas`: what agents are sent, and which sessions end.
 * - `readers`: statuses, Envoys, metrics, audit and recordings: they change nothing that others read.
 */
export const SINK_PHASES = ['permits', 'admission', 'windows', 'deltas', 'readers'] as const;

export type SinkPhase = (typeof SINK_PHASES)[number];

/** Arranges the members of a phase; tests shuffle them. */
export type Arrange = <Member>(members: readonly Member[]) => readonly Member[];

/** Holds members by phase, and lists them in the order of the phases. */
export function createPhases<Phase extends string, Member>(order: readonly Phase[], arrange: Arrange = (all) => all) {
  const byPhase = new Map<Phase, Member[]>(order.map((phase) => [phase, []]));
  let listed: readonly Member[] | undefined;
  return {
    add: (phase: Phase, member: Member): void => {
      byPhase.get(phase)?.push(member);
      listed = undefined;
    },
    all: (): readonly Member[] => {
      listed ??= [...byPhase.values()].flatMap((members) => arrange(members));
      return listed;
    },
  };
}
