import { resolve } from 'node:path';
import { domainRenders } from '../../domains/renders.ts';
import type { Engine } from '../../engine/graph.ts';
import { compareDiagnostics, type Diagnostic } from '../../model/fleet/diagnostic.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { compareText, type JsonObject } from '../../model/text/json.ts';
import { locatedDiagnostics } from '../../runtime/api/locator.ts';
import { declaredDocument, writtenBefore } from '../../runtime/status/status-documents.ts';
import { configuredSource, type SourceChoice } from '../configured-source.ts';
import { FINDINGS_OF_ABSENCE } from '../evaluate.ts';
import { systemDeps } from '../kube.ts';
import { type Checkout, readCheckout } from '../read-checkout.ts';
import type { InputFile } from './domain-render.ts';
import {
  evaluate,
  openStatusFolder,
  type RecordedCluster,
  readRecordedClusters,
  type StatusFolder,
} from './evaluate.ts';
import { prepareFolder, type RenderedObject, writeObjects } from './object-files.ts';

/** The options of `fleetrelay render`. Folders are relative to `cwd`. */
export interface RenderRequest extends SourceChoice {
  /** The folder of the repository. */
  readonly folder: string;
  /** A folder with a directory cluster in each folder of it; absent: no cluster has reported. */
  readonly clusters?: string;
  /** Files with inputs of domains, by the name of the domain. */
  readonly files?: Readonly<Record<string, string>>;
  /** Milliseconds since 1970; absent: now. */
  readonly at?: number;
  /** A checkout of the status branch with the status written last; absent: no status was written. */
  readonly status?: string;
  /** The objects are written there; the folder must be empty or not exist. */
  readonly outputDir?: string;
  /** Of the program; absent: statuses do not name it. */
  readonly version?: string;
  readonly cwd: string;
}

/** The result of an evaluation. Everything is in canonical order. */
export interface Rendering {
  /** The names of the registered clusters. */
  readonly clusters: readonly string[];
  /** The objects that a cluster should hold. Clusters share objects: equal ones are mostly the same value. */
  readonly objectsOf: (cluster: string) => readonly RenderedObject[];
  /** Status documents by their path on the status branch. */
  readonly statuses: Readonly<Record<string, JsonObject>>;
  readonly findings: readonly RenderFinding[];
  /** Rows by the name of the view. */
  readonly views: Readonly<Record<string, readonly JsonObject[]>>;
  /** A file of the repository or of a cluster has an error. */
  readonly isInvalid: boolean;
}

/** A diagnostic with a path relative to a folder of the request. The path of a file of a domain is `given` by the request. */
export interface RenderFinding {
  readonly folder: 'repository' | 'clusters' | 'given';
  readonly diagnostic: Diagnostic;
}

/**
 * Computes once the objects that a server would send and the status that it would write. Rejects with a text for a person
 * if a folder cannot be read or written.
 */
export async function renderRepository(request: RenderRequest): Promise<Rendering> {
  const { folder, clusters, status, outputDir, version, cwd } = request;
  const deps = systemDeps();
  if (outputDir !== undefined) await prepareFolder(resolve(cwd, outputDir));
  const at = Math.floor((request.at ?? deps.clock.now()) / 1000);
  const checkout = await readCheckout(deps, resolve(cwd, folder), await configuredSource(request, cwd));
  const recorded = clusters === undefined ? [] : await readRecordedClusters(resolve(cwd, clusters), deps.clock);
  const files = await readFiles(request);
  const written = status === undefined ? undefined : openStatusFolder(resolve(cwd, status));
  const engine = evaluate(checkout, recorded, at, written, files, version);
  const rendering = withFiles(await renderingOf(engine, checkout, recorded, at, written), engine, files);
  if (outputDir !== undefined) await writeObjects(resolve(cwd, outputDir), rendering.clusters, rendering.objectsOf);
  return rendering;
}

/** Reads the files that the request names. */
function readFiles({ files = {}, cwd }: RenderRequest): Promise<readonly InputFile[]> {
  return Promise.all(
    domainRenders.flatMap(({ name, read }) => {
      const path = files[name];
      return path === undefined || read === undefined ? [] : [read(resolve(cwd, path), path)];
    }),
  );
}

/** Adds the findings in the files of domains. */
function withFiles(rendering: Rendering, engine: Engine, files: readonly InputFile[]): Rendering {
  const own = files.flatMap((file) => file.findings(engine));
  return {
    ...rendering,
    findings: [...rendering.findings, ...own.map((diagnostic) => ({ folder: 'given', diagnostic }) as const)],
    isInvalid: rendering.isInvalid || own.some(({ severity }) => severity === 'error'),
  };
}

/** The result of an engine that has evaluated a checkout and recorded clusters. `at` in seconds since 1970. */
export async function renderingOf(
  engine: Engine,
  checkout: Checkout,
  recorded: readonly RecordedCluster[],
  at: number,
  written: StatusFolder = () => undefined,
): Promise<Rendering> {
  const now = at * 1000;
  const statuses = [...engine.statuses.partitions()]
    .flatMap((kind) => [...engine.statuses.entries(kind)])
    .filter(({ value }) => value.isOfOthers !== true)
    .map(({ value }) => {
      const before = writtenBefore(written(value.path) ?? null, now);
      return [value.path, declaredDocument(value, before, now)] as const;
    });
  const documents = engine.domains
    .flatMap(({ report }) => [...(report.documents?.of.entries('') ?? [])])
    .map(({ key, value }) => [key, value] as const);
  const views = engine.domains
    .flatMap(({ report: { shows } }) => Object.entries(shows?.views ?? {}))
    .map(([name, rows]) => [name, rows()] as const);
  const findings = await findingsOf(engine, checkout, recorded);
  return {
    clusters: [...engine.clusters.entries('')].map(({ key }) => key).sort(compareText),
    objectsOf: (cluster) => objectsOf(engine, cluster),
    statuses: Object.fromEntries([...statuses, ...documents].sort(([a], [b]) => compareText(a, b))),
    findings,
    views: Object.fromEntries(views.sort(([a], [b]) => compareText(a, b))),
    isInvalid: findings.some(({ diagnostic: { severity } }) => severity === 'error'),
  };
}

function objectsOf({ outputs }: Engine, cluster: string): readonly RenderedObject[] {
  const objects: RenderedObject[] = [];
  for (const { key, value } of outputs.entries(cluster)) {
    if (value.type === 'object') objects.push({ key: key as ObjectKey, value: value.value });
  }
  return objects.sort((a, b) => compareText(a.key, b.key));
}

/** The findings in files of the repository, in files of the clusters, and in declarations, in this order. */
async function findingsOf(
  engine: Engine,
  checkout: Checkout,
  recorded: readonly RecordedCluster[],
): Promise<readonly RenderFinding[]> {
  const inClusters = recorded.flatMap(({ name, live: { diagnostics } }) =>
    diagnostics
      .map(({ at, ...rest }) => ({ ...rest, at: { ...at, path: at === undefined ? name : `${name}/${at.path}` } }))
      .sort(compareDiagnostics),
  );
  const declared = await locatedDiagnostics(engine, {
    find: async ({ path, identity, field }) => (identity === '' ? { path } : checkout.locate(path, identity, field)),
  });
  // Another source may have what this one lacks.
  const isAlone = checkout.source?.isOnly !== false;
  const judged = declared.filter(({ reason }) => isAlone || !FINDINGS_OF_ABSENCE.includes(reason));
  return [
    ...checkout.diagnostics.map((diagnostic) => ({ folder: 'repository', diagnostic }) as const),
    ...inClusters.map((diagnostic) => ({ folder: 'clusters', diagnostic }) as const),
    ...judged.map((diagnostic) => ({ folder: 'repository', diagnostic }) as const),
  ];
}
