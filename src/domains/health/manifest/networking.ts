import type { FieldProblem } from '../../../manifest/problem.ts';
import type { FieldPath } from '../../../model/text/field-path.ts';
import { parseStrictIp } from '../../../model/text/ip-address.ts';
import { isJsonObject, type JsonObject, objectOf, objectsOf, textOf } from '../../../model/text/json.ts';
import { enumNameOf, integerOf } from '../../../model/text/proto-json.ts';
import { dataplaneOf } from '../model/dataplane.ts';
import { checkInbounds } from './inbounds.ts';
import { checkListeners } from './listeners.ts';
import { checkMetrics } from './metrics.ts';
import { checkOutbounds, checkReachableBackends } from './outbounds.ts';
import { checkProbes } from './probes.ts';
import { checkGatewayTags } from './tags.ts';
import { checkAddress, violation } from './violations.ts';

const GATEWAY_TYPES = { 0: 'DELEGATED', 1: 'BUILTIN' } as const;
type GatewayType = (typeof GATEWAY_TYPES)[0 | 1];

/** Checks the spec of a Dataplane, which has names in camelCase and no nulls, by all rules of Kuma. */
export function checkSpec(spec: JsonObject, root: FieldPath, problems: FieldProblem[]): void {
  const at = [...root, 'networking'];
  const { networking, probes, metrics } = spec;
  if (!isJsonObject(networking)) {
    problems.push(violation('MissingField', at, 'must be defined'));
    return;
  }
  checkAdmin(networking, at, problems);
  const { gateway } = networking;
  const type = isJsonObject(gateway) ? enumNameOf(gateway.type ?? 0, GATEWAY_TYPES) : undefined;
  if (type !== undefined) checkGateway(spec, type, root, problems);
  checkAddress(networking.address, [...at, 'address'], problems);
  checkInbounds(networking, at, problems);
  checkOutbounds(networking.outbound, [...at, 'outbound'], problems);
  checkReachableBackends(networking.transparentProxying, [...at, 'transparentProxying'], problems);
  if (type !== 'BUILTIN') checkProbes(probes, [...root, 'probes'], problems);
  if (type === undefined) {
    checkMetrics(metrics, [...root, 'metrics'], problems);
    checkListeners(networking, [...at, 'listeners'], problems);
  }
}

function checkGateway(spec: JsonObject, type: GatewayType, root: FieldPath, problems: FieldProblem[]): void {
  const at = [...root, 'networking'];
  const networking = objectOf(spec.networking);
  const forbid = (field: 'inbound' | 'outbound' | 'listeners'): void => {
    if (objectsOf(networking[field]).length === 0) return;
    const reason = field === 'inbound' ? 'GatewayWithInbounds' : 'FieldNotAllowed';
    problems.push(violation(reason, [...at, field], `${field} cannot be defined for ${type.toLowerCase()} gateways`));
  };
  forbid('inbound');
  if (type === 'BUILTIN') forbid('outbound');
  forbid('listeners');
  if (type === 'BUILTIN' && spec.probes !== undefined) {
    const rule = 'probes cannot be defined for builtin gateways';
    // Kuma says that the probes are part of the networking.
    const field = [...at, 'probes'].join('.');
    problems.push(violation('FieldNotAllowed', [...root, 'probes'], rule, field));
  }
  checkGatewayTags(objectOf(networking.gateway).tags, [...at, 'gateway', 'tags'], problems);
}

/** The port of Envoy's admin interface, which listens on 127.0.0.1. */
function checkAdmin(networking: JsonObject, at: FieldPath, problems: FieldProblem[]): void {
  const { admin, outbound } = networking;
  if (!isJsonObject(admin)) return;
  const port = integerOf(admin.port);
  const here = [...at, 'admin', 'port'];
  // Without the gateway, because that would hide the inbounds.
  const { inbounds } = dataplaneOf({ networking: { ...networking, gateway: null, advertisedAddress: '' } }, NO_ID);
  if (inbounds.some((each) => [each, each.workload].some((one) => one.port === port && isOnLoopback(one.address)))) {
    problems.push(violation('AddressInUse', here, 'must differ from inbound'));
  }
  if (
    objectsOf(outbound).some((one) => integerOf(one.port) === port && isOnLoopback(textOf(one.address) || LOOPBACK))
  ) {
    problems.push(violation('AddressInUse', here, 'must differ from outbound'));
  }
}

const NO_ID = { mesh: '', name: '' };
const LOOPBACK = '127.0.0.1';

/** Whether who listens on the address listens on 127.0.0.1 too. */
function isOnLoopback(address: string): boolean {
  const ip = parseStrictIp(address);
  return ip?.value === 0n || (ip?.family === 'IPv4' && ip.value === 0x7f00_0001n);
}
