import { constants } from 'node:crypto';
import type { ClientRequest, RequestOptions } from 'node:http';
import { request } from 'node:https';
import { type ConnectionOptions, createSecureContext } from 'node:tls';

/** As the kubelet: it accepts what OpenSSL finds too weak. One for all requests, because each takes time and memory. */
const secureContext = createSecureContext({
  ciphers: 'DEFAULT@SECLEVEL=0',
  secureOptions: constants.SSL_OP_LEGACY_SERVER_CONNECT,
});

/** Makes a request by TLS that verifies no certificate and names no server. */
export function requestByTls(options: RequestOptions): ClientRequest {
  const tls: ConnectionOptions = { secureContext, rejectUnauthorized: false, servername: '' };
  return request({ ...options, ...tls });
}
