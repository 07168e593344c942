import { AggregatedDiscoveryService } from '../../../generated/envoy/service/discovery/v3/discovery_pb.ts';
import { HealthDiscoveryService } from '../../../generated/envoy/service/health/v3/hds_pb.ts';
import { isLoopback } from '../../http/loopback.ts';
import type { XdsTransport } from '../../ports/xds-transport.ts';
import { createGrpcListener, type GrpcServerOptions } from './listener.ts';

/** Serves Envoy's protocols over gRPC. Throws for an insecure address that is not loopback. */
export function createXdsTransport(options: GrpcServerOptions): XdsTransport {
  const { host, security } = options;
  if (security.type === 'insecure' && !isLoopback(host)) {
    throw new Error(
      `without TLS (relay.tls.mode insecure) xds may listen on a loopback address only, not on ${host}: give it one (--xds 127.0.0.1:5678, or xds.listen)`,
    );
  }
  const { start, stop } = createGrpcListener(options);
  return {
    start: ({ stream, turnedAway }) =>
      start({
        turnedAway,
        services: [
          {
            typeName: HealthDiscoveryService.typeName,
            methods: { [HealthDiscoveryService.method.streamHealthCheck.name]: (call) => stream('health', call) },
          },
          {
            typeName: AggregatedDiscoveryService.typeName,
            methods: {
              [AggregatedDiscoveryService.method.streamAggregatedResources.name]: (call) => stream('discovery', call),
            },
          },
        ],
      }),
    stop,
  };
}
