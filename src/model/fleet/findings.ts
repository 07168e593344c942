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
  FileUnreadable: error('FR1001', 'The file, folder or ignore file cannot be read.'),
  FileTooLarge: error('FR1002', 'The file is larger than the limit for one file.'),
  NotUtf8: error('FR1003', 'The bytes of the file are not UTF-8 text.'),
  ControlCharacter: error('FR1004', 'The file holds a control character that YAML forbids.'),
  SymbolicLink: error('FR1005', 'A manifest is a symbolic link, which is not followed.'),
  SymbolicLinkIgnored: warning('FR1006', 'A symbolic link that is no manifest is not followed.'),
  SubmoduleIgnored: warning('FR1007', 'A git submodule is not followed.'),
  IgnoreFile: error('FR1008', 'The file `.fleetrelayignore` holds a rule that cannot be used.'),
  DecoderFailed: error('FR1009', 'Decoding the file threw an error: a defect of fleetrelay.'),
  YamlSyntax: error('FR1010', 'The text is not YAML.'),
  JsonSyntax: error('FR1011', 'The text is not JSON.'),
  YamlVersion: error('FR1012', 'The file has a YAML directive (`%YAML`, `%TAG`), which kubectl refuses.'),
  YamlVersionsDiffer: warning('FR1013', 'Tools that read YAML 1.2 read this key or value differently than kubectl.'),
  DuplicateKey: error('FR1014', 'A mapping has the same key twice.'),
  KeyNotText: error('FR1015', 'A key of a mapping is not text.'),
  MergeKey: error('FR1016', 'A merge key (`<<`) merges no mapping, or a key that is above it.'),
  ForbiddenKey: error('FR1017', 'A mapping has the key `__proto__`.'),
  UnknownTag: error('FR1018', 'A value has a YAML tag that manifests do not allow.'),
  BadAlias: error('FR1019', 'An alias refers to no anchor above it, or to a value that contains it.'),
  NumberNotFinite: error('FR1020', 'A number is infinite or not a number, which JSON cannot hold.'),
  NumberTooLarge: error('FR1021', 'A whole number is too large to be kept exactly.'),
  TooDeep: error('FR1022', 'Lists and mappings are nested too deep.'),
  TooManyAliases: error('FR1023', 'The file holds more aliases than the limit.'),
  TooManyValues: error('FR1024', 'The file holds more values than the limit, aliases counted in full.'),
  TooManyDocuments: error('FR1025', 'The file holds more documents than the limit.'),
  PathTooLong: error('FR1026', 'The path of the file is longer than the limit.'),
  RevisionTooLarge: error('FR1027', 'The files of the source together are above a limit of a revision.'),

  ObjectNotCarried: error(
    'FR1028',
    'The object has more values, levels or bytes than the relay carries in one object.',
  ),

  // These four are errors where the file is wanted as desired state.
  HelmChart: warning('FR1030', 'The folder is a Helm chart, which is not rendered.'),
  Kustomization: warning('FR1031', 'The file is a kustomization, which is not rendered.'),
  EncryptedFile: warning('FR1032', 'SOPS has encrypted the document, which is not decrypted.'),
  NoManifest: warning('FR1033', 'The file, or a document of it, has neither apiVersion nor kind.'),

  SuppressionWithoutReason: error('FR1050', 'A `fleetrelay-ignore` comment gives no reason.'),
  BadSuppression: error(
    'FR1051',
    'A `fleetrelay-ignore` comment names no code, an unknown one, or one that cannot be suppressed.',
  ),
  UnusedSuppression: warning('FR1052', 'A `fleetrelay-ignore` comment suppresses no finding.'),

  NotAnObject: error('FR2001', 'The document is not a mapping.'),
  MissingField: error('FR2002', 'A required field is missing.'),
  UnknownField: error('FR2003', 'The schema does not have this field.'),
  WrongType: error('FR2004', 'The value has another type than the schema says.'),
  WrongValue: error('FR2005', 'The value breaks a rule of the schema.'),
  WrongChoice: error('FR2006', 'Fields exclude each other, or none of a choice is given.'),
  UnknownKind: error('FR2007', 'The engine reads no such kind in this group.'),
  UnknownVersion: error('FR2008', 'The engine does not read this version of the kind.'),
  ServerConfigInRepository: error('FR2009', 'A source holds a RelayConfig, which only the server reads.'),
  BadIdentity: error('FR2010', 'The group, kind, namespace or name is not one that Kubernetes allows.'),
  GeneratedName: error('FR2011', 'The object has `generateName`, so it has no fixed name.'),
  BadName: error('FR2012', 'The name is not allowed here.'),
  BadLabel: error('FR2013', "A label's key or value is not one that Kubernetes allows."),
  BadAnnotation: error('FR2014', "An annotation's key or value is not one that Kubernetes allows or fleetrelay knows."),
  BadSelector: error('FR2015', 'A label selector contradicts itself or lacks values.'),
  BadPath: error('FR2016', 'The path or glob is not allowed.'),
  BadAddress: error('FR2017', 'The address or URL is not allowed.'),
  BadBranch: error('FR2018', 'The name of the branch is not allowed.'),
  BadTime: error('FR2020', 'The text is not an RFC 3339 time with a zone.'),
  ServerField: warning(
    'FR2021',
    'The manifest has a field that the API server, a controller or kubectl sets; it is left out.',
  ),
  PolicyNotTaken: error('FR2022', 'Agents would refuse the settings of the FleetPolicy.'),
  PolicyTooLarge: error('FR2023', 'The settings that the FleetPolicy gives to agents are too large.'),
  GatewayWithInbounds: error('FR2024', 'A Dataplane is a gateway and has inbounds.'),
  DuplicateName: error('FR2025', 'Two entries of a list have the same name.'),
  UnknownSource: error('FR2026', 'The RelayConfig names a source that it does not have.'),
  NoConfig: error('FR2027', 'The file holds no RelayConfig.'),
  SeveralDocuments: error('FR2028', 'The file holds more than the one RelayConfig.'),
  NoSchema: warning('FR2030', 'The kind has no schema, so its fields are not checked.'),
  NoSuchKind: error('FR2031', 'The API server has no such kind in this group and version.'),
  RemovedApiVersion: error('FR2032', 'The version of Kubernetes does not serve this API version any more.'),
  DeprecatedApiVersion: warning('FR2033', 'The API version is deprecated, and a later Kubernetes removes it.'),
  WrongFormat: error('FR2034', 'The text does not have the form that the field demands.'),
  NamespaceNotUsed: warning('FR2035', 'An object of a kind without namespaces has a namespace.'),
  NotServedByDefault: warning('FR2036', 'API servers serve this alpha or beta version only if it is switched on.'),
  BadTag: error('FR2037', "A tag's key or value is not one that Kuma allows."),
  AddressInUse: error('FR2038', 'A Dataplane uses one address and port for two purposes.'),
  ObjectTooLarge: error('FR2040', 'The object has more bytes than an API server takes in a request.'),
  NotProbed: warning(
    'FR2041',
    'An inbound has a serviceProbe, and its application is at a host name, which Envoy does not probe.',
  ),

  BadDefinition: error('FR2050', 'An API server refuses the CustomResourceDefinition.'),
  BrokenRule: error('FR2051', 'The object breaks a rule in CEL of its CustomResourceDefinition.'),
  SchemaUnreadable: error('FR2052', 'The schema of the kind was found and cannot be used.'),
  SchemaNotRead: error('FR2053', 'The file names a schema that is not read.'),
  BadExpression: error(
    'FR2054',
    'An expression in CEL cannot be parsed, or uses a variable, function or field that is not declared.',
  ),
  RuleTooExpensive: error(
    'FR2055',
    'The rules in CEL of a CustomResourceDefinition take too many steps for the object.',
  ),

  FieldNotAllowed: error('FR2100', 'The kind has this field, but the object must not set it here.'),
  DuplicateValue: error('FR2101', 'Two entries of a list have the same value where each must differ.'),
  SelectorMismatch: error('FR2102', 'The selector of a workload does not match the labels of its own Pods.'),
  EmptySelector: error('FR2103', 'The selector is empty where it must select something.'),
  UnknownVolume: error('FR2104', 'A container mounts a volume that the Pod does not have.'),
  UnknownReference: error('FR2105', 'A field names a part of the same object that it does not have.'),
  RequestAboveLimit: error('FR2106', 'A request of a resource is larger than its limit.'),
  BadResource: error('FR2107', 'The name or the amount of a resource is not allowed here.'),
  BadRestartPolicy: error('FR2108', 'The workload does not allow this restart policy.'),
  BadSchedule: error('FR2109', 'The schedule or the time zone of a CronJob cannot be read.'),
  DeprecatedField: warning('FR2110', 'The field, label or annotation is deprecated and may do nothing.'),
  SelectsNothing: warning('FR2111', 'A selector is missing, so that no Pod is selected.'),
  ProblematicWebhook: warning(
    'FR2150',
    'A webhook could keep nodes from joining a cluster, or a cluster from waking up.',
  ),

  DeclaredTwice: error('FR3001', 'Two documents declare the same thing; one of them is in force.'),
  NameCollision: error('FR3002', 'Objects from different sources would have one name in a cluster.'),
  UnknownCluster: warning('FR3003', 'A cluster is named that no KubernetesCluster declares.'),
  GoesNowhere: warning('FR3004', 'No Placement selects the document, so it goes to no cluster.'),
  LastKnownGood: warning('FR3005', 'A declaration cannot be read now and holds as last known good.'),
  PolicyBounded: warning('FR3006', 'The FleetPolicy is looser than the RelayConfig allows, and is cut.'),
  ApprovalUsed: warning('FR3007', 'The RemovalApproval was used and does nothing more.'),
  ApprovalStale: warning('FR3008', "No removals of the RemovalApproval's digest were held when it came."),
  ApprovalExpired: warning('FR3009', 'The RemovalApproval had expired when it was read.'),
  Failed: error('FR3010', 'A function of the engine threw an error: a defect of fleetrelay.'),
  WebhookLeftAlone: warning(
    'FR3011',
    'The webhook remediator would change a webhook, and leaves it alone because fleetrelay applies it.',
  ),

  NotAllowed: error(
    'FR3012',
    'The RelayConfig does not allow the source to have the document, or to reach the cluster.',
  ),
  ApprovalNotCounted: warning(
    'FR3013',
    'The RelayConfig lets no file approve removals, so the RemovalApproval releases nothing.',
  ),
  ApprovalNotSigned: warning(
    'FR3014',
    'No approval signer of the RelayConfig has signed the commit that brought the RemovalApproval, so it releases nothing.',
  ),

  PlacementTooExpensive: error(
    'FR3015',
    'The Placements of a source need too many steps to match the path of a file of another source.',
  ),
  ApprovalWaits: warning(
    'FR3016',
    'The server has no record of which RemovalApprovals were used, and has not read the source of this one completely since.',
  ),

  UnknownConfigMap: warning('FR3020', 'An object refers to a ConfigMap that no document declares.'),
  UnknownConfigMapKey: warning('FR3021', 'An object refers to a key that the ConfigMap does not have.'),
  UnknownSecret: warning('FR3022', 'An object refers to a Secret that nothing declares or makes.'),
  UnknownSecretKey: warning('FR3023', 'An object refers to a key that the Secret does not have.'),
  UnknownService: warning('FR3024', 'An object refers to a Service that no document declares.'),
  UnknownServicePort: warning('FR3025', 'An object refers to a port that the Service does not have.'),
  UnknownServiceAccount: warning('FR3026', 'A ServiceAccount is named that no document declares.'),
  UnknownRole: warning('FR3027', 'A binding names a Role or ClusterRole that no document declares.'),
  UnknownVolumeClaim: warning('FR3028', 'A Pod uses a PersistentVolumeClaim that no document declares.'),
  UnknownPriorityClass: warning('FR3029', 'A Pod has a PriorityClass that no document declares.'),
  UnknownScaleTarget: warning('FR3030', 'An autoscaler names a workload that no document declares.'),
  SelectsNoPods: warning('FR3031', 'A selector matches no Pod template of its namespace.'),
  SelectsNoServices: warning('FR3032', 'The selector of a ServiceMirror matches no declared Service.'),
  UnknownTargetPort: warning('FR3033', 'A Service sends to a named port that no container of its Pods has.'),
  PlacementSelectsNothing: warning('FR3040', 'A path of a Placement selects no document.'),
  SelectsNoCluster: warning('FR3041', 'A selector of clusters matches no KubernetesCluster.'),
  AddressNotMirrored: warning(
    'FR3042',
    'The address of a Dataplane whose services are mirrored is one that no EndpointSlice can have.',
  ),

  UnreadableLiveFile: error('FR4001', 'A file of a directory cluster cannot be read.'),
  SkippedLiveFile: warning('FR4002', 'A file of a directory cluster is not an object and is passed over.'),
  DuplicateLiveObject: warning('FR4003', 'Two files of a directory cluster hold the same object.'),
  KindNotFollowed: warning('FR4004', 'Objects of a kind cannot be watched, so their drift is not seen.'),
  UnreadableDataplane: warning(
    'FR4005',
    'A live Dataplane, or an inbound or listener of a data plane, cannot be read, and counts nowhere.',
  ),
  UndeclaredPort: warning(
    'FR4006',
    'No container of a Pod declares a port that a Service sends traffic to, and several could serve it.',
  ),
} satisfies Readonly<Record<string, FindingRow>>;

function error(code: FindingRow['code'], meaning: string): FindingRow {
  return { code, meaning };
}

function warning(code: FindingRow['code'], meaning: string): FindingRow {
  return { code, meaning, severity: 'warning' };
}
