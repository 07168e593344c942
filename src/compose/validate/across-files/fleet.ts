import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EngineDiagnostic } from '../../../engine/domain.ts';
import { engineDiagnostics, unusedPaths } from '../../../engine/status/diagnostics.ts';
import type { FileReading, SourceDocument } from '../../../model/fleet/desired.ts';
import { engineKindOf } from '../../../model/fleet/engine-kinds.ts';
import { objectRefOf } from '../../../model/objects/object-key.ts';
import { objectDigest } from '../../../model/text/digest.ts';
import { type JsonObject, objectOf } from '../../../model/text/json.ts';
import { given } from '../../../model/values/given.ts';
import { IGNORE_FILE } from '../../../sources/tree/ignore-file.ts';
import type { ConfiguredSource } from '../../configured-source.ts';
import { FINDINGS_OF_ABSENCE, openEvaluation } from '../../evaluate.ts';
import { pathInSource, sourceRoot } from '../inputs.ts';
import type { FactsOfFile, UnlocatedPlace, UnplacedFinding } from './locate-findings.ts';

interface FleetOptions {
  /** The folders that the request names, as absolute paths. */
  readonly folders: readonly string[];
  readonly cwd: string;
  /** Some files could not be read, or belong to other tools. */
  readonly isPartial: boolean;
  /** The source that they are; absent: one that may say everything. */
  readonly source: ConfiguredSource | undefined;
}

/**
 * The findings of the engine about the files of a fleet. They are the same as in a server with the named folder as its source (if
 * several are named: the current folder) before any cluster has reported.
 */
export function judgeFleet(
  files: readonly FactsOfFile[],
  { folders, cwd, isPartial, source }: FleetOptions,
): readonly UnplacedFinding[] {
  const root = sourceRoot(folders, cwd);
  const names = new Map<string, string>();
  const readings = new Map<string, { readonly reading: FileReading }>();
  for (const each of files) {
    const { file } = each;
    const path = pathInSource(root, file.location);
    if (path.startsWith('..')) continue;
    names.set(path, file.name);
    readings.set(path, { reading: readingOf(each) });
  }
  const engine = openEvaluation({ files: readings, source });
  engine.commit();
  const kinds = new Set(files.flatMap(({ facts }) => facts.declarations.map(({ content }) => kindOf(content))));
  const isFleet = kinds.has('KubernetesCluster') || kinds.has('Placement');
  const isWhole = (kinds.has('KubernetesCluster') && kinds.has('Placement')) || (folders.length <= 1 && isRoot(root));
  const canMiss = isFleet && isWhole && !isPartial && source?.isOnly !== false;
  return [...engineDiagnostics(engine), ...unusedPaths(engine)]
    .filter(({ reason }) => canMiss || !FINDINGS_OF_ABSENCE.includes(reason))
    .flatMap((diagnostic) => unplacedOf(diagnostic, names));
}

/** A folder in a larger repository may be a part of a source. */
function isRoot(folder: string): boolean {
  const isMarked = (each: string): boolean => [IGNORE_FILE, '.git'].some((name) => existsSync(join(each, name)));
  if (isMarked(folder)) return true;
  for (let each = folder; each !== dirname(each); each = dirname(each)) if (isMarked(dirname(each))) return false;
  return true;
}

function kindOf(content: SourceDocument['content']): string {
  return content.type === 'declaration' ? content.kind : '';
}

/** The engine judges the keys of objects, and the scope that a CustomResourceDefinition gives to its kind. */
function readingOf({ facts: { objects, declarations, isPartial }, definitions }: FactsOfFile): FileReading {
  if (isPartial && objects.length === 0) return { readable: false, blob: '', findings: ['the file cannot be read'] };
  const counts = new Map<string, number>();
  const documents = objects.flatMap(({ key }, index): readonly SourceDocument[] => {
    const ref = objectRefOf(key);
    if (engineKindOf(ref.group, ref.kind) !== undefined) return [];
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    const definition = ref.kind === 'CustomResourceDefinition' ? definitions.find(isNamed(ref.name)) : undefined;
    const value = definition === undefined ? {} : scopeIn(definition);
    const content = { type: 'object', ref, value, digest: NO_DIGEST } as const;
    return [{ identity: count === 1 ? key : `${key}#${count}`, index, content }];
  });
  return { readable: true, blob: '', findings: [], documents: [...documents, ...declarations] };
}

const NO_DIGEST = objectDigest({});

const isNamed = (name: string) => (object: JsonObject) => objectOf(object.metadata).name === name;

function scopeIn(definition: JsonObject): JsonObject {
  const { group, scope, names } = objectOf(definition.spec);
  return { spec: { group, scope, names: { kind: objectOf(names).kind } } };
}

/** Of a conflict, each document but the first one, which counts. */
function unplacedOf(
  { at, ...about }: EngineDiagnostic,
  names: ReadonlyMap<string, string>,
): readonly UnplacedFinding[] {
  const places = at.flatMap(({ path, identity, field }): readonly UnlocatedPlace[] => {
    const name = names.get(path);
    return name === undefined ? [] : [{ path: name, identity, ...given({ field }) }];
  });
  const isConflict = about.reason === 'DeclaredTwice' && places.length > 1;
  return isConflict
    ? places.slice(1).map((place) => ({ ...about, place, conflict: places }))
    : places.map((place) => ({ ...about, place }));
}
