import type { AgentHolding, ObjectResult } from '../../../../src/model/agent/agent.ts';
import { liveObjectOf } from '../../../../src/model/objects/live-object.ts';
import type { ObjectKey } from '../../../../src/model/objects/object-key.ts';
import { sha256 } from '../../../../src/model/text/digest.ts';
import { canonicalJson } from '../../../../src/model/text/json.ts';
import type { InputSnapshot, RelayClient, ServerListener } from '../../../../src/relay/session.ts';
import type { Dice } from '../../core/dice.ts';
import { claimFor, lieAbout, type Surroundings } from './lies.ts';

/** How many holdings a hostile agent remembers, to show their tags again. */
const REMEMBERED = 6;

/**
 * The relay's client of a hostile agent: what it says of its holding, its input and its results is not so, and what it
 * answers to a delta is not what it does.
 */
export function lyingClient(client: RelayClient, dice: Dice, around: () => Surroundings): RelayClient {
  const past: AgentHolding[] = [];
  let told: AgentHolding | undefined;
  const tell = (own: AgentHolding): AgentHolding => {
    if (own.tag !== undefined && past.at(-1)?.tag !== own.tag) past.push(own);
    if (past.length > REMEMBERED) past.shift();
    told = lieAbout(own, { ...around(), dice, past });
    return told;
  };
  return {
    ...client,
    start: (listener) =>
      client.start({
        ...listener,
        claim: () => claimFor(tell(listener.holding())),
        // What it said in the hello, or after a delta that it did not take another lie.
        holding: () => {
          const said = told ?? tell(listener.holding());
          told = undefined;
          return said;
        },
        delta: lyingAnswer(listener, dice),
      }),
    report: (results) => client.report([...results, ...inventResults(dice)]),
    publishInput: (snapshot) => client.publishInput(withInvented(snapshot, dice)),
  };
}

/** It takes most deltas; it acknowledges some that it has not taken, and refuses some that it has. */
function lyingAnswer(listener: ServerListener, dice: Dice): ServerListener['delta'] {
  return async (delta, fleet) => {
    const mood = dice.int(10);
    if (mood === 0) return { accepted: true };
    const refusal = { accepted: false, reason: 'Nothing', message: 'x'.repeat(dice.int(5_000)) } as const;
    if (mood === 1) return refusal;
    const answer = await listener.delta(delta, fleet);
    return mood === 2 ? refusal : answer;
  };
}

const STATES = ['applied', 'failed', 'conflict', 'removing', 'removed'] as const;

function inventResults(dice: Dice): readonly ObjectResult[] {
  if (dice.chance(0.7)) return [];
  return Array.from({ length: 1 + dice.int(dice.chance(0.1) ? 2_000 : 40) }, (_, index) => ({
    key: `/ConfigMap/shop/invented-${index}` as ObjectKey,
    digest: sha256(`${index}`),
    state: dice.pick(STATES),
    reason: 'Invented',
    message: 'y'.repeat(dice.int(200)),
  }));
}

/** Live objects that are not there, sometimes more than its quota. */
function withInvented({ objects, kinds }: InputSnapshot, dice: Dice): InputSnapshot {
  if (dice.chance(0.5)) return { objects, kinds };
  const count = dice.chance(0.2) ? 400 : dice.int(50);
  const invented = Array.from({ length: count }, (_, index) => {
    const key = `/Service/shop/invented-${index}` as ObjectKey;
    const metadata = { name: `invented-${index}`, namespace: 'shop', annotations: { at: dice.id() } };
    const text = canonicalJson({ apiVersion: 'v1', kind: 'Service', metadata });
    return [key, liveObjectOf(key, sha256(text), text)] as const;
  });
  return { objects: new Map([...objects, ...invented]), kinds };
}
