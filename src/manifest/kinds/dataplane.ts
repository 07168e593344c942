import { type Dataplane, validate } from '../../../generated/dataplane.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { type FieldProblem, fieldError } from '../problem.ts';
import { check, type DocumentReading, declare, identityOf, isReadable, withUnknownFieldsIgnored } from './reading.ts';

/** Members whose keys are the user's own, not field names of a message. */
const FREE_KEYS = new Set(['tags', 'labels', 'annotations', 'metadata', 'conf', 'status']);

/**
 * Reads a Kuma Dataplane, flat (Universal) or as the custom resource. As Kuma does, it takes field names in camelCase and
 * snake_case, whole numbers as text, and passes over fields that it does not know (with a warning).
 */
export function readDataplane(document: JsonObject): DocumentReading {
  const camelCase = withCamelCaseNames(document);
  const { problems, value } = withUnknownFieldsIgnored(camelCase, (candidate) => check(candidate, validate));
  if (value === undefined) return { problems };
  const all: FieldProblem[] = [...problems, ...checkInterfaces(value)];
  const { mesh = 'default' } = value;
  const metadata = 'type' in value ? { name: value.name, mesh } : value.metadata;
  const identity = `${identityOf('Dataplane', metadata)}@${mesh}`;
  if (!isReadable(all)) return { identity, problems: all };
  return { identity, problems: all, content: declare('Dataplane', metadata, camelCase) };
}

/** What Kuma refuses and no schema can say. */
function checkInterfaces(value: Dataplane): FieldProblem[] {
  const networking = 'type' in value ? value.networking : value.spec.networking;
  const at = 'type' in value ? ['networking'] : ['spec', 'networking'];
  const problems: FieldProblem[] = [];
  if (networking.address === '0.0.0.0' || networking.address === '::') {
    problems.push(fieldError('BadAddress', [...at, 'address'], 'the address must not be 0.0.0.0 or ::'));
  }
  if (networking.gateway !== undefined && (networking.inbound?.length ?? 0) > 0) {
    problems.push(
      fieldError('GatewayWithInbounds', [...at, 'inbound'], 'a gateway has no inbounds', 'remove one of the two'),
    );
  }
  return problems;
}

function withCamelCaseNames(object: JsonObject): JsonObject {
  return convert(object) as JsonObject;
}

function convert(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(convert);
  if (!isJsonObject(value)) return value;
  const converted: Record<string, JsonValue> = {};
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const name = /^[a-z0-9]+(_[a-z0-9]+)+$/.test(key)
      ? key.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase())
      : key;
    // Both spellings of one field: the camelCase one counts, wherever it stands.
    if (name !== key && Object.hasOwn(value, name)) continue;
    converted[name] = FREE_KEYS.has(name) ? member : convert(member);
  }
  return converted;
}
