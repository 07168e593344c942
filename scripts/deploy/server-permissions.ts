import { leaseRights } from '../../src/compose/manifests/agent-rights.ts';
import type { Permission } from '../../src/compose/manifests/permission.ts';
import { type CustomKind, customKinds, engineGroups, engineKindRow } from '../../src/model/fleet/engine-kinds.ts';

const ENGINE_KINDS = resourcesOf(customKinds);
const MARKED_KINDS = resourcesOf(customKinds.filter((id) => engineKindRow(id).hasWrittenMetadata === true));

/** The kinds by their groups, without groups that have none of them. */
function resourcesOf(kinds: readonly CustomKind[]): readonly Pick<Permission, 'apiGroups' | 'resources'>[] {
  return engineGroups.flatMap((group) => {
    const rows = kinds.map(engineKindRow).filter((row) => row.group === group);
    return rows.length === 0 ? [] : [{ apiGroups: [group], resources: rows.map(({ plural }) => plural).sort() }];
  });
}

/** What the management server may do in its own namespace where its replicas elect their leader by a Lease; nothing otherwise. */
export const SERVER_LEASE: readonly Permission[] = leaseRights('fleetrelay-server');

/** What the management server may do in its cluster where it takes desired state from custom resources; nothing otherwise. */
export const SERVER_CUSTOM_RESOURCES: readonly Permission[] = [
  ...ENGINE_KINDS.map((kind) => ({
    ...kind,
    verbs: ['get', 'list', 'watch'],
    why: 'Desired state from custom resources.',
  })),
  ...ENGINE_KINDS.map(({ apiGroups, resources }) => ({
    apiGroups,
    resources: resources.map((resource) => `${resource}/status`),
    verbs: ['patch'],
    why: 'Status, and nothing but the status, of those objects.',
  })),
  ...MARKED_KINDS.map((kind) => ({
    ...kind,
    verbs: ['patch'],
    why: 'Labels that show how those objects are; annotations that ask for something are removed once it is done.',
  })),
  {
    apiGroups: ['events.k8s.io'],
    resources: ['events'],
    verbs: ['create', 'patch'],
    why: 'What `kubectl describe` shows of them.',
  },
];
