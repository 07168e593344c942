import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { load } from 'js-yaml';
import { errorText } from '../../model/error-text.ts';
import type { JsonValue } from '../../model/json.ts';
import { nothingWritten, type WrittenBefore, writtenBefore } from '../../runtime/status/status-documents.ts';
import { systemDeps } from '../kube.ts';
import { readCheckout } from '../read-checkout.ts';
import { evaluate } from './evaluate.ts';
import { prepareFolder, writeObjects } from './object-files.ts';
import { readRecordedClusters } from './recorded-clusters.ts';
import {
  clustersOf,
  declaredStatuses,
  findingsOf,
  objectsOf,
  type Rendering,
  statusesOf,
  viewsOf,
} from './rendering.ts';

/** What `fleetrelay render` is told. Folders are relative to `cwd`. */
export interface RenderRequest {
  /** Of the repository. */
  readonly folder: string;
  /** A folder with a directory cluster in each folder of it; absent: nothing is known of any cluster. */
  readonly clusters?: string;
  /** Milliseconds since 1970; absent: now. */
  readonly at?: number;
  /** A checkout of the status branch: what is in it was written last; absent: nothing was. */
  readonly status?: string;
  /** The objects are written there; the folder must be empty or not be there. */
  readonly outputDir?: string;
  readonly cwd: string;
}

/**
 * Computes once what a server would send and write as status. Rejects with a text for a person if a folder cannot be
 * read or written.
 */
export async function renderRepository(request: RenderRequest): Promise<Rendering> {
  const deps = systemDeps();
  const absolute = (folder: string): string => resolve(request.cwd, folder);
  const outputDir = request.outputDir === undefined ? undefined : absolute(request.outputDir);
  if (outputDir !== undefined) await prepareFolder(outputDir);
  const at = Math.floor((request.at ?? deps.clock.now()) / 1000);
  const now = at * 1000;
  const checkout = await readCheckout(deps, absolute(request.folder));
  const recorded =
    request.clusters === undefined ? [] : await readRecordedClusters(absolute(request.clusters), deps.clock);
  const engine = evaluate(checkout, recorded, at);
  const paths = declaredStatuses(engine).map(({ path }) => path);
  const written = request.status === undefined ? undefined : await readWritten(absolute(request.status), paths, now);
  const findings = await findingsOf(engine, checkout, recorded);
  const rendering: Rendering = {
    clusters: clustersOf(engine),
    objectsOf: (cluster) => objectsOf(engine, cluster),
    statuses: statusesOf(engine, (path) => written?.get(path) ?? nothingWritten, now),
    findings,
    views: viewsOf(engine),
    isInvalid: [...checkout.diagnostics, ...recorded.flatMap(({ live }) => live.diagnostics)].some(
      ({ severity }) => severity === 'error',
    ),
  };
  if (outputDir !== undefined) await writeObjects(outputDir, rendering);
  return rendering;
}

/**
 * What the files of a checkout of the status branch say. One that is missing or no YAML says nothing.
 *
 * @param now milliseconds since 1970: later times are taken for this one
 */
async function readWritten(
  folder: string,
  paths: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, WrittenBefore>> {
  const written = new Map<string, WrittenBefore>();
  const found = await stat(folder).catch((error: unknown) => errorText(error));
  if (typeof found === 'string') throw new Error(`the status in ${folder} cannot be read: ${found}`);
  for (const path of paths) {
    const value = await readFile(join(folder, path), 'utf8').then(
      (text) => load(text) as JsonValue,
      () => undefined,
    );
    if (value !== undefined) written.set(path, writtenBefore(value, now));
  }
  return written;
}
