import type { Rendering } from '../compose/render/rendering.ts';
import { printYaml } from '../manifest/print-yaml.ts';
import type { JsonObject, JsonValue } from '../model/json.ts';
import type { TextOutput } from './command.ts';

/**
 * Writes `{"outputs": {CLUSTER: [object, ...]}, "statuses": {PATH: document}, "diagnostics": [...]}` and the views beside
 * these. Cluster by cluster: the whole of a large fleet is never one text.
 */
export function writeRendering(out: TextOutput, format: 'json' | 'yaml', rendering: Rendering): void {
  const { clusters, objectsOf, statuses, findings, views } = rendering;
  const diagnostics = findings.map(({ diagnostic }) => diagnostic as unknown as JsonObject);
  const others: JsonObject = { statuses, diagnostics, ...views };
  const valuesOf = (cluster: string): readonly JsonObject[] => objectsOf(cluster).map(({ value }) => value);
  if (format === 'json') writeJson(out, clusters, valuesOf, others);
  else writeYaml(out, clusters, valuesOf, others);
}

type ValuesOf = (cluster: string) => readonly JsonObject[];

/** As `JSON.stringify` with an indentation of two would write it. */
function writeJson(out: TextOutput, clusters: readonly string[], valuesOf: ValuesOf, others: JsonObject): void {
  const texts = new Map<JsonObject, string>();
  const textOf = (value: JsonObject): string => {
    const known = texts.get(value);
    if (known !== undefined) return known;
    const text = jsonAt(3, value);
    texts.set(value, text);
    return text;
  };
  out.write(clusters.length === 0 ? '{\n  "outputs": {}' : '{\n  "outputs": {\n');
  for (const [index, cluster] of clusters.entries()) {
    const objects = valuesOf(cluster).map(textOf);
    const list = objects.length === 0 ? '[]' : `[\n      ${objects.join(',\n      ')}\n    ]`;
    out.write(`    ${JSON.stringify(cluster)}: ${list}${index < clusters.length - 1 ? ',\n' : '\n  }'}`);
  }
  for (const [name, value] of Object.entries(others)) out.write(`,\n  ${JSON.stringify(name)}: ${jsonAt(1, value)}`);
  out.write('\n}\n');
}

/** JSON of a value that stands this deep in another one. */
function jsonAt(depth: number, value: JsonValue | undefined): string {
  return JSON.stringify(value, undefined, 2).replaceAll('\n', `\n${'  '.repeat(depth)}`);
}

function writeYaml(out: TextOutput, clusters: readonly string[], valuesOf: ValuesOf, others: JsonObject): void {
  out.write(clusters.length === 0 ? 'outputs: {}\n' : 'outputs:\n');
  for (const cluster of clusters) {
    const lines = printYaml({ [cluster]: valuesOf(cluster) }).split('\n');
    out.write(
      lines
        .map((line) => (line === '' ? '\n' : `  ${line}\n`))
        .join('')
        .slice(0, -1),
    );
  }
  out.write(printYaml(others));
}
