import type { KindState } from '../../model/agent.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import { kindOf, type ObjectKey } from '../../model/object-key.ts';
import type { Collection, Index, Reader } from '../collections/types.ts';
import type { ClusterValue } from '../fleet/clusters.ts';
import type { LiveReads } from '../fleet/live-reads.ts';
import type { SafeMode } from '../fleet/safe-mode.ts';
import { anyDoubt, type SourceProof } from '../fleet/sources.ts';
import type { SnapshotValue } from '../inputs.ts';
import type { Hold } from './decision.ts';

/** Collections that tell which clusters and kinds are visible. */
export interface Visibility {
  readonly safeMode: SafeMode;
  readonly clusters: Collection<ClusterValue>;
  readonly snapshots: Collection<SnapshotValue>;
  readonly kinds: Collection<KindState>;
  readonly liveReads: LiveReads;
  readonly doubts: Index<SourceProof>;
}

/** A change that is about to be decided for one key. */
interface Change {
  readonly key: ObjectKey;
  readonly type: 'object' | 'remove';
  /** Clusters that the key could have been computed from, now or when it was accepted. */
  readonly scope: readonly string[];
  readonly entry: LedgerEntry | undefined;
}

/** How many clusters a message names before it only counts them. */
const NAMED = 3;

/** Why a change waits: a cluster or kind that the key could have been computed from is not visible. Undefined: it need not wait. */
export function whyUnseen(read: Reader, visibility: Visibility, change: Change): Hold | undefined {
  return whyMissing(read, visibility, change) ?? whyUnread(read, visibility, change);
}

/** Also while nothing is missing in the scope: safe mode can be strict. */
function whyMissing(read: Reader, { safeMode }: Visibility, { scope, entry }: Change): Hold | undefined {
  const inForce = read.get(safeMode.mode, '', '')?.inForce ?? 'scoped';
  if (inForce === 'none') return undefined;
  if (inForce === 'strict') {
    const assumedWarm = entry === undefined ? [] : read.members(safeMode.bySnapshot, 'assumedWarm');
    const missing = [...read.members(safeMode.bySnapshot, 'missing'), ...assumedWarm].map(({ key }) => key);
    return missing.length === 0 ? undefined : held(missing, 'nothing changes', 'safe mode is strict');
  }
  const missing = scope.filter((cluster) => {
    const snapshot = read.get(safeMode.unseen, '', cluster)?.snapshot;
    return snapshot === 'missing' || (snapshot === 'assumedWarm' && entry !== undefined);
  });
  return missing.length === 0
    ? undefined
    : held(missing, 'it stays as it is', 'it could have been computed from what lives there');
}

function held(missing: readonly string[], what: string, why: string): Hold {
  return { reason: 'SafeMode', message: `${what} while the input snapshot of ${named(missing)} is missing: ${why}` };
}

function whyUnread(read: Reader, visibility: Visibility, { key, type, scope, entry }: Change): Hold | undefined {
  for (const cluster of scope) {
    const declared = read.get(visibility.clusters, '', cluster);
    const isRemoval = type === 'remove';
    if (declared === undefined) {
      if (entry !== undefined && anyDoubt(read, visibility.doubts)) return clusterInDoubt(cluster);
      continue;
    }
    if (isRemoval && declared.isLastKnownGood) return clusterInDoubt(cluster);
    const [unknown] = read.get(visibility.safeMode.unseen, '', cluster)?.unknownKinds ?? [];
    if (unknown !== undefined) return kindUnknown(cluster, unknown.kind, unknown.message);
    const isHere = read.get(visibility.snapshots, '', cluster) !== undefined;
    const unlisted = isRemoval && isHere ? unlistedKind(read, visibility, cluster, key) : undefined;
    if (unlisted !== undefined) return kindUnknown(cluster, unlisted, 'the cluster does not say that it was listed');
  }
  return undefined;
}

/** The first kind that a removal is concluded from and whose list is not complete: an incomplete list proves nothing. */
function unlistedKind(
  read: Reader,
  { kinds, liveReads }: Visibility,
  cluster: string,
  key: ObjectKey,
): string | undefined {
  return liveReads.neededFor(kindOf(key)).find((kind) => read.get(kinds, cluster, kind)?.state !== 'complete');
}

function kindUnknown(cluster: string, kind: string, message: string): Hold {
  const name = kind.slice(kind.indexOf('/') + 1);
  return {
    reason: 'KindUnknown',
    message: `${name} of cluster ${cluster} cannot be read, and what is not read is not gone${message === '' ? '' : `: ${message}`}`,
  };
}

function clusterInDoubt(cluster: string): Hold {
  return {
    reason: 'ClusterInDoubt',
    message: `it could have been computed from cluster ${cluster}, whose KubernetesCluster cannot be read just now`,
  };
}

function named(clusters: readonly string[]): string {
  const rest = clusters.length - NAMED;
  return `${clusters.slice(0, NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
