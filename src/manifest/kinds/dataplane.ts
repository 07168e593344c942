import { type Dataplane, validate } from '../../../generated/dataplane.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { type FieldProblem, fieldError } from '../problem.ts';
import { checkForeign, type Decoded } from './reading.ts';

/** Members whose keys are the user's own, not field names of a message. */
const FREE_KEYS = new Set(['tags', 'labels', 'annotations', 'metadata', 'conf', 'status']);

/**
 * Decodes a Kuma Dataplane, in the flat (Universal) form or as a custom resource. As Kuma does, it accepts field names in
 * camelCase and snake_case and integers as strings, and ignores unknown fields with a warning. The flat form has a `type`.
 */
export function readDataplane(document: JsonObject): Decoded<JsonObject> {
  const camelCase = withCamelCaseNames(document) as JsonObject;
  const { problems, value } = checkForeign(camelCase, validate);
  if (value === undefined) return { problems };
  const { mesh = 'default' } = value;
  const metadata = 'type' in value ? { name: value.name, mesh } : value.metadata;
  return { problems: [...problems, ...checkInterfaces(value)], metadata, value: camelCase, mesh };
}

/** The rules of Kuma that a schema cannot express. */
function checkInterfaces(value: Dataplane): readonly FieldProblem[] {
  const networking = 'type' in value ? value.networking : value.spec.networking;
  const at = 'type' in value ? ['networking'] : ['spec', 'networking'];
  const problems: FieldProblem[] = [];
  if (networking.address === '0.0.0.0' || networking.address === '::') {
    problems.push(fieldError('BadAddress', [...at, 'address'], 'the address must not be 0.0.0.0 or ::'));
  }
  if (networking.gateway !== undefined && (networking.inbound?.length ?? 0) > 0) {
    const message = 'a gateway has no inbounds';
    problems.push(fieldError('GatewayWithInbounds', [...at, 'inbound'], message, 'remove one of the two'));
  }
  return problems;
}

function withCamelCaseNames(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withCamelCaseNames);
  if (!isJsonObject(value)) return value;
  const converted: Record<string, JsonValue> = {};
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const name = /^[a-z0-9]+(_[a-z0-9]+)+$/.test(key)
      ? key.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase())
      : key;
    // If a field has both spellings, the camelCase one wins.
    if (name !== key && Object.hasOwn(value, name)) continue;
    converted[name] = FREE_KEYS.has(name) ? member : withCamelCaseNames(member);
  }
  return converted;
}
