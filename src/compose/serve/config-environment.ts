import type { RelayConfig, RelayListenConfig } from '../../model/relay-config.ts';

const SHARED_TOKEN = 'RELAY_TOKEN';
const WITHOUT_CLIENT_CERTIFICATES = 'RELAY_DISABLE_CLIENT_CERTIFICATE_AUTHENTICATION';

/**
 * The configuration with what the environment says by the names of Gloo's setups: `RELAY_TOKEN` is the shared token unless
 * the file names one, and with `RELAY_DISABLE_CLIENT_CERTIFICATE_AUTHENTICATION=true` agents show tokens, no certificates.
 * Throws a text for people if the latter is no yes and no no.
 */
export function withEnvironment(config: RelayConfig, env: Readonly<Record<string, string | undefined>>): RelayConfig {
  const relay = withoutClientCertificates(config.relay, env[WITHOUT_CLIENT_CERTIFICATES]);
  const shared = relay.sharedToken === undefined && (env[SHARED_TOKEN] ?? '') !== '';
  return { ...config, relay: shared ? { ...relay, sharedToken: { type: 'env', name: SHARED_TOKEN } } : relay };
}

function withoutClientCertificates(relay: RelayListenConfig, said: string | undefined): RelayListenConfig {
  switch ((said ?? '').toLowerCase()) {
    case '':
    case 'false':
    case '0':
      return relay;
    case 'true':
    case '1':
      return relay.tls.mode === 'mtls' ? { ...relay, tls: { mode: 'tls', certificate: relay.tls.certificate } } : relay;
    default:
      throw new Error(`the environment variable ${WITHOUT_CLIENT_CERTIFICATES} must be true or false`);
  }
}
