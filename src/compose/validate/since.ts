import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { readWorkTreeChanges, type WorkTreeChanges } from '../../adapters/git/work-tree.ts';
import { createSystemClock } from '../../adapters/system/clock.ts';
import { decoders } from '../../domains/decoders.ts';
import { decodeFile } from '../../manifest/decode-file.ts';
import { isForeign } from '../../manifest/foreign-documents.ts';
import { defaultDecodeLimits } from '../../manifest/limits.ts';
import { FOREIGN_REASONS, isToolFileName } from '../../manifest/tool-files.ts';
import { quote } from '../../model/fleet/ids.ts';
import { matchesLabels } from '../../model/objects/label-selector.ts';
import { kindOf, objectRefOf } from '../../model/objects/object-key.ts';
import { compileGlob } from '../../model/text/glob.ts';
import { objectOf, textOf } from '../../model/text/json.ts';
import { asError } from '../../sources/tree/foreign-files.ts';
import { hasManifestEnding, IGNORE_FILE } from '../../sources/tree/ignore-file.ts';
import type { ObjectFacts } from '../../validation/across-files/facts.ts';
import { ANY_NAME } from '../../validation/across-files/likely-references.ts';
import { selectedBy } from '../../validation/across-files/object-references.ts';
import { type CheckedDocument, type CheckedFile, checkFile } from './check-file.ts';
import { type InputFile, type Inputs, pathInSource, sourceRoot } from './inputs.ts';
import type { ValidationRequest } from './report.ts';
import { liesIn, resourcesOf } from './resources.ts';
import { type CheckSettings, createObjectChecks } from './schemas/object-checks.ts';

/** What a range of commits has touched, or what the request names. */
export interface Touched {
  /** Whether a file was added, changed or removed; `location` is its absolute path. */
  touches(location: string): boolean;
  /** An ignore file of the inputs, so that every file may be judged differently. */
  readonly isEverything: boolean;
  /** The path of a file as the paths below are. */
  real(location: string): string;
  /** A manifest was added or removed. */
  readonly hasOtherFiles: boolean;
  /** The manifests before the range, of files that were changed or removed, by their absolute path. */
  readonly before: ReadonlyMap<string, CheckedFile>;
  /** What kustomizations that were changed or removed listed before the range, as absolute paths. */
  readonly listedBefore: ReadonlySet<string>;
}

/**
 * Asks git what the range of the request touches. Rejects with a text for people if there is no repository, or it does not
 * know the commits.
 */
export async function readTouched(
  { cwd, since = '', env = {} }: ValidationRequest,
  inputs: Inputs,
  settings: CheckSettings,
): Promise<Touched> {
  const opened = await readWorkTreeChanges({ clock: createSystemClock(), environment: env }, cwd, since);
  if (!opened.ok) throw new Error(`--changed-since ${since}: ${opened.problem}`);
  const { root, changes } = opened.value;
  try {
    const real = createRealPaths();
    const outside = inputs.files.find(
      ({ bytes, location }) => bytes === undefined && !real(location).startsWith(`${root}${sep}`),
    );
    if (outside !== undefined) {
      throw new Error(`--changed-since ${since}: ${quote(outside.name)} is not in the repository of ${quote(cwd)}`);
    }
    const paths = new Set(changes.map(({ path }) => resolve(root, path)));
    return {
      touches: (location) => paths.has(real(location)),
      real,
      isEverything: inputs.ignoreFolders.some((folder) => paths.has(real(join(folder, IGNORE_FILE)))),
      hasOtherFiles: changes.some(
        ({ path, before, now }) => hasManifestEnding(path) && (before !== null) !== (now === 'file'),
      ),
      ...(await filesBefore(opened.value, settings)),
    };
  } finally {
    opened.value.close();
  }
}

/** The files of a repository that the request names, or that lie in folders that it names. */
export function namedPart({ paths, cwd }: Pick<ValidationRequest, 'paths' | 'cwd'>): Touched {
  const named = new Set(paths.map((path) => resolve(cwd, path)));
  const touches = (location: string): boolean => {
    for (let at = location; ; at = dirname(at)) {
      if (named.has(at)) return true;
      if (at === dirname(at)) return false;
    }
  };
  const isEverything = [...named].some((location) => basename(location) === IGNORE_FILE);
  const before = new Map<string, CheckedFile>();
  const real = (location: string): string => location;
  return { touches, real, isEverything, hasOtherFiles: false, before, listedBefore: new Set() };
}

async function filesBefore(
  { root, changes, readBlob }: WorkTreeChanges,
  settings: CheckSettings,
): Promise<Pick<Touched, 'before' | 'listedBefore'>> {
  const checks = await createObjectChecks(settings);
  const files = new Map<string, CheckedFile>();
  const listed = new Set<string>();
  for (const { path, before } of changes) {
    if (before === null || !hasManifestEnding(path)) continue;
    const blob = await readBlob(before, defaultDecodeLimits.maxBytes);
    if (blob.type !== 'read') continue;
    files.set(resolve(root, path), checkFile(path, { ok: true, bytes: blob.bytes }, checks));
    const { kustomization } = isToolFileName(path) ? decodeFile(path, blob.bytes, before, { decoders }) : {};
    for (const resource of kustomization?.resources ?? []) listed.add(resolve(root, resource));
  }
  return { before: files, listedBefore: listed };
}

/**
 * Makes errors of the findings of a file that held a manifest before the range and belongs to another tool now: it does not say
 * whether what came from it is to stay.
 */
export function withFormerManifests(
  { files }: Inputs,
  checked: readonly CheckedFile[],
  { before, real }: Touched,
): readonly CheckedFile[] {
  return checked.map((file, index) => {
    const { location = '', bytes } = files[index] ?? {};
    if (bytes !== undefined || !file.diagnostics.some(isForeign)) return file;
    const known = before.get(real(location));
    if (known === undefined || known.documents.length === 0 || known.diagnostics.some(isForeign)) return file;
    const diagnostics = file.diagnostics.map((diagnostic) => asError(diagnostic, 'the file held a manifest before'));
    return { ...file, diagnostics };
  });
}

/** The path of a file without links in its folders, as git states it. */
function createRealPaths(): (location: string) => string {
  const folders = new Map<string, string>();
  return (location) => {
    const folder = dirname(location);
    const known = folders.get(folder);
    const real = known ?? realpathSync(folder);
    if (known === undefined) folders.set(folder, real);
    return join(real, basename(location));
  };
}

/** The files that the range touches, and those that depend on what it touches. */
export function affectedFiles(
  inputs: Inputs,
  checked: readonly CheckedFile[],
  touched: Touched,
  cwd: string,
): ReadonlySet<InputFile> {
  if (touched.isEverything) return new Set(inputs.files);
  const own = inputs.files.map(({ bytes, location }) => bytes !== undefined || touched.touches(location));
  const changed = [...checked.filter((_, index) => own[index] === true), ...touched.before.values()];
  const identities = new Set<string>();
  const kinds = new Set<string>();
  for (const { documents, definitions } of changed) {
    for (const document of documents) {
      const { group, kind, namespace, name } = partsOf(document);
      for (const each of [name, ANY_NAME]) identities.add(`${group}/${kind}/${namespace}/${each}`);
    }
    for (const { spec } of definitions) {
      const { group, names } = objectOf(spec);
      kinds.add(`${textOf(group)}/${textOf(objectOf(names).kind)}`);
    }
  }
  const depends = (document: CheckedDocument): boolean => {
    const { group, kind } = partsOf(document);
    if (kind === 'Placement' && touched.hasOtherFiles) return true;
    return kinds.has(`${group}/${kind}`) || document.references.some((reference) => identities.has(reference));
  };
  const wasPlaced = placedBefore(touched, sourceRoot(inputs.ignoreFolders, cwd));
  const selected = selectedBefore(touched);
  const isResource = createIsResource(inputs, touched);
  // What files of other tools are judged by: the rules, and the files that a kustomization or chart claims.
  const judgesOthers =
    changed.some(({ documents }) => documents.some(({ kind }) => RULES.includes(kind))) ||
    inputs.claimed.some(touched.touches);
  return new Set(
    inputs.files.filter((file, index) => {
      const { documents = [], facts, diagnostics = [] } = checked[index] ?? {};
      return (
        own[index] === true ||
        documents.some(depends) ||
        wasPlaced(file) ||
        facts?.objects.some(selected) === true ||
        (judgesOthers && diagnostics.some(({ reason }) => FOREIGN_REASONS.includes(reason))) ||
        isResource(file.location)
      );
    }),
  );
}

/** Kinds that say which files are wanted as desired state. */
const RULES: readonly string[] = ['Placement', 'KubernetesCluster'];

/** Whether a kustomization that is touched lists the file, or listed it before the range. */
function createIsResource({ tools }: Inputs, touched: Touched): (location: string) => boolean {
  const parts = new Set<string>();
  for (const [folder, found] of tools) {
    for (const part of resourcesOf(found, (path) => touched.touches(join(folder, path)))) parts.add(join(folder, part));
  }
  return (location) => liesIn(parts, location) || liesIn(touched.listedBefore, touched.real(location));
}

/** Whether a Placement selected the file before the range, which has changed or removed that Placement. */
function placedBefore({ before }: Touched, root: string): (file: InputFile) => boolean {
  const globs = [...before.values()]
    .flatMap(({ facts }) => facts?.declarations ?? [])
    .flatMap(({ content }) =>
      content.type === 'declaration' && content.kind === 'Placement' ? content.value.paths : [],
    )
    .map(compileGlob);
  return ({ location }) => globs.length > 0 && globs.some(({ matches }) => matches(pathInSource(root, location)));
}

/** Whether the object selected Pods or Services of a document before the range, which has changed or removed that. */
function selectedBefore({ before }: Touched): (facts: ObjectFacts) => boolean {
  const labelled = [...before.values()].flatMap(({ facts }) =>
    (facts?.objects ?? []).flatMap(({ key, labels }) =>
      labels === undefined ? [] : [{ ...objectRefOf(key), labels }],
    ),
  );
  return ({ key, selector }) => {
    if (selector === undefined || labelled.length === 0) return false;
    const { namespace } = objectRefOf(key);
    const selectsServices = selectedBy(kindOf(key)) === 'Services';
    return labelled.some(
      (each) =>
        (each.kind === 'Service') === selectsServices &&
        (selectsServices || each.namespace === namespace) &&
        matchesLabels(selector, each.labels),
    );
  };
}

function partsOf({ apiVersion, kind, namespace, name }: CheckedDocument) {
  const slash = apiVersion.indexOf('/');
  return { group: slash < 0 ? '' : apiVersion.slice(0, slash), kind, namespace, name };
}
