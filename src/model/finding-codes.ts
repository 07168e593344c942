/** What a finding says, however it is worded. */
interface FindingRow {
  /** Stable: a code is never given to another reason, also after its reason is gone. */
  readonly code: `FR${number}`;
  /** One sentence: what a finding of this reason means. */
  readonly meaning: string;
}

/**
 * Every reason that a finding can have. By range of their codes: 1xxx reading files and YAML, 2xxx fields and schemas,
 * 3xxx rules of the engine across files, 4xxx live state of a cluster.
 */
export const findings = {
  FileUnreadable: { code: 'FR1001', meaning: 'The file, folder or ignore file cannot be read.' },
  FileTooLarge: { code: 'FR1002', meaning: 'The file is larger than what is read of one file.' },
  NotUtf8: { code: 'FR1003', meaning: 'The bytes of the file are not UTF-8 text.' },
  ControlCharacter: { code: 'FR1004', meaning: 'The file holds a control character that YAML forbids.' },
  SymbolicLink: { code: 'FR1005', meaning: 'A manifest is a symbolic link, which is not followed.' },
  SymbolicLinkIgnored: { code: 'FR1006', meaning: 'A symbolic link that is no manifest is not followed.' },
  SubmoduleIgnored: { code: 'FR1007', meaning: 'A git submodule is not followed.' },
  IgnoreFile: { code: 'FR1008', meaning: 'The file `.fleetrelayignore` holds a rule that cannot be used.' },
  DecoderFailed: { code: 'FR1009', meaning: 'Decoding the file threw an error: a defect of fleetrelay.' },
  YamlSyntax: { code: 'FR1010', meaning: 'The text is not YAML.' },
  JsonSyntax: { code: 'FR1011', meaning: 'The text is not JSON.' },
  YamlVersion: { code: 'FR1012', meaning: 'The file declares another version than YAML 1.2, by which it is read.' },
  YamlVersionsDiffer: { code: 'FR1013', meaning: 'Tools that read YAML 1.1 read this value differently.' },
  DuplicateKey: { code: 'FR1014', meaning: 'A mapping has the same key twice.' },
  KeyNotText: { code: 'FR1015', meaning: 'A key of a mapping is not text.' },
  MergeKey: { code: 'FR1016', meaning: 'A mapping has a merge key (`<<`).' },
  ForbiddenKey: { code: 'FR1017', meaning: 'A mapping has the key `__proto__`.' },
  UnknownTag: { code: 'FR1018', meaning: 'A value has a YAML tag that manifests do not allow.' },
  BadAlias: { code: 'FR1019', meaning: 'An alias refers to no anchor above it, or to a value that contains it.' },
  NumberNotFinite: { code: 'FR1020', meaning: 'A number is infinite or not a number, which JSON cannot hold.' },
  NumberTooLarge: { code: 'FR1021', meaning: 'A whole number is too large to be kept exactly.' },
  TooDeep: { code: 'FR1022', meaning: 'Lists and mappings are nested too deep.' },
  TooManyAliases: { code: 'FR1023', meaning: 'The file holds more aliases than are read.' },
  TooManyValues: { code: 'FR1024', meaning: 'The file holds more values than are read, aliases counted in full.' },
  TooManyDocuments: { code: 'FR1025', meaning: 'The file holds more documents than are read.' },
  PathTooLong: { code: 'FR1026', meaning: 'The path of the file is longer than what is read.' },

  NotAnObject: { code: 'FR2001', meaning: 'The document is not a mapping.' },
  MissingField: { code: 'FR2002', meaning: 'A required field is missing.' },
  UnknownField: { code: 'FR2003', meaning: 'The schema does not have this field.' },
  WrongType: { code: 'FR2004', meaning: 'The value has another type than the schema says.' },
  WrongValue: { code: 'FR2005', meaning: 'The value breaks a rule of the schema.' },
  WrongChoice: {
    code: 'FR2006',
    meaning: 'Fields that exclude each other are given together, or none of a choice is given.',
  },
  UnknownKind: {
    code: 'FR2007',
    meaning: 'The engine reads no such kind in this group, or the kind is spelled wrong.',
  },
  UnknownVersion: { code: 'FR2008', meaning: 'The engine does not read this version of the kind.' },
  ServerConfigInRepository: {
    code: 'FR2009',
    meaning: 'A RelayConfig stands in a source; only the server reads it, from its own file.',
  },
  BadIdentity: { code: 'FR2010', meaning: 'The group, kind, namespace or name is not one that Kubernetes allows.' },
  GeneratedName: { code: 'FR2011', meaning: 'The object has `generateName`, so it has no fixed name.' },
  BadName: { code: 'FR2012', meaning: 'The name is not allowed here.' },
  BadLabel: { code: 'FR2013', meaning: "A label's key or value is not one that Kubernetes allows." },
  BadAnnotation: { code: 'FR2014', meaning: "An annotation's key or value is not one that Kubernetes allows." },
  BadSelector: { code: 'FR2015', meaning: 'A label selector contradicts itself or lacks values.' },
  BadPath: { code: 'FR2016', meaning: 'The path or glob is not allowed.' },
  BadAddress: { code: 'FR2017', meaning: 'The address or URL is not allowed.' },
  BadBranch: { code: 'FR2018', meaning: 'The name of the branch is not allowed.' },
  BadDigest: { code: 'FR2019', meaning: 'The text is not a digest.' },
  BadTime: { code: 'FR2020', meaning: 'The text is not an RFC 3339 time with a zone.' },
  ServerField: { code: 'FR2021', meaning: 'The manifest has a field that only the API server sets; it is left out.' },
  PolicyNotTaken: {
    code: 'FR2022',
    meaning: 'No agent would accept the settings that the FleetPolicy gives to agents.',
  },
  PolicyTooLarge: { code: 'FR2023', meaning: 'The settings that the FleetPolicy gives to agents are too large.' },
  GatewayWithInbounds: { code: 'FR2024', meaning: 'A Dataplane is a gateway and has inbounds.' },
  DuplicateName: { code: 'FR2025', meaning: 'Two entries of a list have the same name.' },
  UnknownSource: { code: 'FR2026', meaning: 'The RelayConfig names a source that it does not have.' },
  NoConfig: { code: 'FR2027', meaning: 'The file holds no RelayConfig.' },
  SeveralDocuments: { code: 'FR2028', meaning: 'The file holds more than the one RelayConfig.' },

  DeclaredTwice: { code: 'FR3001', meaning: 'Two documents declare the same thing; one of them is in force.' },
  NameCollision: {
    code: 'FR3002',
    meaning: 'Objects that are computed from different sources would have the same name in one cluster.',
  },
  UnknownCluster: { code: 'FR3003', meaning: 'A cluster is named that no KubernetesCluster declares.' },
  GoesNowhere: { code: 'FR3004', meaning: 'No Placement selects the document, so it goes to no cluster.' },
  LastKnownGood: { code: 'FR3005', meaning: 'A declaration cannot be read now and holds as last known good.' },
  PolicyBounded: {
    code: 'FR3006',
    meaning: 'The FleetPolicy asks for more than the RelayConfig allows, and is cut to that.',
  },
  ApprovalUsed: { code: 'FR3007', meaning: 'The RemovalApproval was used and does nothing more.' },
  ApprovalStale: { code: 'FR3008', meaning: "No removals of the RemovalApproval's digest were held when it came." },
  ApprovalExpired: { code: 'FR3009', meaning: 'The RemovalApproval had expired when it was read.' },
  Failed: { code: 'FR3010', meaning: 'A function of the engine threw an error: a defect of fleetrelay.' },

  UnreadableLiveFile: { code: 'FR4001', meaning: 'A file of a directory cluster cannot be read.' },
  SkippedLiveFile: { code: 'FR4002', meaning: 'A file of a directory cluster is not an object and is passed over.' },
  DuplicateLiveObject: { code: 'FR4003', meaning: 'Two files of a directory cluster hold the same object.' },
  KindNotFollowed: { code: 'FR4004', meaning: 'Objects of a kind cannot be watched, so their drift is not seen.' },
} as const satisfies Readonly<Record<string, FindingRow>>;

/** Constant UpperCamelCase word that says what is wrong; programs can match it. */
export type FindingReason = keyof typeof findings;

/** The stable code of a reason, as `FR1010`. */
export type FindingCode = (typeof findings)[FindingReason]['code'];
