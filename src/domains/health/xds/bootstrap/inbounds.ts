import type { JsonObject } from '../../../../model/text/json.ts';
import type { Inbound } from '../../model/dataplane.ts';
import { type BootstrapParts, fixedCluster, tcpListener } from './parts.ts';

/** The cluster of the application at a port. */
function clusterOf({ workload: { address, port } }: Inbound): string {
  return `inbound:${address}:${port}`;
}

/** The cluster of the application behind an inbound, by its port; undefined: there is none. */
export function applicationAt(inbounds: readonly Inbound[], port: number): string | undefined {
  const inbound = inbounds.find((one) => one.workload.port === port && !isItsOwnApplication(one));
  return inbound && clusterOf(inbound);
}

/**
 * A listener for each inbound, which passes connections to the application.
 *
 * @param inbounds at the addresses at which Envoy listens, not at those that are advertised
 */
export function inboundParts(inbounds: readonly Inbound[]): BootstrapParts {
  const listeners = new Map<string, JsonObject>();
  const clusters = new Map<string, JsonObject>();
  const warnings: string[] = [];
  for (const [position, inbound] of inbounds.entries()) {
    const name = `inbound:${inbound.address}:${inbound.port}`;
    const problem = problemOf(inbound, listeners.has(name));
    if (problem !== undefined) {
      warnings.push(`networking.inbound[${position}] has no listener: ${problem}`);
      continue;
    }
    const cluster = clusterOf(inbound);
    listeners.set(name, tcpListener(name, inbound, cluster));
    clusters.set(cluster, fixedCluster(cluster, inbound.workload));
  }
  return { listeners: [...listeners.values()], clusters: [...clusters.values()], warnings };
}

function problemOf(inbound: Inbound, isTaken: boolean): string | undefined {
  if (isItsOwnApplication(inbound)) {
    return 'its application has the same address and port; give it a servicePort or a serviceAddress';
  }
  return isTaken ? 'another inbound has its address and port' : undefined;
}

/** Envoy would pass each connection to itself, without end. */
function isItsOwnApplication({ address, port, workload }: Inbound): boolean {
  return workload.port === port && workload.address === address;
}
