import { type JsonObject, objectOf, textOf } from '../../../../model/text/json.ts';
import { type DataplaneId, dataplaneOf } from '../../model/dataplane.ts';
import { adminPortOf } from '../specifier.ts';
import { inboundParts } from './inbounds.ts';
import { outboundParts } from './outbounds.ts';
import { type BootstrapParts, type SocketAddress, socketOf } from './parts.ts';
import { SERVER_SOURCE, type ServerTrust, secretsOf, serverCluster } from './server-cluster.ts';
import { virtualProbeParts } from './virtual-probes.ts';

/** What an Envoy is started for. */
export interface BootstrapRequest extends DataplaneId {
  /** `networking` and `probes` of the Dataplane, with names in camelCase; `networking.address` is an IP address. */
  readonly spec: JsonObject;
  readonly server: SocketAddress;
  /** Undefined: neither TLS nor token. */
  readonly trust: ServerTrust | undefined;
}

/** The configuration that an Envoy starts with. */
export interface Bootstrap {
  readonly bootstrap: JsonObject;
  /** Of Envoy's admin interface, on 127.0.0.1. */
  readonly adminPort: number;
  /** What the Dataplane names and the Envoy does not do. */
  readonly warnings: readonly string[];
}

/** Derives the configuration of the Envoy of a data plane: it reports health by HDS, and receives endpoints by EDS over ADS. */
export function bootstrapOf({ mesh, name, spec, server, trust }: BootstrapRequest): Bootstrap {
  const networking = objectOf(spec.networking);
  const adminPort = adminPortOf(spec);
  // Envoy listens where the data plane is, and others use the advertised address.
  const { inbounds } = dataplaneOf({ ...spec, networking: { ...networking, advertisedAddress: '' } }, { mesh, name });
  const parts: readonly BootstrapParts[] = [
    inboundParts(inbounds),
    outboundParts(networking.outbound),
    virtualProbeParts(spec.probes, textOf(networking.address), inbounds),
  ];
  const secrets = secretsOf(trust);
  const bootstrap: JsonObject = {
    node: { id: `${mesh}.${name}`, cluster: name },
    admin: { address: socketOf({ address: '127.0.0.1', port: adminPort }) },
    hds_config: SERVER_SOURCE,
    dynamic_resources: { ads_config: SERVER_SOURCE },
    static_resources: {
      ...(secrets.length === 0 ? {} : { secrets }),
      listeners: parts.flatMap(({ listeners }) => listeners),
      clusters: [serverCluster(server, trust), ...parts.flatMap(({ clusters }) => clusters)],
    },
  };
  return { bootstrap, adminPort, warnings: parts.flatMap(({ warnings }) => warnings) };
}
