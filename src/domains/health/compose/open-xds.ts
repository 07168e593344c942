import { createXdsTransport } from '../../../adapters/grpc/xds-server.ts';
import { cannotListen } from '../../../compose/serve/listeners.ts';
import type { OpenedRelay } from '../../../compose/serve/relay.ts';
import type { ProcessDeps } from '../../../compose/serve/sources.ts';
import type { RelayConfig } from '../../../model/fleet/relay-config.ts';
import { hdsSettings } from '../xds/hds-settings.ts';
import type { XdsSetup } from '../xds/xds.ts';

/**
 * What Envoys are served with; undefined: none is. Throws with a text for people if a setting of HDS is wrong, or if the
 * address may be reached from elsewhere without TLS.
 */
export function openXds(
  { xds, relay: { tls } }: RelayConfig,
  { security, tokens, records: { generations } }: OpenedRelay,
  { env }: Pick<ProcessDeps, 'env'>,
): XdsSetup | undefined {
  if (xds === undefined) return undefined;
  const { address: host, port } = xds.listen;
  const transport = createXdsTransport({ host, port, security });
  return {
    transport: { ...transport, start: (to) => transport.start(to).catch(cannotListen('Envoys', xds.listen, '--xds')) },
    trust: tls.mode === 'insecure' ? undefined : { secrets: tokens, generations },
    hds: hdsSettings(env),
    endpointsFromClusters: xds.endpointsFromClusters,
  };
}
