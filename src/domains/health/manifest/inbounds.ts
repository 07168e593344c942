import { type FieldProblem, fieldWarning } from '../../../manifest/problem.ts';
import type { FieldPath } from '../../../model/text/field-path.ts';
import { durationMs } from '../../../model/text/go-duration.ts';
import { isAddress, parseStrictIp } from '../../../model/text/ip-address.ts';
import { isJsonObject, type JsonObject, type JsonValue, textOf } from '../../../model/text/json.ts';
import { integerOf } from '../../../model/text/proto-json.ts';
import { checkInboundService, checkInboundTags, checkProtocol } from './tags.ts';
import { checkIp, checkPort, fieldName, violation } from './violations.ts';

/** The inbounds of a data plane; `at` is its networking. */
export function checkInbounds(networking: JsonObject, at: FieldPath, problems: FieldProblem[]): void {
  const { inbound, address: own } = networking;
  const first = new Map<string, FieldPath>();
  for (const [index, item] of itemsOf(inbound)) {
    const here = [...at, 'inbound', index];
    checkInbound(item, textOf(own), here, problems);
    const address = textOf(item.address) || textOf(own);
    const listener = `${address} ${integerOf(item.port)}`;
    const before = first.get(listener);
    if (before === undefined) first.set(listener, here);
    else if (address !== '' && integerOf(item.port) !== 0) {
      const message = `${fieldName(here)}: it has the address and port of ${fieldName(before)}`;
      problems.push(fieldWarning('AddressInUse', here, message));
    }
  }
}

/** The objects of a list with their indexes. */
export function itemsOf(list: JsonValue | undefined): readonly (readonly [number, JsonObject])[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item, index) => (isJsonObject(item) ? [[index, item] as const] : []));
}

function checkInbound(inbound: JsonObject, own: string, at: FieldPath, problems: FieldProblem[]): void {
  const { port, servicePort, serviceAddress, address, tags, protocol, serviceProbe } = inbound;
  checkPort(port, [...at, 'port'], problems);
  if (isSet(servicePort)) checkPort(servicePort, [...at, 'servicePort'], problems);
  checkIp(serviceAddress, [...at, 'serviceAddress'], problems);
  checkIp(address, [...at, 'address'], problems);
  const isSamePort = !isSet(servicePort) || integerOf(servicePort) === integerOf(port);
  if (textOf(serviceAddress) !== '' && [own, address].includes(textOf(serviceAddress)) && isSamePort) {
    const rule = 'serviceAddress and servicePort has to differ from address and port';
    problems.push(violation('AddressInUse', [...at, 'serviceAddress'], rule));
  }
  checkInboundTags(tags, [...at, 'tags'], problems);
  checkProtocol(protocol, [...at, 'protocol'], problems);
  if (isJsonObject(serviceProbe)) {
    const application = textOf(serviceAddress) || textOf(address) || own;
    checkServiceProbe(serviceProbe, application, [...at, 'serviceProbe'], problems);
  }
  checkInboundService(tags, [...at, 'tags'], problems);
}

function isSet(port: JsonValue | undefined): boolean {
  return integerOf(port) !== 0;
}

/** `application`: the address that Envoy is to probe. */
function checkServiceProbe(probe: JsonObject, application: string, at: FieldPath, problems: FieldProblem[]): void {
  // Another text is a violation of its own.
  if (parseStrictIp(application) === undefined && isAddress(application)) {
    const message = `${fieldName(at)}: Envoy cannot probe ${application}, a host name; the inbound is never ready`;
    problems.push(fieldWarning('NotProbed', at, message, 'set serviceAddress to the IP address of the application'));
  }
  for (const field of ['interval', 'timeout']) checkDuration(probe[field], [...at, field], problems);
  for (const field of ['unhealthyThreshold', 'healthyThreshold']) {
    const threshold = probe[field];
    if (threshold !== undefined && integerOf(threshold) <= 0) {
      problems.push(violation('WrongValue', [...at, field], 'must have a positive value'));
    }
  }
}

/** The schema reports a value in another form. */
function checkDuration(duration: JsonValue | undefined, at: FieldPath, problems: FieldProblem[]): void {
  if (typeof duration !== 'string') return;
  const milliseconds = durationMs(duration);
  if (milliseconds === undefined) problems.push(violation('WrongValue', at, 'must have a valid value'));
  else if (milliseconds <= 0) problems.push(violation('WrongValue', at, 'must have a positive value'));
}
