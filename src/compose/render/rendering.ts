import type { Engine } from '../../engine/graph.ts';
import type { DeclaredStatus } from '../../engine/status/declared-status.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import { compareText, type JsonObject } from '../../model/json.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import { locatedDiagnostics } from '../../runtime/api/locator.ts';
import { declaredDocument, type WrittenBefore } from '../../runtime/status/status-documents.ts';
import type { Checkout } from '../read-checkout.ts';
import type { RecordedCluster } from './recorded-clusters.ts';

/** What a repository and clusters come to. Everything is in canonical order. */
export interface Rendering {
  /** The names of the registered clusters. */
  readonly clusters: readonly string[];
  /** What a cluster should hold. Clusters share objects: equal ones are mostly the same value. */
  readonly objectsOf: (cluster: string) => readonly RenderedObject[];
  /** Status documents by their path on the status branch. */
  readonly statuses: Readonly<Record<string, JsonObject>>;
  readonly findings: readonly Finding[];
  /** Rows by the name of the view. */
  readonly views: Readonly<Record<string, readonly JsonObject[]>>;
  /** A file of the repository or of a cluster has an error. */
  readonly isInvalid: boolean;
}

/** An object of a cluster. */
export interface RenderedObject {
  readonly key: ObjectKey;
  readonly value: JsonObject;
}

/** What is to be said, its path relative to a folder. */
export interface Finding {
  readonly folder: 'repository' | 'clusters';
  readonly diagnostic: Diagnostic;
}

/** The names of the registered clusters. */
export function clustersOf({ clusters }: Engine): readonly string[] {
  return [...clusters.entries('')].map(({ key }) => key).sort(compareText);
}

/** What a cluster should hold. */
export function objectsOf({ outputs }: Engine, cluster: string): readonly RenderedObject[] {
  const objects: RenderedObject[] = [];
  for (const { key, value } of outputs.entries(cluster)) {
    if (value.type === 'object') objects.push({ key: key as ObjectKey, value: value.value });
  }
  return objects.sort((a, b) => compareText(a.key, b.key));
}

/** The statuses of everything declared. */
function declaredStatuses({ statuses }: Engine): readonly DeclaredStatus[] {
  return [...statuses.partitions()].flatMap((kind) => [...statuses.entries(kind)].map(({ value }) => value));
}

/** The status documents. Conditions that were written before keep their times. `now` in milliseconds since 1970. */
export function statusesOf(
  engine: Engine,
  before: (path: string) => WrittenBefore,
  now: number,
): Rendering['statuses'] {
  const documents = declaredStatuses(engine).map(
    (status) => [status.path, declaredDocument(status, before(status.path), now)] as const,
  );
  return Object.fromEntries(documents.sort(([a], [b]) => compareText(a, b)));
}

/** The rows of every view of every domain. */
export function viewsOf({ domains }: Engine): Rendering['views'] {
  const views = domains.flatMap(({ parts }) => Object.entries(parts.views ?? {}));
  return Object.fromEntries(views.sort(([a], [b]) => compareText(a, b)).map(([name, rows]) => [name, rows()]));
}

/** What is to be said of the files of the repository, then of those of the clusters, then of what is declared. */
export async function findingsOf(
  engine: Engine,
  checkout: Checkout,
  clusters: readonly RecordedCluster[],
): Promise<readonly Finding[]> {
  const lying = clusters.flatMap(({ name, live: { diagnostics } }) =>
    diagnostics.map((diagnostic) => inFolder(diagnostic, name)).sort(compareFindings),
  );
  const declared = await locatedDiagnostics(engine, {
    find: async ({ path, identity, field }) => (identity === '' ? { path } : checkout.locate(path, identity, field)),
  });
  return [
    ...checkout.diagnostics.map((diagnostic) => ({ folder: 'repository', diagnostic }) as const),
    ...lying.map((diagnostic) => ({ folder: 'clusters', diagnostic }) as const),
    ...declared.map((diagnostic) => ({ folder: 'repository', diagnostic }) as const),
  ];
}

function inFolder({ at, ...diagnostic }: Diagnostic, folder: string): Diagnostic {
  return { ...diagnostic, at: { ...at, path: at === undefined ? folder : `${folder}/${at.path}` } };
}

function compareFindings(a: Diagnostic, b: Diagnostic): number {
  return compareText(a.at?.path ?? '', b.at?.path ?? '') || compareText(a.message, b.message);
}
