import { decoders } from '../../../domains/decoders.ts';
import { readDocuments } from '../../../manifest/decode-file.ts';
import { defaultDecodeLimits } from '../../../manifest/limits.ts';
import { readFile } from '../../../manifest/read-file.ts';
import type { Diagnostic } from '../../../model/fleet/diagnostic.ts';
import { engineKindOf } from '../../../model/fleet/engine-kinds.ts';
import { displayKey, type ObjectKey, objectRefOf } from '../../../model/objects/object-key.ts';
import { isJsonObject } from '../../../model/text/json.ts';
import { createReferenceCheck, type ReferenceCheck } from '../../../validation/across-files/check-references.ts';
import { indexDeclared } from '../../../validation/across-files/declared.ts';
import { findDuplicates } from '../../../validation/across-files/duplicates.ts';
import { factsOf } from '../../../validation/across-files/facts.ts';
import type { ConfiguredSource } from '../../configured-source.ts';
import type { CheckedFile } from '../check-file.ts';
import { createBytesReader, type ReadBytes } from '../file-bytes.ts';
import type { FileFacts } from '../file-facts.ts';
import { bytesOf, type InputFile, type Inputs } from '../inputs.ts';
import { type FactsOfFile, locateFindings, type UnplacedFinding } from './locate-findings.ts';

type SourceInputs = Pick<Inputs, 'files' | 'refused' | 'failed' | 'ignoreFolders'>;

/** What the files are judged with. */
interface Context {
  readonly cwd: string;
  readonly source: ConfiguredSource | undefined;
}

/**
 * Adds the findings of rules across files. There are none unless the request names a folder, because single files do not show
 * what the other files declare. A file that cannot be read, a chart and a kustomization may declare any object; beside one of
 * them no object counts as missing.
 */
export async function withFindingsAcross(
  inputs: SourceInputs,
  checked: readonly CheckedFile[],
  { cwd, source }: Context,
): Promise<readonly CheckedFile[]> {
  const files = inputs.files.flatMap((file, index): readonly FactsOfFile[] => {
    const { facts, definitions = [] } = checked[index] ?? {};
    return facts === undefined || file.bytes !== undefined ? [] : [{ file, facts, definitions }];
  });
  const isPartial = inputs.refused.length + inputs.failed.length > 0 || files.some(({ facts }) => facts.isPartial);
  const isFleet = files.some(({ facts }) => facts.declarations.some(placesDocuments));
  const read = createBytesReader();
  const unplaced = [
    ...(isFleet ? [] : duplicatesIn(files)),
    ...(source?.rights !== undefined || files.some(({ facts }) => facts.declarations.length > 0)
      ? await engineFindings(inputs, files, isPartial, { cwd, source })
      : []),
  ];
  const found = Map.groupBy(
    [...locateFindings(unplaced, files, read), ...unknownReferences(files, isPartial, read)],
    ({ at }) => at?.path,
  );
  if (found.size === 0) return checked;
  return checked.map((each, index) => {
    const more = found.get(inputs.files[index]?.name);
    return more === undefined ? each : { ...each, diagnostics: [...each.diagnostics, ...more] };
  });
}

/** The engine is loaded only for files that it reads. */
async function engineFindings(
  inputs: SourceInputs,
  files: readonly FactsOfFile[],
  isPartial: boolean,
  context: Context,
): Promise<readonly UnplacedFinding[]> {
  const { judgeFleet } = await import('./fleet.ts');
  return judgeFleet(files, { folders: inputs.ignoreFolders, isPartial, ...context });
}

/** Whether the document declares a cluster, or places documents in clusters. */
function placesDocuments({ content }: FileFacts['declarations'][number]): boolean {
  return content.type === 'declaration' && (content.kind === 'Placement' || content.kind === 'KubernetesCluster');
}

const NAME = ['metadata', 'name'] as const;

function duplicatesIn(files: readonly FactsOfFile[]): readonly UnplacedFinding[] {
  const documents = files.map(({ file: { name: path }, facts }) => ({
    path,
    keys: facts.objects.map(({ key }) => key).filter(isForClusters),
  }));
  return findDuplicates(documents).map(({ key, at, first, others }): UnplacedFinding => {
    const more = others === 0 ? '' : `, and so are ${others} more objects of this file`;
    const message = `${displayKey(key)} is declared twice${more}: the one applied last counts`;
    const place = { ...at, field: NAME, isOfFacts: true };
    return {
      severity: 'warning',
      reason: 'DeclaredTwice',
      message,
      place,
      conflict: [{ ...first, field: NAME, isOfFacts: true }, place],
    };
  });
}

function isForClusters(key: ObjectKey): boolean {
  const { group, kind } = objectRefOf(key);
  return engineKindOf(group, kind) === undefined;
}

function unknownReferences(files: readonly FactsOfFile[], isPartial: boolean, read: ReadBytes): readonly Diagnostic[] {
  const declared = indexDeclared(
    files.map(({ file: { name: path }, facts: { objects } }) => ({ path, facts: objects })),
  );
  const check = createReferenceCheck(declared, { isPartial });
  return files.flatMap(({ file, facts: { objects } }) => {
    const suspects = new Set(objects.filter(check.isSuspect).map(({ key }) => key as string));
    return suspects.size === 0 ? [] : [...referencesIn(file, suspects, check, read)];
  });
}

/** Reads a file again, since facts have no positions. */
function* referencesIn(
  file: InputFile,
  suspects: ReadonlySet<string>,
  check: ReferenceCheck,
  read: ReadBytes,
): Generator<Diagnostic> {
  const content = bytesOf(file, read);
  if (!content.ok) return;
  const documents = readFile(file.name, content.bytes, defaultDecodeLimits);
  for (const { document, path, value } of readDocuments(documents, decoders)) {
    if (!isJsonObject(value) || !suspects.has(factsOf(value)?.key ?? '')) continue;
    for (const problem of check.problemsOf(value)) {
      yield documents.place(document, { ...problem, path: [...path, ...problem.path] }).diagnostic;
    }
  }
}
