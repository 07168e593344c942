import type { Hold, LedgerEntry } from '../../model/ledger.ts';
import { kindOf, type ObjectKey } from '../../model/object-key.ts';
import type { Collection, Reader } from '../collections/types.ts';
import type { ClusterValue } from '../fleet/clusters.ts';
import type { LiveReads, SafeMode } from '../fleet/safe-mode.ts';
import type { SourceProofs } from '../fleet/sources.ts';
import type { EngineInputs } from '../inputs.ts';

/** The collections that say which clusters and kinds are visible. */
export interface Visibility extends EngineInputs {
  readonly safeMode: SafeMode;
  readonly clusters: Collection<ClusterValue>;
  readonly liveReads: LiveReads;
  readonly proofs: SourceProofs;
}

/** A change of one key. */
interface Change {
  readonly key: ObjectKey;
  readonly type: 'object' | 'remove';
  /** The clusters that the object can depend on, now or when it was accepted. */
  readonly scope: readonly string[];
  readonly entry: LedgerEntry | undefined;
}

/** A message names at most this many clusters, and counts the others. */
const NAMED = 3;

/** Why a change waits: a cluster or kind that it can depend on is not visible. Undefined: it need not wait. */
export function whyUnseen(read: Reader, visibility: Visibility, change: Change): Hold | undefined {
  return whyMissing(read, visibility, change) ?? whyUnread(read, visibility, change);
}

/** Waits for input snapshots: in strict mode of all clusters, otherwise of those in the scope. */
function whyMissing(read: Reader, { safeMode }: Visibility, { scope, entry }: Change): Hold | undefined {
  const inForce = read.get(safeMode.mode, '', '')?.inForce ?? 'scoped';
  if (inForce === 'none') return undefined;
  if (inForce === 'strict') {
    const assumedWarm = entry === undefined ? [] : read.members(safeMode.bySnapshot, 'assumedWarm');
    const missing = [...read.members(safeMode.bySnapshot, 'missing'), ...assumedWarm].map(({ key }) => key);
    return missing.length === 0 ? undefined : holdOf(missing, 'nothing changes', 'safe mode is strict');
  }
  const missing = scope.filter((cluster) => {
    const snapshot = read.get(safeMode.unseen, '', cluster)?.snapshot;
    return snapshot === 'missing' || (snapshot === 'assumedWarm' && entry !== undefined);
  });
  if (missing.length === 0) return undefined;
  return holdOf(missing, 'it stays as it is', 'it could have been computed from what lives there');
}

function holdOf(missing: readonly string[], what: string, why: string): Hold {
  const rest = missing.length - NAMED;
  const named = `${missing.slice(0, NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
  return { reason: 'SafeMode', message: `${what} while the input snapshot of ${named} is missing: ${why}` };
}

/** Waits for declarations of clusters, and for lists of kinds: an incomplete list proves no absence. */
function whyUnread(
  read: Reader,
  { clusters, snapshots, kinds, liveReads, proofs, safeMode }: Visibility,
  { key, type, scope, entry }: Change,
): Hold | undefined {
  const isRemoval = type === 'remove';
  for (const cluster of scope) {
    const declared = read.get(clusters, '', cluster);
    if (declared === undefined) {
      if (entry !== undefined && proofs.hasDoubt(read)) return clusterInDoubt(cluster);
      continue;
    }
    if (isRemoval && declared.isLastKnownGood) return clusterInDoubt(cluster);
    const [unknown] = read.get(safeMode.unseen, '', cluster)?.unknownKinds ?? [];
    if (unknown !== undefined) return kindUnknown(cluster, unknown.kind, unknown.message);
    if (!isRemoval || read.get(snapshots, '', cluster) === undefined) continue;
    const isListed = (kind: string): boolean => read.get(kinds, cluster, kind)?.state === 'complete';
    const unlisted = liveReads.neededFor(kindOf(key)).find((kind) => !isListed(kind));
    if (unlisted !== undefined) return kindUnknown(cluster, unlisted, 'the cluster does not say that it was listed');
  }
  return undefined;
}

function kindUnknown(cluster: string, kind: string, message: string): Hold {
  const name = kind.slice(kind.indexOf('/') + 1);
  const why = message === '' ? '' : `: ${message}`;
  return {
    reason: 'KindUnknown',
    message: `${name} of cluster ${cluster} cannot be read, and what is not read is not gone${why}`,
  };
}

function clusterInDoubt(cluster: string): Hold {
  const message = `it could have been computed from cluster ${cluster}, whose KubernetesCluster cannot be read just now`;
  return { reason: 'ClusterInDoubt', message };
}
