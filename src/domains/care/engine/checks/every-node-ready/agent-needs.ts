import type { AdditionalKind } from '../../../../../model/agent/agent-settings.ts';
import type { JudgedLeases } from '../../../model/agent-tasks.ts';
import type { BoundShoot } from '../../binding.ts';
import { AGENT_LEASE_PREFIX, AGENT_LEASES, NODE_LEASES } from '../../leases.ts';
import { MACHINE_DEPLOYMENT_KIND, MACHINE_KIND } from './machines.ts';
import { CONFIG_LABELS, CONFIG_NAMESPACE, SECRET_KIND } from './pool-configs.ts';

/** The kinds that the check reads in the cluster of a Shoot. */
export function nodeKinds({ seed, pools }: BoundShoot): readonly AdditionalKind[] {
  if (seed === undefined || pools.length === 0) return [];
  return [{ kind: SECRET_KIND, namespaces: [CONFIG_NAMESPACE], labels: CONFIG_LABELS, metadataOnly: true }];
}

/** The kinds that the check reads in the namespace of a control plane. */
export const MACHINE_KINDS: readonly string[] = [MACHINE_DEPLOYMENT_KIND, MACHINE_KIND];

/** The Leases that the check reads in the cluster of a Shoot. */
export function nodeLeases({ seed, pools }: BoundShoot): readonly JudgedLeases[] {
  if (pools.length === 0) return [];
  const ofAgents = { namespace: AGENT_LEASES, namePrefix: AGENT_LEASE_PREFIX };
  return [{ namespace: NODE_LEASES }, ...(seed === undefined ? [] : [ofAgents])];
}
