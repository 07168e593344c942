import type { Answer } from '../../api/answer.ts';
import type { ImpactRequest, ImpactView } from '../../api/why-api.ts';
import { type DocumentImpact, documentsOf, impactOf, keptFrom, type Reached } from '../../engine/explain/impact.ts';
import type { DocumentRef } from '../../engine/fleet/sources.ts';
import type { Engine } from '../../engine/graph.ts';
import type { FileProvenance } from '../../engine/inputs.ts';
import { quote, type SourceName } from '../../model/fleet/ids.ts';
import type { Origin } from '../../model/fleet/output.ts';
import { displayKey } from '../../model/objects/object-key.ts';
import { compareText } from '../../model/text/json.ts';
import { counted, suggestion } from '../../model/text/messages.ts';
import { listed } from './explain-messages.ts';
import { displayPlace, type StepDeps } from './explain-steps.ts';

interface ImpactDeps extends StepDeps {
  readonly engine: Engine;
}

/** Answers which clusters and objects a file reaches, or the document of it at a line. */
export async function impactOfFile(deps: ImpactDeps, question: ImpactRequest): Promise<Answer<ImpactView>> {
  const found = findFile(deps, question);
  if (!found.ok) return found;
  const { engine } = deps;
  const origin = found.value;
  const file = engine.inputs.files.get(origin.source, origin.path);
  if (file?.readable !== true || (file.notRead !== undefined && file.documents.length === 0)) {
    const kept = keptFrom(engine, origin);
    const what = file?.notRead === undefined ? 'the file cannot be read now' : `nothing is read of it: ${file.notRead}`;
    const message = `${what}; what came from it stays as it is: ${counted(kept.length, 'object')}`;
    const at = displayPlace(deps, origin.source, { path: origin.path });
    return {
      ok: true,
      value: viewOf(engine, origin, [{ name: '', at, message }], kept, clustersOf(kept), question.limit),
    };
  }
  const all = await Promise.all(
    documentsOf(engine, origin).map(async (ref) => ({ ref, place: await deps.locator.find(ref) })),
  );
  const inOrder = all.toSorted((a, b) => (a.place.line ?? 0) - (b.place.line ?? 0));
  const { line } = question;
  const meant = line === undefined ? inOrder : inOrder.filter(({ place }) => (place.line ?? 0) <= line).slice(-1);
  if (meant.length === 0) {
    const first = inOrder[0]?.place.line;
    const message =
      first === undefined
        ? `${origin.path} has no document`
        : `no document of ${origin.path} begins at line ${line} or before; the first begins at line ${first}`;
    return { ok: false, kind: 'notFound', message };
  }
  const lines = line === undefined ? undefined : await linesOf(deps, origin);
  if (line !== undefined && lines !== undefined && line > lines) {
    return {
      ok: false,
      kind: 'notFound',
      message: `${origin.path} has no line ${line}: it has ${counted(lines, 'line')}`,
    };
  }
  const refs = meant.map(({ ref }) => ref);
  const impacts = impactOf(engine, origin, refs);
  const placeOf = (at: DocumentRef): string => {
    const place = meant.find(({ ref }) => ref.identity === at.identity)?.place ?? { path: origin.path };
    return displayPlace(deps, origin.source, place);
  };
  const documents = refs.flatMap((ref) =>
    impacts
      .filter(({ at }) => at.identity === ref.identity)
      .map(({ name, at, message }) => ({ name, at: placeOf(at), message })),
  );
  const clusters = impacts.flatMap((impact: DocumentImpact) => impact.clusters);
  const objects = unique(impacts);
  return { ok: true, value: viewOf(engine, origin, documents, objects, clusters, question.limit) };
}

/** The number of lines of a file; undefined: its source cannot be read now. */
async function linesOf({ engine, sources }: ImpactDeps, { source, path }: Origin): Promise<number | undefined> {
  const blob = (engine.inputs.files.provenance(source, path) as FileProvenance | undefined)?.blob;
  if (blob === undefined) return undefined;
  const bytes = await sources
    .get(source)
    ?.source.read(path, blob)
    .catch(() => undefined);
  if (bytes === undefined) return undefined;
  const lines = new TextDecoder().decode(bytes).split(/\r\n|\r|\n/);
  return lines.at(-1) === '' ? lines.length - 1 : lines.length;
}

function clustersOf(objects: readonly Reached[]): readonly string[] {
  return objects.map(({ cluster }) => cluster);
}

/** The objects of all documents, each once, in canonical order. */
function unique(impacts: readonly DocumentImpact[]): readonly Reached[] {
  const [only] = impacts;
  if (only !== undefined && impacts.length === 1) return only.objects;
  const objects = impacts.flatMap((impact) => impact.objects);
  return [...new Map(objects.map((each) => [`${each.cluster} ${each.key}`, each])).values()].sort(
    (a, b) => compareText(a.cluster, b.cluster) || compareText(a.key, b.key),
  );
}

function viewOf(
  engine: Engine,
  { source, path }: Origin,
  documents: ImpactView['documents'],
  objects: readonly Reached[],
  clusters: readonly string[],
  limit: number,
): ImpactView {
  const counts = new Map<string, number>(clusters.map((cluster) => [cluster, 0]));
  for (const { cluster } of objects) counts.set(cluster, (counts.get(cluster) ?? 0) + 1);
  return {
    source,
    path,
    documents,
    clusters: [...counts]
      .sort(([a], [b]) => compareText(a, b))
      .map(([cluster, number]) => ({ cluster, objects: number })),
    objects: objects.slice(0, limit).map(({ cluster, key }) => {
      const state = engine.progress.get(cluster, key)?.state ?? 'pending';
      return { cluster, object: displayKey(key), state };
    }),
    total: objects.length,
  };
}

/** The file that a path means; otherwise paths that are much like it. */
function findFile({ engine, sources }: ImpactDeps, { path, source }: ImpactRequest): Answer<Origin> {
  const names = sources.all().map(({ source: { name } }) => name);
  if (source !== undefined && !names.some((name) => name === source)) {
    const message = `there is no source ${quote(source)}; there are ${listed(names)}`;
    return { ok: false, kind: 'notFound', message };
  }
  const among = names.filter((name) => source === undefined || name === source);
  const having = among.filter((name) => engine.inputs.files.get(name, path) !== undefined);
  const [only] = having;
  if (only !== undefined && having.length === 1) return { ok: true, value: { source: only, path } };
  if (having.length > 1) {
    const message = `several sources have ${path}: name one, as in ${having[0]}:${path}`;
    return { ok: false, kind: 'conflict', message };
  }
  return { ok: false, kind: 'notFound', message: unknownFile(engine, among, path) };
}

/** Paths of one name that a message compares. */
const MOST_COMPARED = 20_000;

function unknownFile({ inputs: { files } }: Engine, among: readonly SourceName[], path: string): string {
  if (!/\.(ya?ml|json)$/i.test(path)) {
    return `${quote(path)} is no manifest: servers read files whose names end with .yaml, .yml or .json`;
  }
  const baseOf = (text: string): string => text.slice(text.lastIndexOf('/') + 1);
  const paths = among.flatMap((name) => [...files.entries(name)].map(({ key }) => key));
  const same = paths.filter((each) => baseOf(each) === baseOf(path)).sort(compareText);
  const near = same.length > 0 ? listed(same.slice(0, 5)) : suggestion(path, paths.slice(0, MOST_COMPARED));
  const hint = near === undefined ? '; paths begin at the root of the source' : `; did you mean ${near}?`;
  return `no source has a manifest ${quote(path)}${hint}`;
}
