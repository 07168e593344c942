import type { AgentHolding, HoldingClaim, InventoryEntry } from '../../../../src/model/agent/agent.ts';
import { heldDigest, inventoryDigest } from '../../../../src/model/agent/inventory-digest.ts';
import { parseSourceName } from '../../../../src/model/fleet/ids.ts';
import { claimOf, type OutputPosition } from '../../../../src/model/fleet/output.ts';
import type { ObjectKey } from '../../../../src/model/objects/object-key.ts';
import { sha256 } from '../../../../src/model/text/digest.ts';
import { compareText } from '../../../../src/model/text/json.ts';
import { must } from '../../../../src/model/values/result.ts';
import type { Dice } from '../../core/dice.ts';
import { BEGINNING } from '../../core/process.ts';

/** What a hostile agent knows of the world when it lies about its holding. */
export interface Surroundings {
  /** Milliseconds since the world began. */
  readonly elapsed: number;
  /** Tags of other clusters, which it should never have. */
  readonly stolenTags: readonly string[];
  readonly sources: readonly string[];
  readonly otherClusters: readonly string[];
}

interface Knowledge extends Surroundings {
  readonly dice: Dice;
  /** What it held before, with tags that are valid. */
  readonly past: readonly AgentHolding[];
}

const MOST = Number.MAX_SAFE_INTEGER;

const LIES: Readonly<Record<string, (own: AgentHolding, known: Knowledge) => AgentHolding>> = {
  none: (own) => own,
  'a later position': (own, known) => ({ ...own, position: laterThan(own.position, known) }),
  'a later admission': (own, known) => ({ ...own, admitted: laterThan(own.admitted ?? own.position, known) }),
  'both, under another tag': (own, known) => ({
    ...withTag(own, known),
    position: laterThan(own.position, known),
    admitted: laterThan(own.position, known),
  }),
  'another tag': withTag,
  'what it held before': (own, { past, dice }) => (past.length === 0 ? own : dice.pick(past)),
  'the tag of what it held before': (own, { past, dice }) => {
    if (past.length === 0) return own;
    return { ...own, ...claimOf(dice.pick(past)) };
  },
  'invented entries': (own, known) => withEntries(own, [...own.entries, ...invent(known)]),
  'invented entries alone': (own, known) => withEntries(own, invent(known)),
  nothing: (own) => withEntries(own, []),
  'another digest': (own, { dice }) => ({ ...own, digest: sha256(dice.id()) }),
};

/** A lie about the holding, which is `own`; in a third of the cases the truth. */
export function lieAbout(own: AgentHolding, known: Knowledge): AgentHolding {
  const { dice } = known;
  const kind = dice.chance(0.25) ? 'none' : dice.pick(Object.keys(LIES));
  return LIES[kind]?.(own, known) ?? own;
}

/** What its hello says of this holding. */
export function claimFor(holding: AgentHolding): HoldingClaim {
  return { ...claimOf(holding), digest: holding.digest, inventory: inventoryDigest(holding.entries) };
}

function laterThan({ epoch, sequence }: OutputPosition, { dice, elapsed }: Knowledge): OutputPosition {
  const now = BEGINNING + Math.floor(elapsed);
  return dice.pick<OutputPosition>([
    { epoch: MOST, sequence: MOST },
    { epoch: MOST, sequence: 0 },
    { epoch, sequence: MOST },
    { epoch: now + 3_600_000, sequence: 1 },
    { epoch, sequence: sequence + 1_000 },
    { epoch: now, sequence: sequence + 1 },
  ]);
}

function withTag(own: AgentHolding, { dice, past, stolenTags }: Knowledge): AgentHolding {
  const { tag: _, ...bare } = own;
  const tags = ['', dice.id() + dice.id(), ...stolenTags, ...past.flatMap((holding) => holding.tag ?? [])];
  const tag = dice.pick(tags);
  return tag === '' ? bare : { ...bare, tag };
}

function withEntries(own: AgentHolding, entries: readonly InventoryEntry[]): AgentHolding {
  const unique = [...new Map(entries.map((entry) => [entry.key, entry])).values()];
  const sorted = unique.sort((a, b) => compareText(a.key, b.key));
  return { ...own, entries: sorted, digest: heldDigest(sorted) };
}

function invent({ dice, sources, otherClusters }: Knowledge): readonly InventoryEntry[] {
  const most = dice.chance(0.1) ? 400 : 60;
  const path = dice.pick(['gone.yaml', 'apps/a/one.yaml', 'fleet/policy.yaml']);
  const origins = dice.chance(0.3) ? [] : [{ source: must(parseSourceName(dice.pick(sources))), path }];
  return Array.from({ length: 1 + dice.int(most) }, (_, index): InventoryEntry => {
    const key = `${index % 20 === 0 ? '/Namespace/' : '/ConfigMap/shop'}/invented-${index}` as ObjectKey;
    const phase = dice.chance(0.9) ? 'held' : 'removing';
    const scope = dice.chance(0.2) ? (otherClusters as InventoryEntry['scope']) : [];
    return { key, digest: sha256(dice.id()), phase, origins, scope, ...(dice.chance(0.2) ? { lost: true } : {}) };
  });
}
