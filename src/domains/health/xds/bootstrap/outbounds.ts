import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  textOf,
} from '../../../../model/text/json.ts';
import { integerOf } from '../../../../model/text/proto-json.ts';
import { SERVICE_TAG } from '../../model/dataplane.ts';
import { type BootstrapParts, serviceCluster, tcpListener } from './parts.ts';

/** Where an outbound listens that names no address. */
const LOOPBACK = '127.0.0.1';

/** A listener for each outbound, which passes connections to the endpoints of its service. */
export function outboundParts(outbounds: JsonValue | undefined): BootstrapParts {
  const listeners = new Map<string, JsonObject>();
  const clusters = new Map<string, JsonObject>();
  const warnings: string[] = [];
  for (const [position, outbound] of objectsOf(outbounds).entries()) {
    const at = { address: textOf(outbound.address) || LOOPBACK, port: integerOf(outbound.port) };
    const service = serviceOf(outbound);
    const name = `outbound:${at.address}:${at.port}`;
    const problem = problemOf(outbound, service, listeners.has(name));
    if (problem !== undefined) {
      warnings.push(`networking.outbound[${position}] has no listener: ${problem}`);
      continue;
    }
    const cluster = `outbound:${service}`;
    listeners.set(name, tcpListener(name, at, cluster));
    clusters.set(cluster, serviceCluster(cluster, service));
  }
  return { listeners: [...listeners.values()], clusters: [...clusters.values()], warnings };
}

function serviceOf({ tags }: JsonObject): string {
  return textOf(objectOf(tags)[SERVICE_TAG]);
}

function problemOf({ backendRef }: JsonObject, service: string, isTaken: boolean): string | undefined {
  if (isJsonObject(backendRef)) return 'a backendRef is not served; name the service in its tags';
  if (service === '') return `it has no tag ${SERVICE_TAG}`;
  return isTaken ? 'another outbound has its address and port' : undefined;
}
