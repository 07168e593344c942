import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { createSecureContext, getCACertificates, rootCertificates } from 'node:tls';

export interface ConnectionOptions {
  /** Address of the server. */
  readonly url: string;
  /** The environment of this process: connections go through its proxies. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Certificates (PEM) to trust instead of the machine's. */
  readonly ca: string | undefined;
}

/** The connections to one server of HTTP. */
export interface Connections {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
}

const PROXY = /^(HTTP|HTTPS|NO)_PROXY$/i;

/** Opens connections as they are needed. */
export function createConnections({ url, environment, ca }: ConnectionOptions): Connections {
  const proxyEnv = Object.fromEntries(Object.entries(environment).filter(([name]) => PROXY.test(name)));
  const options = { keepAlive: true, maxSockets: 2, proxyEnv };
  return {
    http: new HttpAgent(options),
    // One context serves all connections: reading the machine's certificates and making a context take a while.
    https: new HttpsAgent({
      ...options,
      ...(url.startsWith('https:') && { secureContext: createSecureContext({ ca: ca ?? machineCertificates() }) }),
    }),
  };
}

function machineCertificates(): string[] {
  return [...rootCertificates, ...getCACertificates('system')];
}
