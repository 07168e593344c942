import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
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
  /** Removals of a delta that the agent has refused. The server counts them as under way until it receives the refusal. */
  readonly refused: Set<ObjectKey>;
  isUnderWay: boolean;
  isAboutToLeave: boolean;
  isKnown: boolean;
  /** How many removals have left for it. */
  gone: number;
  /** What it was, in order of time. */
  past: readonly Sample[];
}

interface Sample extends Pick<Holding, 'isKnown' | 'gone'> {
  readonly at: number;
  readonly most: number;
  readonly least: number;
}

/** Greatest age of what a server that judges for others knows of their clusters, by the store. */
const HEARSAY_MS = 300_000;
/**
 * A server decides by what it knew when its commit began, which is done in slices within this time. What an agent has said to another
 * server is in the store within this time.
 */
const COMMIT_MS = 1_000;

export function followHoldings(world: World): Holdings {
  const all = new Map<string, Holding>();
  const of = (cluster: string): Holding => {
    const known = all.get(cluster) ?? {
      held: new Set(),
      sent: new Set(),
      going: new Set(),
      refused: new Set(),
      isUnderWay: false,
      isAboutToLeave: false,
      isKnown: false,
      gone: 0,
      past: [],
    };
    all.set(cluster, known);
    return known;
  };
  const countLeast = ({ held, going, refused }: Holding): number =>
    [...held].filter((key) => !going.has(key) && !refused.has(key)).length;
  const countMost = ({ held, sent, going }: Holding): number =>
    new Set([...held].filter((key) => !going.has(key)).concat([...sent])).size;
  const isOnly = world.setting.servers === 1;
  const agesMs = isOnly ? COMMIT_MS : HEARSAY_MS;
  const sample = (holding: Holding): Sample => {
    const { isKnown, gone } = holding;
    return { at: world.time.elapsed(), most: countMost(holding), least: countLeast(holding), isKnown, gone };
  };
  const note = (holding: Holding): void => {
    const last = holding.past.findLastIndex(({ at }) => at < world.time.elapsed() - agesMs);
    holding.past = [...holding.past.slice(Math.max(0, last)), sample(holding)];
  };
  /** What the judging server may take for the present, if that is at most so old. */
  const possible = (holding: Holding, ageMs = agesMs): readonly Sample[] => {
    const since = world.time.elapsed() - ageMs;
    const isRecent = (one: Sample | undefined): boolean => one === undefined || one.at >= since;
    // What was so when that time began was noted before it.
    const recent = holding.past.filter((one, index) => isRecent(one) || isRecent(holding.past[index + 1]));
    return [...recent, sample(holding)];
  };
  world.listen((event) => {
    if (event.type === 'storeLost' || event.type === 'evicted' || event.type === 'died') {
      for (const holding of all.values()) {
        holding.isKnown = false;
        note(holding);
      }
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
    holding.refused.clear();
    if (event.type === 'refused') for (const key of holding.going) holding.refused.add(key);
    if (event.type === 'departed') {
      for (const { key } of event.delta.upserts) holding.sent.add(key);
      for (const key of event.delta.removals) holding.going.add(key);
      holding.gone += event.delta.removals.length;
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
    most: (cluster) => Math.max(...possible(of(cluster)).map(({ most }) => most)),
    least: (cluster) => {
      const holding = of(cluster);
      const samples = possible(holding);
      const isKnown = possible(holding, COMMIT_MS).every((one) => one.isKnown);
      // What has left since then is on record as removed, and not owned.
      return isKnown ? Math.max(0, Math.min(...samples.map(({ least, gone }) => least - (holding.gone - gone)))) : 0;
    },
  };
}
