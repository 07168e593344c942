/** The code and the meaning of a reason. */
interface FindingRow {
  /** Stable: no later reason gets the code of a deleted one (FR2019). */
  readonly code: `FR${number}`;
  /** One sentence. */
  readonly meaning: string;
  /** The usual severity; an error unless set. Single findings of a reason may be milder. */
  readonly severity?: 'warning';
}

/**
 * The reasons of all findings. The ranges of their codes: 1xxx reading files and YAML, 2xxx fields and schemas,
 * 3xxx rules of the engine across files, 4xxx live state of a cluster.
 */
export const findings = {
  FileUnreadable: { code: 'FR1001', meaning: 'The file, folder or ignore file cannot be read.' },
  FileTooLarge: { code: 'FR1002', meaning: 'The file is larger than the limit for one file.' },
  NotUtf8: { code: 'FR1003', meaning: 'The bytes of the file are not UTF-8 text.' },
  ControlCharacter: { code: 'FR1004', meaning: 'The file holds a control character that YAML forbids.' },
  SymbolicLink: { code: 'FR1005', meaning: 'A manifest is a symbolic link, which is not followed.' },
  SymbolicLinkIgnored: {
    code: 'FR1006',
    meaning: 'A symbolic link that is no manifest is not followed.',
    severity: 'warning',
  },
  SubmoduleIgnored: { code: 'FR1007', meaning: 'A git submodule is not followed.', severity: 'warning' },
  IgnoreFile: { code: 'FR1008', meaning: 'The file `.fleetrelayignore` holds a rule that cannot be used.' },
  DecoderFailed: { code: 'FR1009', meaning: 'Decoding the file threw an error: a defect of fleetrelay.' },
  YamlSyntax: { code: 'FR1010', meaning: 'The text is not YAML.' },
  JsonSyntax: { code: 'FR1011', meaning: 'The text is not JSON.' },
  YamlVersion: { code: 'FR1012', meaning: 'The file has a YAML directive (`%YAML`, `%TAG`), which kubectl refuses.' },
  YamlVersionsDiffer: {
    code: 'FR1013',
    meaning: 'Tools that read YAML 1.2 read this key or value differently than kubectl.',
    severity: 'warning',
  },
  DuplicateKey: { code: 'FR1014', meaning: 'A mapping has the same key twice.' },
  KeyNotText: { code: 'FR1015', meaning: 'A key of a mapping is not text.' },
  MergeKey: { code: 'FR1016', meaning: 'A merge key (`<<`) merges no mapping, or a key that is above it.' },
  ForbiddenKey: { code: 'FR1017', meaning: 'A mapping has the key `__proto__`.' },
  UnknownTag: { code: 'FR1018', meaning: 'A value has a YAML tag that manifests do not allow.' },
  BadAlias: { code: 'FR1019', meaning: 'An alias refers to no anchor above it, or to a value that contains it.' },
  NumberNotFinite: { code: 'FR1020', meaning: 'A number is infinite or not a number, which JSON cannot hold.' },
  NumberTooLarge: { code: 'FR1021', meaning: 'A whole number is too large to be kept exactly.' },
  TooDeep: { code: 'FR1022', meaning: 'Lists and mappings are nested too deep.' },
  TooManyAliases: { code: 'FR1023', meaning: 'The file holds more aliases than the limit.' },
  TooManyValues: { code: 'FR1024', meaning: 'The file holds more values than the limit, aliases counted in full.' },
  TooManyDocuments: { code: 'FR1025', meaning: 'The file holds more documents than the limit.' },
  PathTooLong: { code: 'FR1026', meaning: 'The path of the file is longer than the limit.' },
  RevisionTooLarge: { code: 'FR1027', meaning: 'The files of the source together are above a limit of a revision.' },

  ObjectNotCarried: {
    code: 'FR1028',
    meaning: 'The object has more values, levels or bytes than the relay carries in one object.',
  },

  // These four are errors where the file is wanted as desired state.
  HelmChart: { code: 'FR1030', meaning: 'The folder is a Helm chart, which is not rendered.', severity: 'warning' },
  Kustomization: {
    code: 'FR1031',
    meaning: 'The file is a kustomization, which is not rendered.',
    severity: 'warning',
  },
  EncryptedFile: {
    code: 'FR1032',
    meaning: 'SOPS has encrypted the document, which is not decrypted.',
    severity: 'warning',
  },
  NoManifest: {
    code: 'FR1033',
    meaning: 'The file, or a document of it, has neither apiVersion nor kind.',
    severity: 'warning',
  },

  SuppressionWithoutReason: { code: 'FR1050', meaning: 'A `fleetrelay-ignore` comment gives no reason.' },
  BadSuppression: {
    code: 'FR1051',
    meaning: 'A `fleetrelay-ignore` comment names no code, an unknown one, or one that cannot be suppressed.',
  },
  UnusedSuppression: {
    code: 'FR1052',
    meaning: 'A `fleetrelay-ignore` comment suppresses no finding.',
    severity: 'warning',
  },

  NotAnObject: { code: 'FR2001', meaning: 'The document is not a mapping.' },
  MissingField: { code: 'FR2002', meaning: 'A required field is missing.' },
  UnknownField: { code: 'FR2003', meaning: 'The schema does not have this field.' },
  WrongType: { code: 'FR2004', meaning: 'The value has another type than the schema says.' },
  WrongValue: { code: 'FR2005', meaning: 'The value breaks a rule of the schema.' },
  WrongChoice: { code: 'FR2006', meaning: 'Fields exclude each other, or none of a choice is given.' },
  UnknownKind: { code: 'FR2007', meaning: 'The engine reads no such kind in this group.' },
  UnknownVersion: { code: 'FR2008', meaning: 'The engine does not read this version of the kind.' },
  ServerConfigInRepository: { code: 'FR2009', meaning: 'A source holds a RelayConfig, which only the server reads.' },
  BadIdentity: { code: 'FR2010', meaning: 'The group, kind, namespace or name is not one that Kubernetes allows.' },
  GeneratedName: { code: 'FR2011', meaning: 'The object has `generateName`, so it has no fixed name.' },
  BadName: { code: 'FR2012', meaning: 'The name is not allowed here.' },
  BadLabel: { code: 'FR2013', meaning: "A label's key or value is not one that Kubernetes allows." },
  BadAnnotation: {
    code: 'FR2014',
    meaning: "An annotation's key or value is not one that Kubernetes allows or fleetrelay knows.",
  },
  BadSelector: { code: 'FR2015', meaning: 'A label selector contradicts itself or lacks values.' },
  BadPath: { code: 'FR2016', meaning: 'The path or glob is not allowed.' },
  BadAddress: { code: 'FR2017', meaning: 'The address or URL is not allowed.' },
  BadBranch: { code: 'FR2018', meaning: 'The name of the branch is not allowed.' },
  BadTime: { code: 'FR2020', meaning: 'The text is not an RFC 3339 time with a zone.' },
  ServerField: {
    code: 'FR2021',
    meaning: 'The manifest has a field that the API server, a controller or kubectl sets; it is left out.',
    severity: 'warning',
  },
  PolicyNotTaken: { code: 'FR2022', meaning: 'Agents would refuse the settings of the FleetPolicy.' },
  PolicyTooLarge: { code: 'FR2023', meaning: 'The settings that the FleetPolicy gives to agents are too large.' },
  GatewayWithInbounds: { code: 'FR2024', meaning: 'A Dataplane is a gateway and has inbounds.' },
  DuplicateName: { code: 'FR2025', meaning: 'Two entries of a list have the same name.' },
  UnknownSource: { code: 'FR2026', meaning: 'The RelayConfig names a source that it does not have.' },
  NoConfig: { code: 'FR2027', meaning: 'The file holds no RelayConfig.' },
  SeveralDocuments: { code: 'FR2028', meaning: 'The file holds more than the one RelayConfig.' },
  NoSchema: { code: 'FR2030', meaning: 'The kind has no schema, so its fields are not checked.', severity: 'warning' },
  NoSuchKind: { code: 'FR2031', meaning: 'The API server has no such kind in this group and version.' },
  RemovedApiVersion: { code: 'FR2032', meaning: 'The version of Kubernetes does not serve this API version any more.' },
  DeprecatedApiVersion: {
    code: 'FR2033',
    meaning: 'The API version is deprecated, and a later Kubernetes removes it.',
    severity: 'warning',
  },
  WrongFormat: { code: 'FR2034', meaning: 'The text does not have the form that the field demands.' },
  NamespaceNotUsed: {
    code: 'FR2035',
    meaning: 'An object of a kind without namespaces has a namespace.',
    severity: 'warning',
  },
  NotServedByDefault: {
    code: 'FR2036',
    meaning: 'API servers serve this alpha or beta version only if it is switched on.',
    severity: 'warning',
  },
  BadTag: { code: 'FR2037', meaning: "A tag's key or value is not one that Kuma allows." },
  AddressInUse: { code: 'FR2038', meaning: 'A Dataplane uses one address and port for two purposes.' },
  ObjectTooLarge: { code: 'FR2040', meaning: 'The object has more bytes than an API server takes in a request.' },
  NotProbed: {
    code: 'FR2041',
    meaning: 'An inbound has a serviceProbe, and its application is at a host name, which Envoy does not probe.',
    severity: 'warning',
  },

  BadDefinition: { code: 'FR2050', meaning: 'An API server refuses the CustomResourceDefinition.' },
  BrokenRule: { code: 'FR2051', meaning: 'The object breaks a rule in CEL of its CustomResourceDefinition.' },
  SchemaUnreadable: { code: 'FR2052', meaning: 'The schema of the kind was found and cannot be used.' },
  SchemaNotRead: { code: 'FR2053', meaning: 'The file names a schema that is not read.' },
  BadExpression: {
    code: 'FR2054',
    meaning: 'An expression in CEL cannot be parsed, or uses a variable, function or field that is not declared.',
  },
  RuleTooExpensive: {
    code: 'FR2055',
    meaning: 'The rules in CEL of a CustomResourceDefinition take too many steps for the object.',
  },

  FieldNotAllowed: { code: 'FR2100', meaning: 'The kind has this field, but the object must not set it here.' },
  DuplicateValue: { code: 'FR2101', meaning: 'Two entries of a list have the same value where each must differ.' },
  SelectorMismatch: {
    code: 'FR2102',
    meaning: 'The selector of a workload does not match the labels of its own Pods.',
  },
  EmptySelector: { code: 'FR2103', meaning: 'The selector is empty where it must select something.' },
  UnknownVolume: { code: 'FR2104', meaning: 'A container mounts a volume that the Pod does not have.' },
  UnknownReference: { code: 'FR2105', meaning: 'A field names a part of the same object that it does not have.' },
  RequestAboveLimit: { code: 'FR2106', meaning: 'A request of a resource is larger than its limit.' },
  BadResource: { code: 'FR2107', meaning: 'The name or the amount of a resource is not allowed here.' },
  BadRestartPolicy: { code: 'FR2108', meaning: 'The workload does not allow this restart policy.' },
  BadSchedule: { code: 'FR2109', meaning: 'The schedule or the time zone of a CronJob cannot be read.' },
  DeprecatedField: {
    code: 'FR2110',
    meaning: 'The field, label or annotation is deprecated and may do nothing.',
    severity: 'warning',
  },
  SelectsNothing: {
    code: 'FR2111',
    meaning: 'A selector is missing, so that no Pod is selected.',
    severity: 'warning',
  },
  ProblematicWebhook: {
    code: 'FR2150',
    meaning: 'A webhook could keep nodes from joining a cluster, or a cluster from waking up.',
    severity: 'warning',
  },

  DeclaredTwice: { code: 'FR3001', meaning: 'Two documents declare the same thing; one of them is in force.' },
  NameCollision: { code: 'FR3002', meaning: 'Objects from different sources would have one name in a cluster.' },
  UnknownCluster: {
    code: 'FR3003',
    meaning: 'A cluster is named that no KubernetesCluster declares.',
    severity: 'warning',
  },
  GoesNowhere: {
    code: 'FR3004',
    meaning: 'No Placement selects the document, so it goes to no cluster.',
    severity: 'warning',
  },
  LastKnownGood: {
    code: 'FR3005',
    meaning: 'A declaration cannot be read now and holds as last known good.',
    severity: 'warning',
  },
  PolicyBounded: {
    code: 'FR3006',
    meaning: 'The FleetPolicy is looser than the RelayConfig allows, and is cut.',
    severity: 'warning',
  },
  ApprovalUsed: { code: 'FR3007', meaning: 'The RemovalApproval was used and does nothing more.', severity: 'warning' },
  ApprovalStale: {
    code: 'FR3008',
    meaning: "No removals of the RemovalApproval's digest were held when it came.",
    severity: 'warning',
  },
  ApprovalExpired: {
    code: 'FR3009',
    meaning: 'The RemovalApproval had expired when it was read.',
    severity: 'warning',
  },
  Failed: { code: 'FR3010', meaning: 'A function of the engine threw an error: a defect of fleetrelay.' },
  WebhookLeftAlone: {
    code: 'FR3011',
    meaning: 'The webhook remediator would change a webhook, and leaves it alone because fleetrelay applies it.',
    severity: 'warning',
  },

  NotAllowed: {
    code: 'FR3012',
    meaning: 'The RelayConfig does not allow the source to have the document, or to reach the cluster.',
  },
  ApprovalNotCounted: {
    code: 'FR3013',
    meaning: 'The RelayConfig lets no file approve removals, so the RemovalApproval releases nothing.',
    severity: 'warning',
  },
  ApprovalNotSigned: {
    code: 'FR3014',
    meaning:
      'No approval signer of the RelayConfig has signed the commit that brought the RemovalApproval, so it releases nothing.',
    severity: 'warning',
  },

  PlacementTooExpensive: {
    code: 'FR3015',
    meaning: 'The Placements of a source need too many steps to match the path of a file of another source.',
  },
  ApprovalWaits: {
    code: 'FR3016',
    meaning:
      'The server has no record of which RemovalApprovals were used, and has not read the source of this one completely since.',
    severity: 'warning',
  },

  UnknownConfigMap: {
    code: 'FR3020',
    meaning: 'An object refers to a ConfigMap that no document declares.',
    severity: 'warning',
  },
  UnknownConfigMapKey: {
    code: 'FR3021',
    meaning: 'An object refers to a key that the ConfigMap does not have.',
    severity: 'warning',
  },
  UnknownSecret: {
    code: 'FR3022',
    meaning: 'An object refers to a Secret that nothing declares or makes.',
    severity: 'warning',
  },
  UnknownSecretKey: {
    code: 'FR3023',
    meaning: 'An object refers to a key that the Secret does not have.',
    severity: 'warning',
  },
  UnknownService: {
    code: 'FR3024',
    meaning: 'An object refers to a Service that no document declares.',
    severity: 'warning',
  },
  UnknownServicePort: {
    code: 'FR3025',
    meaning: 'An object refers to a port that the Service does not have.',
    severity: 'warning',
  },
  UnknownServiceAccount: {
    code: 'FR3026',
    meaning: 'A ServiceAccount is named that no document declares.',
    severity: 'warning',
  },
  UnknownRole: {
    code: 'FR3027',
    meaning: 'A binding names a Role or ClusterRole that no document declares.',
    severity: 'warning',
  },
  UnknownVolumeClaim: {
    code: 'FR3028',
    meaning: 'A Pod uses a PersistentVolumeClaim that no document declares.',
    severity: 'warning',
  },
  UnknownPriorityClass: {
    code: 'FR3029',
    meaning: 'A Pod has a PriorityClass that no document declares.',
    severity: 'warning',
  },
  UnknownScaleTarget: {
    code: 'FR3030',
    meaning: 'An autoscaler names a workload that no document declares.',
    severity: 'warning',
  },
  SelectsNoPods: {
    code: 'FR3031',
    meaning: 'A selector matches no Pod template of its namespace.',
    severity: 'warning',
  },
  SelectsNoServices: {
    code: 'FR3032',
    meaning: 'The selector of a ServiceMirror matches no declared Service.',
    severity: 'warning',
  },
  UnknownTargetPort: {
    code: 'FR3033',
    meaning: 'A Service sends to a named port that no container of its Pods has.',
    severity: 'warning',
  },
  PlacementSelectsNothing: {
    code: 'FR3040',
    meaning: 'A path of a Placement selects no document.',
    severity: 'warning',
  },
  SelectsNoCluster: {
    code: 'FR3041',
    meaning: 'A selector of clusters matches no KubernetesCluster.',
    severity: 'warning',
  },
  AddressNotMirrored: {
    code: 'FR3042',
    meaning: 'The address of a Dataplane whose services are mirrored is one that no EndpointSlice can have.',
    severity: 'warning',
  },

  UnreadableLiveFile: { code: 'FR4001', meaning: 'A file of a directory cluster cannot be read.' },
  SkippedLiveFile: {
    code: 'FR4002',
    meaning: 'A file of a directory cluster is not an object and is passed over.',
    severity: 'warning',
  },
  DuplicateLiveObject: {
    code: 'FR4003',
    meaning: 'Two files of a directory cluster hold the same object.',
    severity: 'warning',
  },
  KindNotFollowed: {
    code: 'FR4004',
    meaning: 'Objects of a kind cannot be watched, so their drift is not seen.',
    severity: 'warning',
  },
  UnreadableDataplane: {
    code: 'FR4005',
    meaning: 'A live Dataplane, or an inbound or listener of a data plane, cannot be read, and counts nowhere.',
    severity: 'warning',
  },
  UndeclaredPort: {
    code: 'FR4006',
    meaning: 'No container of a Pod declares a port that a Service sends traffic to, and several could serve it.',
    severity: 'warning',
  },
} as const satisfies Readonly<Record<string, FindingRow>>;
