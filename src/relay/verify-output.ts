import type { AgentHolding } from '../model/agent.ts';
import { snapshotDigest } from '../model/digest.ts';
import type { Digest } from '../model/ids.ts';
import { comparePositions, type SequencedDelta } from '../model/output.ts';

/** Why a delta cannot be accepted. */
export interface Objection {
  readonly reason: string;
  readonly message: string;
}

/**
 * Checks a delta against what the agent holds: it must come after it, start from it, and lead to the digest it names.
 * A keep of an entry that was on its way out calls that removal off, if the digest says that the server means it so.
 */
export function verifyOutput(delta: SequencedDelta, holding: AgentHolding): Objection | undefined {
  if (comparePositions(delta.position, holding.position) <= 0) {
    return {
      reason: 'OldPosition',
      message: `position ${text(delta.position)} does not come after ${text(holding.position)}`,
    };
  }
  if (delta.from !== holding.digest) {
    return { reason: 'DifferentBase', message: `it starts from ${delta.from}, held is ${holding.digest}` };
  }
  const held = heldAfter(delta, holding);
  if (snapshotDigest(held) === delta.to) return undefined;
  for (const { key, digest } of calledOff(delta, holding)) held.set(key, digest);
  if (snapshotDigest(held) === delta.to) return undefined;
  return { reason: 'DigestMismatch', message: 'it does not lead to the digest that it names' };
}

function heldAfter(delta: SequencedDelta, holding: AgentHolding): Map<string, Digest> {
  const held = new Map<string, Digest>();
  for (const { key, digest, phase } of holding.entries) if (phase === 'held') held.set(key, digest);
  for (const { key, digest } of delta.upserts) held.set(key, digest);
  for (const key of delta.removals) held.delete(key);
  return held;
}

function calledOff(delta: SequencedDelta, holding: AgentHolding): AgentHolding['entries'] {
  const kept = new Set<string>(delta.keeps.map(({ key }) => key));
  return holding.entries.filter(({ key, phase }) => phase === 'removing' && kept.has(key));
}

function text({ epoch, sequence }: SequencedDelta['position']): string {
  return `(${epoch}, ${sequence})`;
}
