import { resolve } from 'node:path';
import { writtenBefore } from '../../runtime/status/status-documents.ts';
import { systemDeps } from '../kube.ts';
import { readCheckout } from '../read-checkout.ts';
import { evaluate } from './evaluate.ts';
import { prepareFolder, writeObjects } from './object-files.ts';
import { readRecordedClusters } from './recorded-clusters.ts';
import { clustersOf, findingsOf, objectsOf, type Rendering, statusesOf, viewsOf } from './rendering.ts';
import { openStatusFolder } from './status-folder.ts';

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
  const written = request.status === undefined ? undefined : openStatusFolder(absolute(request.status));
  const engine = evaluate(checkout, recorded, at, written);
  const findings = await findingsOf(engine, checkout, recorded);
  const rendering: Rendering = {
    clusters: clustersOf(engine),
    objectsOf: (cluster) => objectsOf(engine, cluster),
    statuses: statusesOf(engine, (path) => writtenBefore(written?.(path) ?? null, now), now),
    findings,
    views: viewsOf(engine),
    isInvalid: [...checkout.diagnostics, ...recorded.flatMap(({ live }) => live.diagnostics)].some(
      ({ severity }) => severity === 'error',
    ),
  };
  if (outputDir !== undefined) await writeObjects(outputDir, rendering);
  return rendering;
}
