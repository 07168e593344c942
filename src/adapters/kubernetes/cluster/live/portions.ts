import type { KindNarrowing } from '../../../../model/agent/agent-settings.ts';
import { compareText } from '../../../../model/text/json.ts';
import { FLEET_LABEL } from '../stamp.ts';
import type { NarrowedPlan } from './kind-plan.ts';

/** What one follower of a kind asks for. */
export interface Portion {
  /** Equal portions have equal ids. */
  readonly id: string;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly metadataOnly: boolean;
  /** Only objects with the label of a fleet: what we own, also in namespaces that no entry names. */
  readonly own: boolean;
}

/** The portions of a kind. */
export interface Division {
  readonly portions: readonly Portion[];
  /** The Namespaces that are followed one by one, with their portion; a Namespace can have several. */
  readonly namespaces: readonly { readonly namespace: string; readonly id: string }[];
  /** Namespaces beyond `most`, which are not followed. */
  readonly cut: readonly string[];
  /** Whether one request for all namespaces would do for many, if the API server allows it. */
  readonly gains: boolean;
}

/** Most Namespaces that are followed one by one, to read less, where all of them could be followed at once. */
const FEW_NAMESPACES = 8;
/** Most portions of single Namespaces that are followed, of all kinds together. Each has a connection of about 150 KiB. */
export const MOST_CONNECTIONS = 2_000;

export type Connections = ReturnType<typeof createConnections>;

/** Counts the portions of single Namespaces that are followed of each kind. */
export function createConnections() {
  const used = new Map<string, number>();
  return {
    /** How many portions a kind may have beside the portions of other kinds. */
    leftFor(kind: string): number {
      const others = [...used].reduce((sum, [each, count]) => (each === kind ? sum : sum + count), 0);
      return Math.max(0, MOST_CONNECTIONS - others);
    },
    use(kind: string, count: number): void {
      if (count === 0) used.delete(kind);
      else used.set(kind, count);
    },
  };
}

/** Entries that ask for the same, in different Namespaces. */
interface Group {
  readonly labelSelector: string | undefined;
  readonly metadataOnly: boolean;
  /** Undefined: all. */
  namespaces: Set<string> | undefined;
}

/**
 * Divides what a plan takes into requests. A Namespace has a request of its own, so that a right in this Namespace suffices.
 * Many Namespaces share one request if `everywhere` (the agent may list all); undefined: that is not known yet, and no Namespace
 * is added until then.
 *
 * @param followed ids of the portions that are followed now
 * @param most of single Namespaces
 */
export function divideKind(
  { entries, owned }: NarrowedPlan,
  everywhere: boolean | undefined,
  followed: { readonly has: (id: string) => boolean },
  most: number,
): Division {
  const ours = { labelSelector: FLEET_LABEL, metadataOnly: false };
  const places = owned === 'everywhere' ? [undefined] : (owned ?? []);
  const portions: Portion[] = places.map((place) => portionOf(ours, place, true));
  const namespaces: { namespace: string; id: string }[] = [];
  const cut: string[] = [];
  let gains = false;
  for (const group of groupsOf(entries)) {
    const isLarge = group.namespaces !== undefined && group.namespaces.size > FEW_NAMESPACES;
    gains ||= isLarge;
    if (group.namespaces === undefined || (isLarge && everywhere === true)) {
      portions.push(portionOf(group));
      continue;
    }
    for (const namespace of [...group.namespaces].sort(compareText)) {
      const portion = portionOf(group, namespace);
      if (namespaces.length >= most) {
        cut.push(namespace);
        continue;
      }
      namespaces.push({ namespace, id: portion.id });
      if (!isLarge || everywhere === false || followed.has(portion.id)) portions.push(portion);
    }
  }
  return { portions, namespaces, cut, gains };
}

function groupsOf(entries: readonly KindNarrowing[]): Iterable<Group> {
  const groups = new Map<string, Group>();
  for (const { namespaces, labels, metadataOnly = false } of entries) {
    const labelSelector = labels && selectorOf(labels);
    const id = JSON.stringify([labelSelector, metadataOnly]);
    const known = groups.get(id);
    if (known === undefined) {
      groups.set(id, { labelSelector, metadataOnly, namespaces: namespaces && new Set(namespaces) });
    } else if (namespaces === undefined) known.namespaces = undefined;
    else for (const namespace of namespaces) known.namespaces?.add(namespace);
  }
  return groups.values();
}

function selectorOf(labels: Readonly<Record<string, string>>): string | undefined {
  const parts = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
  return parts.length === 0 ? undefined : parts.sort(compareText).join(',');
}

function portionOf(
  { labelSelector, metadataOnly }: { readonly labelSelector: string | undefined; readonly metadataOnly: boolean },
  namespace?: string,
  own = false,
): Portion {
  return {
    id: JSON.stringify([namespace ?? '', labelSelector ?? '', metadataOnly, own]),
    ...(namespace === undefined ? {} : { namespace }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
    metadataOnly,
    own,
  };
}
