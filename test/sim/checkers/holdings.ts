import type { ObjectKey } from '../../../src/model/object-key.ts';
import type { SimEvent, World } from '../world.ts';
import { isHostile } from './checker.ts';

/** How much the clusters own, by what their agents have taken; and by what was sent, where more may have been counted on. */
export interface Holdings {
  /** Keys that the agent of a cluster has said that it holds or taken since, and no later delta has removed. */
  held(cluster: string): ReadonlySet<ObjectKey>;
  /** Has a delta left for the cluster without a known outcome? */
  isUnderWay(cluster: string): boolean;
  /** Has a server decided to send the cluster a delta that has not left yet? Its removals are to be on record first. */
  isAboutToLeave(cluster: string): boolean;
  /** The most that the judging server may count as owned by a cluster. */
  most(cluster: string): number;
  /** The least: none of a cluster whose agent has reported nothing since a server may have forgotten it. */
  least(cluster: string): number;
}

interface Holding {
  readonly held: Set<ObjectKey>;
  /** What a delta that is under way brings, and what it takes away. */
  readonly sent: Set<ObjectKey>;
  readonly going: Set<ObjectKey>;
  isUnderWay: boolean;
  isAboutToLeave: boolean;
  isKnown: boolean;
  /** How much it was, in order of time. */
  past: readonly { readonly at: number; readonly most: number; readonly least: number }[];
}

/** A server that judges for others knows of their clusters what the store has brought it, which may be as old as this. */
const HEARSAY_MS = 300_000;

export function followHoldings(world: World): Holdings {
  const all = new Map<string, Holding>();
  const of = (cluster: string): Holding => {
    const known = all.get(cluster) ?? {
      held: new Set(),
      sent: new Set(),
      going: new Set(),
      isUnderWay: false,
      isAboutToLeave: false,
      isKnown: false,
      past: [],
    };
    all.set(cluster, known);
    return known;
  };
  const countLeast = ({ held, going }: Holding): number => [...held].filter((key) => !going.has(key)).length;
  const countMost = ({ held, sent, going }: Holding): number =>
    new Set([...held].filter((key) => !going.has(key)).concat([...sent])).size;
  const note = (holding: Holding): void => {
    if (world.setting.servers === 1) return;
    const at = world.time.elapsed();
    const last = holding.past.findLastIndex((one) => one.at < at - HEARSAY_MS);
    holding.past = [
      ...holding.past.slice(Math.max(0, last)),
      { at, most: countMost(holding), least: countLeast(holding) },
    ];
  };
  const recent = ({ past }: Holding): Holding['past'] => {
    const since = world.time.elapsed() - HEARSAY_MS;
    const isRecent = (index: number): boolean => (past[index]?.at ?? Number.POSITIVE_INFINITY) >= since;
    // What was so when that time began was noted before it.
    return past.filter((_, index) => isRecent(index) || isRecent(index + 1));
  };
  world.listen((event) => {
    if (event.type === 'storeLost' || event.type === 'evicted' || event.type === 'died') {
      for (const holding of all.values()) holding.isKnown = false;
    }
    if (event.type === 'log' && event.line.message === 'a delta is sent') {
      of(String(event.line.data.cluster)).isAboutToLeave = true;
    }
    if (!('cluster' in event) || event.type === 'offered' || event.type === 'wrote') return;
    const holding = of(event.cluster.name);
    holding.isAboutToLeave = false;
    if (isHostile(world, event.cluster)) {
      noteSent(holding, event);
      return;
    }
    if (event.type === 'departed') {
      for (const { key } of event.delta.upserts) holding.sent.add(key);
      for (const key of event.delta.removals) holding.going.add(key);
      holding.isUnderWay = true;
    } else {
      holding.sent.clear();
      holding.going.clear();
      holding.isUnderWay = false;
    }
    if (event.type === 'connected') {
      holding.isKnown = true;
      // The agent's word: it may have taken a delta in the moment in which its answer was lost.
      holding.held.clear();
      for (const { key, phase } of event.holding.entries) if (phase === 'held') holding.held.add(key);
    }
    if (event.type === 'taken') {
      for (const { key } of event.delta.upserts) holding.held.add(key);
      for (const key of event.delta.removals) holding.held.delete(key);
    }
    note(holding);
  });
  /** A hostile agent may hold all that it was ever sent, and show the tags of it; what else it says counts for nothing. */
  const noteSent = (holding: Holding, event: SimEvent): void => {
    if (event.type !== 'departed') return;
    for (const { key } of event.delta.upserts) holding.held.add(key);
    note(holding);
  };
  return {
    held: (cluster) => of(cluster).held,
    isUnderWay: (cluster) => of(cluster).isUnderWay,
    isAboutToLeave: (cluster) => of(cluster).isAboutToLeave,
    most: (cluster) => Math.max(countMost(of(cluster)), ...recent(of(cluster)).map(({ most }) => most)),
    least: (cluster) => {
      const holding = of(cluster);
      return holding.isKnown ? Math.min(countLeast(holding), ...recent(holding).map(({ least }) => least)) : 0;
    },
  };
}
