import type { DecodedFile } from '../model/fleet/desired.ts';
import { type Diagnostic, diagnosticOf, type FindingReason } from '../model/fleet/diagnostic.ts';
import type { FieldProblem } from './problem.ts';
import { type FileDocuments, type FileFinding, isClean } from './read-file.ts';
import { FOREIGN_REASONS, isToolFileName, namedOfOtherTool, noManifestFile, toolFile } from './tool-files.ts';

/** Whether the finding is of a document for another tool, and not yet an error. */
export function isForeign({ reason, severity }: Diagnostic): boolean {
  return severity === 'warning' && FOREIGN_REASONS.includes(reason);
}

/** See `DecodedFile`. */
export function namedFiles(file: FileDocuments): Pick<DecodedFile, 'parts' | 'kustomization'> {
  if (!isToolFileName(file.path) || !isClean(file.findings)) return {};
  const { parts = [], kustomization } = toolFileOf(file) ?? {};
  return { parts, ...(kustomization && { kustomization }) };
}

/** Findings about the text of a file that say nothing about its structure: another tool may read it differently. */
const OF_TEXT: readonly FindingReason[] = [
  ...(['YamlVersionsDiffer', 'YamlVersion', 'DuplicateKey', 'KeyNotText', 'MergeKey', 'UnknownTag'] as const),
  ...(['NumberNotFinite', 'NumberTooLarge', 'ForbiddenKey'] as const),
];

/** The problem of a file for another tool; undefined: it is none, or its text cannot be read. */
export function foreignProblem({ path, documents, findings }: FileDocuments): FieldProblem | undefined {
  if (isToolFileName(path)) return undefined;
  if (findings.every(({ diagnostic }) => OF_TEXT.includes(diagnostic.reason))) {
    return noManifestFile(documents.map(({ value }) => value));
  }
  return namedOfOtherTool(path);
}

/** The findings about the text of a file; of a file for another tool there is one alone, if it has no document to place it at. */
export function findingsOf(file: FileDocuments): readonly FileFinding[] {
  const { documents, findings } = file;
  const foreign = foreignProblem(file);
  if (foreign === undefined) return findings;
  const [first] = findings;
  if (first === undefined || documents.some(({ value }) => value !== null)) return [];
  const { severity, reason, message, hint } = foreign;
  const { at } = first.diagnostic;
  const diagnostic = diagnosticOf({ severity, reason, message, ...(hint && { hint }), ...(at && { at }) });
  return [{ ...first, diagnostic }];
}

/** A Helm chart or a kustomization has one document. */
export function toolFileOf({ path, documents }: FileDocuments) {
  const [document, ...others] = documents;
  return document === undefined || others.length > 0 ? undefined : toolFile(path, document.value);
}
