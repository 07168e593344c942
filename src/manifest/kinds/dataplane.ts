import { type Dataplane, validate } from '../../../generated/dataplane.js';
import { type DeclaredDataplane, dataplaneIdOf, dataplaneOf } from '../../model/dataplane.ts';
import type { JsonObject } from '../../model/json.ts';
import { withCamelCaseNames } from '../../model/proto-json.ts';
import { type FieldProblem, fieldError } from '../problem.ts';
import { checkForeign, type Decoded } from './reading.ts';

/**
 * Decodes a Kuma Dataplane, in the flat (Universal) form or as a custom resource. As Kuma does, it accepts field names in
 * camelCase and snake_case and integers as strings, and ignores unknown fields with a warning. The flat form has a `type`.
 */
export function readDataplane(document: JsonObject): Decoded<DeclaredDataplane> {
  const camelCase = withCamelCaseNames(document);
  const { problems, value } = checkForeign(camelCase, validate);
  if (value === undefined) return { problems };
  const { mesh = 'default' } = value;
  const metadata = 'type' in value ? { name: value.name, mesh } : value.metadata;
  const { networking, probes } = ('type' in value ? value : value.spec) as unknown as JsonObject;
  const spec = { networking, ...(probes === undefined ? {} : { probes }) };
  const dataplane = dataplaneOf(spec, dataplaneIdOf(camelCase));
  return { problems: [...problems, ...checkInterfaces(value)], metadata, value: { dataplane, spec }, mesh };
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
