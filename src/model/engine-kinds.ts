/** What is known of a kind that the engine reads from a source and never ships to a cluster. */
interface EngineKindRow {
  readonly group: string;
  /** Versions that are read. The CustomResourceDefinition has the first one. */
  readonly versions: readonly [string, ...string[]];
  readonly kind: string;
  readonly plural: string;
  /** As kubectl and `fleetrelay explain` understand them. */
  readonly shortNames: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
  /** File in `schemas/`. */
  readonly schema: string;
  /** Entry in the table of decoders in `manifest/kinds/decoders.ts`. */
  readonly decoder: string;
  /** Documents with a `type` instead of `apiVersion` and `kind`, as Kuma writes them outside Kubernetes, are read too. */
  readonly hasUniversalForm: boolean;
  /** Which declarations are of one thing: see {@link declarationKey}. */
  readonly keyedBy: 'name' | 'namespaceAndName' | 'fleet';
  /** A declaration that cannot be read any more stays in force as last known good. */
  readonly holdsAsLastKnownGood: boolean;
  /** Has a CustomResourceDefinition, and can be read from a cluster; otherwise from git and files only. */
  readonly isCustomResource: boolean;
  /** Another project defines it: its fields that are not known here are kept, and its controllers write status too. */
  readonly isForeign: boolean;
  /** Types of the conditions that are ours in its status. One that does not apply any more is removed; others are left. */
  readonly ownConditions: readonly string[];
  /**
   * By which rules its conditions are written: `metav1.Condition` if left out. Those of Gardener have `lastUpdateTime` and
   * `codes`, may be `Progressing`, and have no `observedGeneration`.
   */
  readonly conditionForm?: 'gardener';
  /** Labels and annotations of its custom resources are written as well: the server needs the right to patch them. */
  readonly hasWrittenMetadata?: true;
  /** Kinds (`group/Kind`) of live objects that the engine reads for it: agents must be able to list them. */
  readonly discovers: readonly string[];
  /** Path of its file on the status branch with KIND, NAMESPACE and NAME; `declared/KIND/NAMESPACE/NAME.yaml` if left out. */
  readonly statusPath?: string;
  /** Its file on the status branch has the condition `Accepted` only while that is not True: that there is a file says it. */
  readonly isAcceptedByListing?: true;
  /** For the table in the README. */
  readonly purpose: string;
}

const SUMMARY = ['Accepted', 'Ready', 'Reconciling', 'Stalled'] as const;

/**
 * The kinds that the engine reads, by id: the kind, spelled `group/Kind` if two groups have one of the same name. This is
 * the only list of them; decoding, custom resources, rights, status and documentation derive from it.
 */
export const engineKinds = {
  KubernetesCluster: {
    group: 'admin.gloo.solo.io',
    versions: ['v2'],
    kind: 'KubernetesCluster',
    plural: 'kubernetesclusters',
    shortNames: ['kcl'],
    scope: 'Namespaced',
    schema: 'kubernetes-cluster.json',
    decoder: 'cluster',
    hasUniversalForm: false,
    keyedBy: 'name',
    holdsAsLastKnownGood: true,
    isCustomResource: true,
    isForeign: false,
    ownConditions: [...SUMMARY, 'ClusterWarm', 'Connected', 'InSync', 'Discovered', 'Healthy', 'Declared', 'SafeMode'],
    discovers: [],
    statusPath: 'clusters/NAME.yaml',
    isAcceptedByListing: true,
    purpose: 'registers a workload cluster; Placements select by its labels',
  },
  Placement: {
    group: 'fleetrelay.dev',
    versions: ['v1alpha1'],
    kind: 'Placement',
    plural: 'placements',
    shortNames: ['plc'],
    scope: 'Namespaced',
    schema: 'placement.json',
    decoder: 'placement',
    hasUniversalForm: false,
    keyedBy: 'name',
    holdsAsLastKnownGood: true,
    isCustomResource: true,
    isForeign: false,
    ownConditions: [...SUMMARY, 'ClustersSelected'],
    discovers: [],
    purpose: 'sends the documents under its paths to the selected clusters',
  },
  ServiceMirror: {
    group: 'fleetrelay.dev',
    versions: ['v1alpha1'],
    kind: 'ServiceMirror',
    plural: 'servicemirrors',
    shortNames: ['smir'],
    scope: 'Namespaced',
    schema: 'service-mirror.json',
    decoder: 'mirror',
    hasUniversalForm: false,
    keyedBy: 'name',
    holdsAsLastKnownGood: true,
    isCustomResource: true,
    isForeign: false,
    ownConditions: [...SUMMARY, 'ClustersSelected'],
    discovers: ['/Service', 'discovery.k8s.io/EndpointSlice'],
    purpose: 'makes Services of some clusters known in others',
  },
  FleetPolicy: {
    group: 'fleetrelay.dev',
    versions: ['v1alpha1'],
    kind: 'FleetPolicy',
    plural: 'fleetpolicies',
    shortNames: ['fpol'],
    scope: 'Namespaced',
    schema: 'fleet-policy.json',
    decoder: 'policy',
    hasUniversalForm: false,
    keyedBy: 'fleet',
    holdsAsLastKnownGood: true,
    isCustomResource: true,
    isForeign: false,
    ownConditions: SUMMARY,
    discovers: [],
    purpose: 'sets guards, safe mode, status and discovery; one per fleet',
  },
  RemovalApproval: {
    group: 'fleetrelay.dev',
    versions: ['v1alpha1'],
    kind: 'RemovalApproval',
    plural: 'removalapprovals',
    shortNames: [],
    scope: 'Namespaced',
    schema: 'removal-approval.json',
    decoder: 'approval',
    hasUniversalForm: false,
    keyedBy: 'name',
    holdsAsLastKnownGood: false,
    isCustomResource: false,
    isForeign: false,
    ownConditions: SUMMARY,
    discovers: [],
    purpose: 'approves removals that a guard holds',
  },
  Dataplane: {
    group: 'kuma.io',
    versions: ['v1alpha1'],
    kind: 'Dataplane',
    plural: 'dataplanes',
    shortNames: ['dp'],
    scope: 'Namespaced',
    schema: 'dataplane.json',
    decoder: 'dataplane',
    hasUniversalForm: true,
    keyedBy: 'namespaceAndName',
    holdsAsLastKnownGood: true,
    isCustomResource: true,
    isForeign: true,
    ownConditions: ['Accepted'],
    discovers: [],
    purpose: 'Kuma: a data plane proxy and what it serves',
  },
  Shoot: {
    group: 'core.gardener.cloud',
    versions: ['v1beta1'],
    kind: 'Shoot',
    plural: 'shoots',
    shortNames: [],
    scope: 'Namespaced',
    schema: 'shoot.json',
    decoder: 'shoot',
    hasUniversalForm: false,
    keyedBy: 'namespaceAndName',
    holdsAsLastKnownGood: true,
    isCustomResource: true,
    isForeign: true,
    ownConditions: ['Accepted'],
    conditionForm: 'gardener',
    hasWrittenMetadata: true,
    discovers: [],
    purpose: 'Gardener: a cluster and how it is run',
  },
} as const satisfies Readonly<Record<string, EngineKindRow>>;

/** The id of a kind in {@link engineKinds}. */
export type EngineKind = keyof typeof engineKinds;

/** The id of a decoder: `manifest/kinds/decoders.ts` must have them all. */
export type DecoderId = (typeof engineKinds)[EngineKind]['decoder'];

/** The kinds that can be custom resources. */
export type CustomKind = {
  [Kind in EngineKind]: (typeof engineKinds)[Kind]['isCustomResource'] extends true ? Kind : never;
}[EngineKind];

/** All ids, in the order of the table. */
export const engineKindIds = Object.keys(engineKinds) as readonly EngineKind[];

/** The kinds that can be custom resources, in the order of the table. */
export const customKinds = engineKindIds.filter((id): id is CustomKind => engineKinds[id].isCustomResource);

/** The API groups that have engine kinds, each once, in canonical order. */
export const engineGroups: readonly string[] = [
  ...new Set(engineKindIds.map((id): string => engineKinds[id].group)),
].sort();

/** The row of a kind, with the types that all rows share. */
export function engineKindRow(id: EngineKind): EngineKindRow {
  return engineKinds[id];
}

/** The group, version and kind of its custom resources. */
export function resourceKindOf(id: CustomKind): {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
} {
  const { group, versions, kind } = engineKindRow(id);
  return { group, version: versions[0], kind };
}

const BY_GROUP_AND_KIND: ReadonlyMap<string, EngineKind> = new Map(
  engineKindIds.map((id) => [`${engineKinds[id].group}/${engineKinds[id].kind}`, id]),
);

/** The engine kind of this group and kind; undefined if the engine does not read it. */
export function engineKindOf(group: string, kind: string): EngineKind | undefined {
  return BY_GROUP_AND_KIND.get(`${group}/${kind}`);
}

/** Is this the id of an engine kind? */
export function isEngineKind(id: string): id is EngineKind {
  return Object.hasOwn(engineKinds, id);
}

/** What the metadata of a declaration says of its identity. */
export interface DeclaredName {
  /** Empty: it names none. */
  readonly namespace: string;
  readonly name: string;
  /** Of a Dataplane outside Kubernetes, where names are per mesh. */
  readonly mesh?: string;
}

/**
 * The key of a declaration among those of its kind; declarations with one key are of the same thing, and only one of them
 * is in force. `NAME`, or `NAMESPACE/NAME` where names are per namespace (`NAME` if it has none), with `@MESH` outside
 * Kubernetes; empty for a kind of which a fleet has one.
 */
export function declarationKey(id: EngineKind, { namespace, name, mesh }: DeclaredName): string {
  const { keyedBy } = engineKinds[id];
  if (keyedBy === 'fleet') return '';
  const inNamespace = keyedBy === 'name' || namespace === '' ? name : `${namespace}/${name}`;
  return mesh === undefined ? inNamespace : `${inNamespace}@${mesh}`;
}
