import type { FieldProblem } from '../../../manifest/problem.ts';
import { quote } from '../../../model/fleet/ids.ts';
import type { FieldPath } from '../../../model/text/field-path.ts';
import { compareText, type JsonValue, objectOf, textOf } from '../../../model/text/json.ts';
import { SERVICE_TAG } from '../model/dataplane.ts';
import { violation } from './violations.ts';

const PROTOCOL_TAG = 'kuma.io/protocol';

/** Those that Kuma takes. */
const PROTOCOLS: ReadonlySet<string> = new Set(['http', 'http2', 'tcp', 'tls', 'grpc', 'kafka', 'mysql']);
/** Those that Kuma tells people of. */
const ALLOWED = 'Allowed values: grpc, http, http2, kafka, tcp';

/** The tags of an inbound; `checkInboundService` checks that they name a service. */
export function checkInboundTags(tags: JsonValue | undefined, at: FieldPath, problems: FieldProblem[]): void {
  const protocol = objectOf(tags)[PROTOCOL_TAG];
  if (protocol !== undefined && !PROTOCOLS.has(textOf(protocol).toLowerCase())) {
    const rule = `tag "${PROTOCOL_TAG}" has an invalid value ${quote(textOf(protocol))}. ${ALLOWED}`;
    problems.push(violation('BadTag', [...at, PROTOCOL_TAG], rule));
  }
  checkTags(tags, at, problems);
}

/** If an inbound has tags, they name its service. */
export function checkInboundService(tags: JsonValue | undefined, at: FieldPath, problems: FieldProblem[]): void {
  const keys = Object.keys(objectOf(tags));
  if (keys.length === 0 || keys.includes(SERVICE_TAG)) return;
  problems.push(violation('MissingField', [...at, SERVICE_TAG], 'tag has to exist'));
}

/** The protocol of an inbound, if it is there. */
export function checkProtocol(protocol: JsonValue | undefined, at: FieldPath, problems: FieldProblem[]): void {
  const text = textOf(protocol);
  if (text === '' || PROTOCOLS.has(text.toLowerCase())) return;
  problems.push(violation('WrongValue', at, `has an invalid value ${quote(text)}. ${ALLOWED}`));
}

/** The tags of a gateway: if there are any, they name its service. */
export function checkGatewayTags(tags: JsonValue | undefined, at: FieldPath, problems: FieldProblem[]): void {
  const protocol = objectOf(tags)[PROTOCOL_TAG];
  if (protocol !== undefined && textOf(protocol).toLowerCase() !== 'tcp') {
    const rule = `other values than tcp are not allowed, provided value ${quote(textOf(protocol))}`;
    problems.push(violation('BadTag', [...at, PROTOCOL_TAG], rule));
  }
  checkTags(tags, at, problems);
  if (Object.keys(objectOf(tags)).length > 0) checkServiceTag(tags, at, problems);
}

/** The tags of an outbound, which name its service. */
export function checkOutboundTags(tags: JsonValue | undefined, at: FieldPath, problems: FieldProblem[]): void {
  checkTags(tags, at, problems);
  checkServiceTag(tags, at, problems);
}

function checkServiceTag(tags: JsonValue | undefined, at: FieldPath, problems: FieldProblem[]): void {
  if (Object.hasOwn(objectOf(tags), SERVICE_TAG)) return;
  problems.push(violation('MissingField', at, `mandatory tag "${SERVICE_TAG}" is missing`));
}

function checkTags(tags: JsonValue | undefined, at: FieldPath, problems: FieldProblem[]): void {
  for (const key of Object.keys(objectOf(tags)).sort(compareText)) {
    const here = [...at, key];
    const value = textOf(objectOf(tags)[key]);
    if (key === '') problems.push(violation('BadTag', at, 'tag name must be non-empty'));
    if (!/^[a-zA-Z0-9.\-_:/]*$/.test(key)) {
      const rule = 'tag name must consist of alphanumeric characters, dots, dashes, slashes and underscores';
      problems.push(violation('BadTag', here, rule));
    }
    if (value === '') problems.push(violation('BadTag', here, 'tag value must be non-empty'));
    if (!/^[a-zA-Z0-9.\-_:]*$/.test(value)) {
      const rule = 'tag value must consist of alphanumeric characters, dots, dashes and underscores';
      problems.push(violation('BadTag', here, rule));
    }
  }
}
