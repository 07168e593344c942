import type { Diagnostic, Location } from '../../model/fleet/diagnostic.ts';
import type { KubernetesVersion } from '../../validation/kubernetes-schemas.ts';
import type { SourceChoice } from '../configured-source.ts';
import type { KubeTarget } from '../options.ts';

/** What to validate, and how. The source is what folders are judged as: its rights and limits count. */
export interface ValidationRequest extends SourceChoice {
  /** Files and folders, relative to `cwd`; `-` is standard input. */
  readonly paths: readonly string[];
  readonly cwd: string;
  /** Rejects, or returns more bytes than `maxBytes`, if the input is longer. */
  readonly readStdin: (maxBytes: number) => Promise<Uint8Array>;
  /** Of this process: git and kubeconfigs need it. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Versions of Kubernetes, as `1.33`, that every object must suit; the newest one unless set. */
  readonly kubernetesVersions?: readonly KubernetesVersion[];
  /** Templates in the form of kubeconform: a path or a URL with `{{ .ResourceKind }}` and so on; `default` stands for none. */
  readonly schemaLocations?: readonly string[];
  /** A cluster whose CustomResourceDefinitions are read as well. */
  readonly cluster?: KubeTarget;
  /** A kind without schema is an error. */
  readonly strictKinds?: boolean;
  /** A kind without schema is no finding. */
  readonly ignoreMissingSchemas?: boolean;
  /** Kinds that are not checked: `Kind`, `group/Kind` or `apiVersion/Kind`. */
  readonly skip?: readonly string[];
  /** `REF` or `A..B`: only what these commits (and, with a single REF, the work tree) touch and what depends on it is judged. */
  readonly since?: string;
  /**
   * The folder of the repository that the paths are a part of: only they and what depends on them is judged, its ignore file
   * counts for them, and its other files are read for what they define.
   */
  readonly repository?: string;
  /** Files are changed where a finding can be mended safely. */
  readonly fix?: boolean;
  /** Findings have the fixes that `fix` would apply; looking for them costs further checks. */
  readonly findsFixes?: boolean;
  /** The lines of findings are returned as well. */
  readonly excerpts?: boolean;
  /** Threads that check files. Default: one for each processor if that saves time. The report never depends on it. */
  readonly threads?: number;
  /** Called from time to time. `total` is undefined while the folders are listed. */
  readonly progress?: (done: number, total: number | undefined) => void;
}

/** Paths are in the form of the request. */
export interface ValidationReport {
  readonly files: number;
  /** In files without an error. */
  readonly documents: number;
  /** In canonical order: path, line, column, reason, message. */
  readonly diagnostics: readonly Diagnostic[];
  /** Every object with an identity, by path and line. */
  readonly resources: readonly ResourceOutcome[];
  /** What was not judged, as sentences in canonical order: rules in CEL that cannot be evaluated, schemas that cannot be read. */
  readonly notEvaluated: readonly string[];
  /** The lines of findings by `path:line`, if they were asked for. Without lines of files that may hold a Secret, and without very long ones. */
  readonly excerpts: ReadonlyMap<string, string>;
  /** The files that `fix` has changed, in canonical order. */
  readonly fixed: readonly FixedFile[];
  /** With `fix` and standard input that is text: the text, mended. */
  readonly fixedStdin?: string;
}

/** A file that was changed. */
export interface FixedFile {
  readonly path: string;
  /** Number of findings that were mended in it. */
  readonly findings: number;
}

/** `invalid`: it has an error. `skipped`: as the request asks. `noSchema`: no schema of its kind was found. */
export type ResourceState = 'valid' | 'invalid' | 'skipped' | 'noSchema';

/** What was found of one object. A finding belongs to the last resource that begins at its place or above. */
export interface ResourceOutcome {
  readonly path: string;
  /** Where it begins. */
  readonly line: number;
  readonly column: number;
  readonly apiVersion: string;
  readonly kind: string;
  /** Empty if the manifest names none. */
  readonly namespace: string;
  readonly name: string;
  readonly state: ResourceState;
}

/** Whether a document begins at a place or above. A place without a line is the first one; one without a column is a whole line. */
export function beginsBefore(
  { line, column }: Pick<ResourceOutcome, 'line' | 'column'>,
  { line: atLine = 1, column: atColumn = Number.POSITIVE_INFINITY }: Pick<Location, 'line' | 'column'> = {},
): boolean {
  return line < atLine || (line === atLine && column <= atColumn);
}
