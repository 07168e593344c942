import { describe, expect, it } from 'vitest';
import type { AgentHolding } from '../../../src/model/agent/agent.ts';
import { heldDigest } from '../../../src/model/agent/inventory-digest.ts';
import { createRelayHarness, EAST } from '../../support/relay-harness.ts';
import { deltaOf, type Outputs } from '../../support/relay-world.ts';

const NONE: Outputs = new Map();
const AB: Outputs = new Map([
  ['a', '2'],
  ['b', '1'],
]);

describe('the tag of the last output', () => {
  const HELD = { epoch: 1, sequence: 1 };
  const ADMITTED = { epoch: 1_700_000_000_000, sequence: 3 };
  const reconnected = async (
    provesInventory: boolean,
    lie: (claim: AgentHolding) => Partial<AgentHolding> = () => ({}),
  ) => {
    const world = await createRelayHarness();
    const { agent } = await world.connect();
    await world.owner.sessions
      .get(EAST)
      ?.session.send({ ...deltaOf(NONE, AB, HELD), admitted: ADMITTED }, provesInventory);
    const { holding } = agent;
    agent.holding = () => ({ ...holding(), ...lie(holding()) });
    world.network.cut();
    await world.clock.advance(1_000);
    return world.owner.sessions.get(EAST)?.holding.proof;
  };

  it('proves the position and the inventory in the next holding', async () => {
    expect(await reconnected(true)).toMatchObject({ type: 'inventory' });
  });

  it('proves the position alone where the server has not sent everything, or the contents were lost since', async () => {
    const lost = ({ entries: [first] }: AgentHolding) => ({ entries: [first!], digest: heldDigest([first!]) });
    expect(await reconnected(false)).toMatchObject({ type: 'position' });
    expect(await reconnected(true, lost)).toMatchObject({ type: 'position' });
  });

  it.each<[string, Partial<AgentHolding>]>([
    ['a higher sequence', { position: { epoch: 1, sequence: 2 } }],
    ['a higher epoch', { position: { epoch: 2, sequence: 1 } }],
    ['another admission', { admitted: { ...ADMITTED, sequence: 4 } }],
    ['another tag', { tag: '00'.repeat(64) }],
  ])('proves nothing together with %s', async (_what, lie) => {
    expect(await reconnected(true, () => lie)).toEqual({ type: 'nothing' });
  });
});
