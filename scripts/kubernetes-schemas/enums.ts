/** What the published OpenAPI of Kubernetes leaves out of a field: its enum (or its items' enum) and its default. */
export interface FieldExtras {
  readonly enum?: readonly string[];
  readonly itemsEnum?: readonly string[];
  readonly default?: string;
}

const FUNCTION = /^func schema_(\w+)\(ref common\.ReferenceCallback\)[^\n]*\n([\s\S]*?)^}$/gm;
const FIELD = /^\t{5}"([^"]+)": \{$/;
const ENUM = /^(\t+)Enum: +\[\](?:interface\{\}|any)\{(.*)\},$/;
const DEFAULT = /^\t{7}Default: +("(?:[^"\\]|\\.)+"),$/;
/** The indentation of the keywords of a field, and of the items of a list. */
const OF_FIELD = 7;
const OF_ITEMS = 10;

/**
 * Reads `zz_generated.openapi.go`: function name (`k8sio_api_core_v1_Pod`) → field → what the published OpenAPI lacks.
 * Throws if an enum is not where this reader expects it.
 */
export function readExtras(source: string): ReadonlyMap<string, ReadonlyMap<string, FieldExtras>> {
  const all = new Map<string, ReadonlyMap<string, FieldExtras>>();
  for (const [, name = '', body = ''] of source.matchAll(FUNCTION)) {
    const fields = extrasOfDefinition(name, body);
    if (fields.size > 0) all.set(name, fields);
  }
  return all;
}

function extrasOfDefinition(name: string, body: string): ReadonlyMap<string, FieldExtras> {
  const fields = new Map<string, FieldExtras>();
  let field: string | undefined;
  for (const line of body.split('\n')) {
    field = FIELD.exec(line)?.[1] ?? field;
    const found = extrasOfLine(line);
    if (found === undefined) continue;
    if (field === undefined) throw new Error(`schema_${name}: an enum outside a field: ${line.trim()}`);
    fields.set(field, { ...fields.get(field), ...found });
  }
  return fields;
}

function extrasOfLine(line: string): FieldExtras | undefined {
  const [, value] = DEFAULT.exec(line) ?? [];
  if (value !== undefined) return { default: JSON.parse(value) as string };
  const [, indentation = '', words] = ENUM.exec(line) ?? [];
  if (words === undefined) return undefined;
  const values = JSON.parse(`[${words}]`) as string[];
  if (indentation.length === OF_FIELD) return { enum: values };
  if (indentation.length === OF_ITEMS) return { itemsEnum: values };
  throw new Error(`an enum at an unexpected place: ${line.trim()}`);
}

/** The name of the Go function that describes a definition of the published OpenAPI. */
export function functionOf(definition: string): string {
  const parts = definition.split('.');
  // io.k8s.api.core.v1.Pod is k8s.io/api/core/v1; the generator names other packages by their last four folders at most.
  if (definition.startsWith('io.k8s.api.')) return `k8sio_${parts.slice(2).join('_')}`;
  return parts.slice(-5).join('_');
}
