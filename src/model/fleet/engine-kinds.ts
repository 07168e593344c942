/** A kind that the engine reads from sources and never ships to a cluster. */
interface EngineKindRow {
  readonly group: string;
  /** The versions that the decoder reads; the CustomResourceDefinition has the first one. */
  readonly versions: readonly [string, ...string[]];
  readonly kind: string;
  readonly plural: string;
  /** As kubectl and `fleetrelay explain` understand them. */
  readonly shortNames: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
  /** File in `schemas/`. */
  readonly schema: string;
  /**
   * The decoder also reads documents with `type` instead of `apiVersion` and `kind`, as Kuma writes them outside Kubernetes.
   * `parent`: the member that names what contains the object; a name is unique in it. `statusPath`: their file on the status branch,
   * with the placeholders PARENT and NAME.
   */
  readonly universal?: { readonly parent: string; readonly statusPath: string };
  /** Which parts of the metadata identify a declaration: see {@link declarationKey}. */
  readonly keyedBy: 'name' | 'namespaceAndName' | 'fleet';
  /** While the document of a declaration cannot be read, its last known good value stays in force. */
  readonly holdsAsLastKnownGood: boolean;
  /** It has a CustomResourceDefinition, and sources can read it from a cluster; otherwise only from git and files. */
  readonly isCustomResource: boolean;
  /** Another project defines the kind: unknown fields are kept, and the controllers of that project write status too. */
  readonly isForeign: boolean;
  /** The types of the conditions that fleetrelay writes. It removes those that no longer apply, and leaves all others. */
  readonly ownConditions: readonly string[];
  /**
   * The rules of its conditions; absent: `metav1.Condition`. `timed` conditions have `lastUpdateTime` and `codes`, may be
   * `Progressing`, and have no `observedGeneration`.
   */
  readonly conditionForm?: 'timed';
  /** The status of its custom resources has their `uid` and `observedGeneration`. */
  readonly hasIdentityInStatus?: true;
  /** The server writes labels and annotations of its custom resources too, and needs the right to patch them. */
  readonly hasWrittenMetadata?: true;
  /** The kinds (`group/Kind`) of live objects that the engine reads for it: agents must be able to list them. */
  readonly discovers: readonly string[];
  /** Its file on the status branch, with the placeholders KIND, NAMESPACE and NAME; absent: `declared/KIND/NAMESPACE/NAME.yaml`. */
  readonly statusPath?: string;
  /** Its file on the status branch leaves out the condition `Accepted` while that is True: the file itself implies it. */
  readonly isAcceptedByListing?: true;
  /** People also name its objects in two words: `shoot NAMESPACE/NAME`. */
  readonly isNamedInTwoWords?: true;
  /** Metadata of its objects that only an API server sets and that are read all the same. */
  readonly readsServerFields?: readonly string[];
  /** Its status never has the condition `Accepted`: another project says which conditions it has. */
  readonly hasNoAccepted?: true;
  /** A custom resource that a Pod owns is live state of its cluster: it is no declaration, and nothing is written to it. */
  readonly isLiveOfPod?: true;
  /**
   * Which sources may have it, unless the `allow.kinds` of a source names kinds. `first`: the first one, since what it says concerns
   * other sources too.
   */
  readonly sources: 'first' | 'each';
  /** What else `allow` must give a source that is not the first one; absent: the kind is enough. */
  readonly within?: WithinRights;
  /** The members of its spec that choose clusters, by names or by a label selector. */
  readonly choosesClusters?: readonly string[];
  /** The member of its spec with a label selector of Services of any namespace, which has no effect unless it selects some. */
  readonly selectsServices?: string;
  /** For the list of the kinds in docs/reference/kinds. */
  readonly purpose: string;
}

/**
 * What a declaration of another source than the first one must be within. `clusterNames`: its name and labels, of `allow.declares` and
 * `allow.labelKeys`. `meshes`: its mesh and services, of `allow.meshes` and `allow.services`. `ownClusters`: its clusters, which the
 * source itself declares.
 */
type WithinRights = 'clusterNames' | 'meshes' | 'ownClusters';

const SUMMARY = ['Accepted', 'Ready', 'Reconciling', 'Stalled'] as const;

/** What most rows have. */
const USUAL = {
  shortNames: [],
  scope: 'Namespaced',
  holdsAsLastKnownGood: true,
  isCustomResource: true,
  isForeign: false,
  discovers: [],
} as const;

/** What most kinds of fleetrelay have. */
const OWN = { ...USUAL, group: 'fleetrelay.dev', versions: ['v1alpha1'], keyedBy: 'name' } as const;

/** What kinds of other projects have. */
const FOREIGN = { ...USUAL, keyedBy: 'namespaceAndName', isForeign: true, ownConditions: ['Accepted'] } as const;

/**
 * The kinds that the engine reads, by id: the kind, spelled `group/Kind` if two groups have one of the same name. This is
 * the only list of them; decoding, custom resources, rights, status and documentation derive from it.
 */
export const engineKinds = {
  KubernetesCluster: {
    ...OWN,
    group: 'admin.gloo.solo.io',
    versions: ['v2'],
    kind: 'KubernetesCluster',
    plural: 'kubernetesclusters',
    shortNames: ['kcl'],
    schema: 'kubernetes-cluster.json',
    ownConditions: [
      ...SUMMARY,
      'ClusterWarm',
      'Connected',
      'InSync',
      'Discovered',
      'WithinLimits',
      'Healthy',
      'Declared',
      'SafeMode',
    ],
    statusPath: 'clusters/NAME.yaml',
    isAcceptedByListing: true,
    sources: 'first',
    within: 'clusterNames',
    purpose: 'registers a workload cluster; Placements select by its labels',
  },
  Placement: {
    ...OWN,
    kind: 'Placement',
    plural: 'placements',
    shortNames: ['plc'],
    schema: 'placement.json',
    ownConditions: [...SUMMARY, 'ClustersSelected'],
    choosesClusters: ['clusters'],
    sources: 'each',
    purpose: 'sends the documents under its paths to the selected clusters',
  },
  ServiceMirror: {
    ...OWN,
    kind: 'ServiceMirror',
    plural: 'servicemirrors',
    shortNames: ['smir'],
    schema: 'service-mirror.json',
    ownConditions: [...SUMMARY, 'ClustersSelected'],
    discovers: ['/Service', 'discovery.k8s.io/EndpointSlice'],
    choosesClusters: ['from', 'to'],
    selectsServices: 'serviceSelector',
    sources: 'first',
    purpose: 'makes services of some clusters, or of meshes, known in other clusters',
  },
  FleetPolicy: {
    ...OWN,
    kind: 'FleetPolicy',
    plural: 'fleetpolicies',
    shortNames: ['fpol'],
    schema: 'fleet-policy.json',
    keyedBy: 'fleet',
    ownConditions: SUMMARY,
    sources: 'first',
    purpose: 'sets guards, safe mode, status, discovery, health and care; one per fleet',
  },
  RemovalApproval: {
    ...OWN,
    kind: 'RemovalApproval',
    plural: 'removalapprovals',
    schema: 'removal-approval.json',
    holdsAsLastKnownGood: false,
    isCustomResource: false,
    ownConditions: SUMMARY,
    sources: 'first',
    purpose: 'approves removals that a guard holds',
  },
  Dataplane: {
    ...FOREIGN,
    group: 'kuma.io',
    versions: ['v1alpha1'],
    kind: 'Dataplane',
    plural: 'dataplanes',
    shortNames: ['dp'],
    schema: 'dataplane.json',
    ownConditions: ['Accepted', 'Healthy'],
    universal: { parent: 'mesh', statusPath: 'dataplanes/PARENT/NAME.yaml' },
    discovers: [
      'kuma.io/Dataplane',
      'kuma.io/DataplaneInsight',
      '/Node',
      '/Pod',
      '/Service',
      'discovery.k8s.io/EndpointSlice',
      '/Namespace',
      'apps/ReplicaSet',
      'batch/Job',
    ],
    isLiveOfPod: true,
    sources: 'first',
    within: 'meshes',
    purpose: 'Kuma: a data plane proxy and what it serves',
  },
  Shoot: {
    ...FOREIGN,
    group: 'core.gardener.cloud',
    versions: ['v1beta1'],
    kind: 'Shoot',
    plural: 'shoots',
    schema: 'shoot.json',
    ownConditions: [
      'APIServerAvailable',
      'ControlPlaneHealthy',
      'ObservabilityComponentsHealthy',
      'SystemComponentsHealthy',
      'EveryNodeReady',
    ],
    conditionForm: 'timed',
    hasIdentityInStatus: true,
    hasWrittenMetadata: true,
    hasNoAccepted: true,
    isNamedInTwoWords: true,
    // People are shown the age of a Shoot.
    readsServerFields: ['creationTimestamp'],
    discovers: [
      'internal.fleetrelay.dev/ApiServerProbe',
      'internal.fleetrelay.dev/LeaseReport',
      'internal.fleetrelay.dev/CertificateReport',
      'internal.fleetrelay.dev/TunnelProbe',
      'apps/Deployment',
      '/Node',
      '/Pod',
    ],
    statusPath: 'shoots/NAMESPACE/NAME.yaml',
    sources: 'first',
    within: 'ownClusters',
    purpose: 'Gardener: a cluster and how it is run',
  },
} as const satisfies Readonly<Record<string, EngineKindRow>>;

/** The id of a kind in {@link engineKinds}. */
export type EngineKind = keyof typeof engineKinds;

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
export function resourceKindOf(id: CustomKind) {
  const { group, versions, kind } = engineKindRow(id);
  return { group, version: versions[0], kind };
}

const BY_GROUP_AND_KIND: ReadonlyMap<string, EngineKind> = new Map(
  engineKindIds.map((id) => [`${engineKinds[id].group}/${engineKinds[id].kind}`, id]),
);

/** The engine kind of a group and kind; undefined if the engine does not read it. */
export function engineKindOf(group: string, kind: string): EngineKind | undefined {
  return BY_GROUP_AND_KIND.get(`${group}/${kind}`);
}

/** Whether the text is the id of an engine kind. */
export function isEngineKind(id: string): id is EngineKind {
  return Object.hasOwn(engineKinds, id);
}

/** The parts of a declaration's metadata that identify it. */
export interface DeclaredName {
  /** Empty: the document names none. */
  readonly namespace: string;
  readonly name: string;
  /** Of the universal form: what contains the object, such as its mesh. */
  readonly parent?: string;
}

/**
 * The key of a declaration, unique in its kind. If several declarations have one key, one of them is in force. `NAME`, or
 * `NAMESPACE/NAME` for a kind whose names are per namespace (`NAME` if the document names no namespace), with `@PARENT`
 * in the universal form; empty for a kind of which a fleet has one object.
 */
export function declarationKey(id: EngineKind, { namespace, name, parent }: DeclaredName): string {
  const { keyedBy } = engineKinds[id];
  if (keyedBy === 'fleet') return '';
  const inNamespace = keyedBy === 'name' || namespace === '' ? name : `${namespace}/${name}`;
  return parent === undefined ? inNamespace : `${inNamespace}@${parent}`;
}
