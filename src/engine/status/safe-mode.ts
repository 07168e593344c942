import type { KindState } from '../../model/agent.ts';
import type { FleetPolicy } from '../../model/desired.ts';
import { compareText } from '../../model/json.ts';
import type { SafeModeValue, UnseenValue } from '../fleet/safe-mode.ts';
import type { Engine } from '../graph.ts';
import type { ConditionValue } from './conditions.ts';

/** A cluster that something waits for, because it cannot be seen. */
export interface SafeModeCause {
  readonly cluster: string;
  /** Constant word. */
  readonly reason: 'SnapshotMissing' | 'PresumedWarm' | 'KindsUnknown';
  /** What is held, and the ways out. */
  readonly message: string;
}

/** That safe mode holds something, and why. */
export interface SafeModeStatus {
  readonly mode: FleetPolicy['safeMode']['mode'];
  /** In canonical order of the clusters; never empty. */
  readonly causes: readonly SafeModeCause[];
}

/** What safe mode holds up; undefined while every cluster that matters is seen. Cost follows the unseen clusters. */
export function safeModeStatus(engine: Engine): SafeModeStatus | undefined {
  const mode = engine.safeMode.mode.get('', '');
  if (mode === undefined) return undefined;
  const causes = [...engine.safeMode.unseen.entries('')]
    .flatMap(({ key, value }) => causeOf(engine, mode, key, value) ?? [])
    .sort((a, b) => compareText(a.cluster, b.cluster));
  return causes.length === 0 ? undefined : { mode: mode.declared, causes };
}

/** Said of a cluster only while something waits for it. */
export function safeModeConditions(engine: Engine, cluster: string): readonly ConditionValue[] {
  const mode = engine.safeMode.mode.get('', '');
  const unseen = engine.safeMode.unseen.get('', cluster);
  if (mode === undefined || unseen === undefined) return [];
  const cause = causeOf(engine, mode, cluster, unseen);
  return cause === undefined
    ? []
    : [{ type: 'SafeMode', status: 'True', reason: cause.reason, message: cause.message }];
}

/** Said of the fleet, only while something waits. */
export function fleetSafeModeConditions(engine: Engine): readonly ConditionValue[] {
  const status = safeModeStatus(engine);
  if (status === undefined) return [];
  const message = status.causes.map(({ cluster, message: said }) => `${cluster}: ${said}`).join('; ');
  return [{ type: 'SafeMode', status: 'True', reason: status.causes[0]?.reason ?? 'SnapshotMissing', message }];
}

function causeOf(
  engine: Engine,
  mode: SafeModeValue,
  cluster: string,
  { snapshot, unknownKinds }: UnseenValue,
): SafeModeCause | undefined {
  const isRead = engine.indexes.ledgerByScope.count(cluster) > 0;
  if (snapshot === 'missing' && mode.inForce !== 'none') {
    const message = `no input snapshot of it is here: ${whatIsHeld(mode)}. ${waysOut(cluster)}`;
    return { cluster, reason: 'SnapshotMissing', message };
  }
  if (snapshot === 'presumed' && mode.inForce !== 'none' && (isRead || mode.inForce === 'strict')) {
    const message = `it was known before the store was lost, and no input snapshot of it is here: what clusters hold already stays as it is. ${waysOut(cluster)}`;
    return { cluster, reason: 'PresumedWarm', message };
  }
  const readers = engine.domains.flatMap(({ parts: { reading } }) => reading ?? []);
  const reading = readers.filter(({ clusters }) => clusters.count(cluster) > 0);
  if (unknownKinds.length === 0 || !(isRead || reading.length > 0)) return undefined;
  // What it holds was read once; no domain reads it now.
  const leaveOut = (reading.length > 0 ? reading : readers).map(({ wayOut }) => wayOut).join(', or ');
  const message = `${unknownKinds.map(kindText).join('; ')}: what is computed from it stays as it is. Let its agent list the kind, or ${leaveOut}`;
  return { cluster, reason: 'KindsUnknown', message };
}

function whatIsHeld({ declared, inForce }: SafeModeValue): string {
  if (inForce === 'strict') return 'no object of any cluster is changed';
  const held = 'what could have been computed from it stays as it is';
  return declared === 'off' ? `${held} until the safe start window is over` : held;
}

function waysOut(cluster: string): string {
  return `Ways out: bring its agent back; deregister it (fleetrelay cluster deregister ${cluster}); or set spec.skipWarming: true in its KubernetesCluster`;
}

function kindText({ kind, state, message }: KindState): string {
  const name = kind.slice(kind.indexOf('/') + 1);
  if (state === 'offered') return `${name} of it is left out of discovery`;
  return `${name} of it cannot be listed${message === '' ? '' : ` (${message})`}`;
}
