import type { ConditionValue } from '../../model/conditions.ts';
import type { ObjectHealth } from '../../model/object-health.ts';
import { displayKey, type ObjectKey } from '../../model/object-key.ts';
import type { Entry, Index } from '../collections/types.ts';
import { type HealthCounts, healthStates, moving } from './health-counts.ts';
import { type Lookups, tally } from './lookups.ts';
import { healthGroup, type Progress } from './progress.ts';

/** How many objects a condition names before it only counts them. */
const NAMED = 3;

/** The health of what is applied in a cluster; of one source if given. `index`: groups are {@link healthGroup}. */
export function countHealth(look: Lookups, index: Index<Progress>, cluster: string, source?: string): HealthCounts {
  return tally(healthStates, (state) => look.count(index, healthGroup(cluster, state, source)));
}

/** The condition `Healthy` of a cluster; none where nothing is known of any object's health. */
export function healthyCondition(
  look: Lookups,
  index: Index<Progress>,
  cluster: string,
  counts: HealthCounts,
  connected: boolean,
): readonly ConditionValue[] {
  const all = healthStates.reduce((sum, state) => sum + counts[state], 0);
  if (all === 0) return [];
  const type = 'Healthy';
  const message = sentence(look, index, cluster, counts, all);
  if (!connected)
    return [{ type, status: 'Unknown', reason: 'AgentDisconnected', message: `as last seen: ${message}` }];
  if (counts.failed > 0) return [{ type, status: 'False', reason: 'ObjectsFailed', message }];
  if (moving(counts) > 0) return [{ type, status: 'False', reason: 'ObjectsInProgress', message }];
  if (counts.unknown > 0) return [{ type, status: 'Unknown', reason: 'HealthUnknown', message }];
  return [{ type, status: 'True', reason: 'Healthy', message }];
}

function sentence(look: Lookups, index: Index<Progress>, cluster: string, counts: HealthCounts, all: number): string {
  const head = `${counts.current} of ${all} healthy`;
  const others = all - counts.current;
  if (others === 0) return head;
  const named: string[] = [];
  for (const state of healthStates) {
    if (state === 'current' || named.length >= NAMED || counts[state] === 0) continue;
    named.push(...look.first(index, healthGroup(cluster, state), NAMED - named.length).map(nameOf));
  }
  const rest = others - named.length;
  return `${head}; ${named.join('; ')}${rest > 0 ? `; and ${rest} more` : ''}`;
}

function nameOf({ key, value: { health } }: Entry<Progress>): string {
  const said = health === undefined || health.message === '' ? '' : `: ${health.message}`;
  return `${displayKey(key as ObjectKey)} is ${health === undefined ? 'unknown' : WORDS[health.state]}${said}`;
}

const WORDS: Readonly<Record<ObjectHealth['state'], string>> = {
  current: 'healthy',
  failed: 'not well',
  inProgress: 'in progress',
  terminating: 'being deleted',
  unknown: 'unknown',
};
