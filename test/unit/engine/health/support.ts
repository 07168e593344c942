import type { Engine } from '../../../../src/engine/graph.ts';
import type { JsonObject } from '../../../../src/model/json.ts';

/** A Dataplane in the Universal form; JSON is YAML. */
export function dataplaneYaml(fields: {
  readonly mesh: string;
  readonly name: string;
  readonly networking: JsonObject;
}) {
  return JSON.stringify({ type: 'Dataplane', ...fields });
}

/** An inbound of a service, as a Dataplane writes it. */
export function inbound(service: string, port: number, more: JsonObject = {}): JsonObject {
  return { port, tags: { 'kuma.io/service': service }, ...more };
}

/** The rows of a view. Throws if no domain has it. */
export function rowsOf({ domains }: Engine, view: string): readonly JsonObject[] {
  const rows = domains.flatMap(({ parts }) => parts.views?.[view] ?? []).map((list) => list());
  const [first] = rows;
  if (first === undefined) throw new Error(`there is no view ${view}`);
  return first;
}
