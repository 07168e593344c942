import type { ReplicaView } from './replica.ts';
import type { Parts, ReplicaDeps, ReplicaOptions } from './replica-parts.ts';

/** What one of several replicas shows of itself. */
export function createReplicaView(deps: ReplicaDeps, { peers }: Pick<Parts, 'peers'>, options: ReplicaOptions) {
  const { events, role, candidacy, counter, staged } = deps;
  let isDown = false;
  events.on('store', ({ type }) => {
    if (type === 'down') isDown = true;
    if (type === 'up') isDown = false;
  });
  const problem = (leader: string | undefined): string => {
    const engine = staged.published()?.engine ?? options.engine;
    if (engine !== options.engine) return otherGeneration(engine, options.engine);
    if (isDown && options.needsStore)
      return 'the store does not answer: what was admitted is sent, and nothing new is admitted';
    return leader === undefined ? 'no replica leads just now: nothing new is admitted' : '';
  };
  return {
    isStoreDown: (): boolean => isDown,
    now: (): ReplicaView => {
      const leader = candidacy.leader();
      const address = leader === candidacy.id ? options.advertise : peers.get(leader ?? '')?.address;
      return {
        id: candidacy.id,
        leads: role.leads(),
        leader: leader === undefined ? null : { id: leader, address: address || null },
        admitted: counter.current(),
        alive: peers.alive().length + 1,
        problem: problem(leader),
      };
    },
  };
}

/** Why a replica sends nothing while the leader's engine is of another generation. */
export function otherGeneration(leaders: number, ours: number): string {
  return `OtherGeneration: what is admitted is computed by replicas of another version (engine ${leaders}, this one is ${ours}); it sends nothing until the leader is of its own`;
}
