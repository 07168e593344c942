import { HAS_EXPIRED, NOT_YET_VALID } from '../../../model/text/wrong-clock.ts';

/** A network error in words for people. Errors of sockets often have no message of their own. */
export function networkErrorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  if (code !== undefined && MEANINGS[code] !== undefined) return MEANINGS[code];
  if (error.message !== '') return error.message;
  if (error.cause !== undefined) return networkErrorText(error.cause);
  return code ?? error.name;
}

const UNTRUSTED = 'its certificate is not from the authority in the kubeconfig (certificate-authority)';

const MEANINGS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused: nothing listens there',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name cannot be looked up now',
  EHOSTUNREACH: 'no way to the host',
  ENETUNREACH: 'no way to the network',
  ETIMEDOUT: 'the connection timed out',
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_NOT_YET_VALID: `its certificate ${NOT_YET_VALID}`,
  CERT_HAS_EXPIRED: `its certificate ${HAS_EXPIRED}`,
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name than the address in the kubeconfig',
};
