import type { Collection, Derived, Graph } from '../../../engine/collections/types.ts';
import type { AdditionalKind, AgentNeeds } from '../../../model/agent/agent-settings.ts';
import type { JsonValue } from '../../../model/text/json.ts';
import type { CareTasks } from '../model/agent-tasks.ts';
import { type BoundShoot, isCaredFor } from './binding.ts';
import { MACHINE_KINDS, nodeKinds, nodeLeases } from './checks/every-node-ready/agent-needs.ts';
import { AUTHORITY_LABELS, SECRET_KIND } from './constraints/authorities.ts';
import { CONSTRAINED_KINDS } from './constraints/constraints.ts';
import { backupEntries, EXTENSION_GROUP, heartbeats } from './extensions.ts';
import { DEPLOYMENT_KIND, ETCD_KIND } from './objects/components.ts';
import { MANAGED_RESOURCE_KIND } from './objects/managed-resources.ts';
import { type CareSettingsRead, careSettingsOf } from './settings.ts';

interface Reads {
  readonly bindings: Derived<BoundShoot>;
  readonly settings: Collection<JsonValue>;
}

/** One Shoot, seen from one of its clusters. */
type Role = { readonly type: 'cluster' | 'seed'; readonly shoot: BoundShoot };

/** Derives what the agents of bound clusters do and report for care. Key: the cluster. */
export function deriveAgentNeeds(graph: Graph, { bindings, settings }: Reads) {
  const roles = graph.gather<BoundShoot, Role>({
    name: 'rolesOfClusters',
    from: bindings,
    compute: ({ value: shoot }, _read, emit) => {
      if (!isCaredFor(shoot) || shoot.elected !== undefined) return;
      emit('', shoot.cluster, { type: 'cluster', shoot });
      if (shoot.seed !== undefined) emit('', shoot.seed, { type: 'seed', shoot });
    },
  });
  const needs: Derived<AgentNeeds> = graph.derive<readonly { readonly value: Role }[], AgentNeeds>({
    name: 'careOfAgents',
    from: roles,
    reads: [settings],
    compute: ({ key: cluster, value }, read, emit) => {
      const policy = careSettingsOf(read, settings);
      const all = value.map((each) => each.value);
      const own = all.find(({ type }) => type === 'cluster')?.shoot;
      const controlPlanes = all.filter(({ type }) => type === 'seed').map(({ shoot }) => shoot.controlPlaneNamespace);
      emit('', cluster, {
        kinds: kindsOf(own, controlPlanes),
        settings: { care: tasksOf(own, controlPlanes, policy) },
      });
    },
  });
  return { needs, collections: [roles, needs] };
}

function kindsOf(own: BoundShoot | undefined, controlPlanes: readonly string[]): readonly AdditionalKind[] {
  return [
    ...(own === undefined ? [] : [...CONSTRAINED_KINDS.map((kind) => ({ kind })), ...nodeKinds(own)]),
    ...(controlPlanes.length === 0 ? [] : controlPlaneKinds([...new Set(controlPlanes)])),
  ];
}

/** What is read in the namespaces of control planes. */
function controlPlaneKinds(namespaces: readonly string[]): readonly AdditionalKind[] {
  const kinds = [ETCD_KIND, MANAGED_RESOURCE_KIND, ...MACHINE_KINDS];
  return [
    { kind: DEPLOYMENT_KIND },
    ...[...kinds, `${EXTENSION_GROUP}/*`].map((kind) => ({ kind, namespaces })),
    backupEntries(namespaces),
    { kind: SECRET_KIND, namespaces, labels: AUTHORITY_LABELS, metadataOnly: true },
  ];
}

function tasksOf(own: BoundShoot | undefined, controlPlanes: readonly string[], policy: CareSettingsRead): CareTasks {
  const { syncPeriodMillis } = policy;
  const probe = own === undefined ? {} : { apiServerProbe: { syncPeriodMillis, readyz: own.seed === undefined } };
  const remediator = own === undefined ? {} : remediatorOf(policy);
  const ofExtensions = controlPlanes.length === 0 ? [] : heartbeats(policy);
  const leases = [...(own === undefined ? [] : nodeLeases(own)), ...ofExtensions];
  const certificates = own !== undefined && own.seed === undefined;
  return { ...probe, ...remediator, leases, certificates, tunnel: own !== undefined && hasTunnel(own) };
}

/** The control plane in a Seed reaches the Nodes through it. */
function hasTunnel({ seed, pools }: BoundShoot): boolean {
  return seed !== undefined && pools.length > 0;
}

function remediatorOf({
  webhookRemediatorEnabled: isOn,
  webhookRemediatorDryRun: isDry,
}: CareSettingsRead): Pick<CareTasks, 'webhookRemediator'> {
  return isOn ? { webhookRemediator: isDry ? 'dryRun' : 'on' } : {};
}
