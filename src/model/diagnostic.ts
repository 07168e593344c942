import { compareText } from './json.ts';

/** The code and the meaning of a reason. */
interface FindingRow {
  /** Stable: no later reason gets the code of a deleted one. */
  readonly code: `FR${number}`;
  /** One sentence. */
  readonly meaning: string;
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
  SymbolicLinkIgnored: { code: 'FR1006', meaning: 'A symbolic link that is no manifest is not followed.' },
  SubmoduleIgnored: { code: 'FR1007', meaning: 'A git submodule is not followed.' },
  IgnoreFile: { code: 'FR1008', meaning: 'The file `.fleetrelayignore` holds a rule that cannot be used.' },
  DecoderFailed: { code: 'FR1009', meaning: 'Decoding the file threw an error: a defect of fleetrelay.' },
  YamlSyntax: { code: 'FR1010', meaning: 'The text is not YAML.' },
  JsonSyntax: { code: 'FR1011', meaning: 'The text is not JSON.' },
  YamlVersion: { code: 'FR1012', meaning: 'The file declares another version than YAML 1.2; it is read as YAML 1.2.' },
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
  TooManyAliases: { code: 'FR1023', meaning: 'The file holds more aliases than the limit.' },
  TooManyValues: { code: 'FR1024', meaning: 'The file holds more values than the limit, aliases counted in full.' },
  TooManyDocuments: { code: 'FR1025', meaning: 'The file holds more documents than the limit.' },
  PathTooLong: { code: 'FR1026', meaning: 'The path of the file is longer than the limit.' },

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
  BadAnnotation: { code: 'FR2014', meaning: "An annotation's key or value is not one that Kubernetes allows." },
  BadSelector: { code: 'FR2015', meaning: 'A label selector contradicts itself or lacks values.' },
  BadPath: { code: 'FR2016', meaning: 'The path or glob is not allowed.' },
  BadAddress: { code: 'FR2017', meaning: 'The address or URL is not allowed.' },
  BadBranch: { code: 'FR2018', meaning: 'The name of the branch is not allowed.' },
  BadDigest: { code: 'FR2019', meaning: 'The text is not a digest.' },
  BadTime: { code: 'FR2020', meaning: 'The text is not an RFC 3339 time with a zone.' },
  ServerField: { code: 'FR2021', meaning: 'The manifest has a field that only the API server sets; it is left out.' },
  PolicyNotTaken: { code: 'FR2022', meaning: 'Agents would refuse the settings of the FleetPolicy.' },
  PolicyTooLarge: { code: 'FR2023', meaning: 'The settings that the FleetPolicy gives to agents are too large.' },
  GatewayWithInbounds: { code: 'FR2024', meaning: 'A Dataplane is a gateway and has inbounds.' },
  DuplicateName: { code: 'FR2025', meaning: 'Two entries of a list have the same name.' },
  UnknownSource: { code: 'FR2026', meaning: 'The RelayConfig names a source that it does not have.' },
  NoConfig: { code: 'FR2027', meaning: 'The file holds no RelayConfig.' },
  SeveralDocuments: { code: 'FR2028', meaning: 'The file holds more than the one RelayConfig.' },

  DeclaredTwice: { code: 'FR3001', meaning: 'Two documents declare the same thing; one of them is in force.' },
  NameCollision: { code: 'FR3002', meaning: 'Objects from different sources would have one name in a cluster.' },
  UnknownCluster: { code: 'FR3003', meaning: 'A cluster is named that no KubernetesCluster declares.' },
  GoesNowhere: { code: 'FR3004', meaning: 'No Placement selects the document, so it goes to no cluster.' },
  LastKnownGood: { code: 'FR3005', meaning: 'A declaration cannot be read now and holds as last known good.' },
  PolicyBounded: { code: 'FR3006', meaning: 'The FleetPolicy is looser than the RelayConfig allows, and is cut.' },
  ApprovalUsed: { code: 'FR3007', meaning: 'The RemovalApproval was used and does nothing more.' },
  ApprovalStale: { code: 'FR3008', meaning: "No removals of the RemovalApproval's digest were held when it came." },
  ApprovalExpired: { code: 'FR3009', meaning: 'The RemovalApproval had expired when it was read.' },
  Failed: { code: 'FR3010', meaning: 'A function of the engine threw an error: a defect of fleetrelay.' },

  UnreadableLiveFile: { code: 'FR4001', meaning: 'A file of a directory cluster cannot be read.' },
  SkippedLiveFile: { code: 'FR4002', meaning: 'A file of a directory cluster is not an object and is passed over.' },
  DuplicateLiveObject: { code: 'FR4003', meaning: 'Two files of a directory cluster hold the same object.' },
  KindNotFollowed: { code: 'FR4004', meaning: 'Objects of a kind cannot be watched, so their drift is not seen.' },
} as const satisfies Readonly<Record<string, FindingRow>>;

/** Constant UpperCamelCase word, for programs. */
export type FindingReason = keyof typeof findings;

/** The stable code of a reason, as `FR1010`. */
export type FindingCode = (typeof findings)[FindingReason]['code'];

/** A place in a file; lines and columns count from 1. */
export interface Location {
  readonly path: string;
  readonly line?: number;
  readonly column?: number;
}

/**
 * A finding about an input. Each `reason` has one `code`. `message` describes the problem, `hint` what to do; neither
 * contains a secret. Only {@link diagnosticOf} creates diagnostics.
 */
export interface Diagnostic {
  readonly severity: 'error' | 'warning';
  readonly code: FindingCode;
  readonly reason: FindingReason;
  readonly message: string;
  readonly hint?: string;
  readonly at?: Location;
}

/** Adds the code of the reason. */
export function diagnosticOf({ severity, reason, ...rest }: Omit<Diagnostic, 'code'>): Diagnostic {
  return { severity, code: findings[reason].code, reason, ...rest };
}

/** `message (hint)`, without the place. */
export function sentenceOf({ message, hint }: Diagnostic): string {
  return hint === undefined ? message : `${message} (${hint})`;
}

/** `path:line:column`, as editors and terminals understand it. */
export function displayLocation({ path, line, column }: Location): string {
  return [path, line, column].filter((part) => part !== undefined).join(':');
}

/** One line: `path:line:column: error: message (hint)`, without the code. */
export function displayDiagnostic(diagnostic: Diagnostic): string {
  const where = diagnostic.at === undefined ? '' : `${displayLocation(diagnostic.at)}: `;
  return `${where}${diagnostic.severity}: ${sentenceOf(diagnostic)}`;
}

/** Orders diagnostics canonically: by path, line, column, reason and message. */
export function compareDiagnostics(a: Diagnostic, b: Diagnostic): number {
  return (
    compareText(a.at?.path ?? '', b.at?.path ?? '') ||
    (a.at?.line ?? 0) - (b.at?.line ?? 0) ||
    (a.at?.column ?? 0) - (b.at?.column ?? 0) ||
    compareText(a.reason, b.reason) ||
    compareText(a.message, b.message)
  );
}
