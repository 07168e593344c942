import type { Result } from '../model/values/result.ts';

/** Content of a certificate request (PKCS #10). Only its key is used. */
export interface CertificateRequestFacts {
  /** The requested key: SubjectPublicKeyInfo, DER. */
  readonly publicKey: Uint8Array;
  /** True if that key has signed the request. */
  readonly proven: boolean;
  /** All names of the subject (`CN`, `other`) and of the alternative names. */
  readonly names: readonly { readonly type: 'CN' | 'DNS' | 'URI' | 'other'; readonly value: string }[];
  /** True if it requests the right to sign certificates. */
  readonly authority: boolean;
}

/** Content of a client certificate that is to be signed. */
export interface CertificateOrder {
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Uint8Array;
  readonly commonName: string;
  readonly dnsName: string;
  readonly uri: string;
  /** Number of the cluster's registration, for the subject's `serialNumber`; absent: the subject has none. */
  readonly registration?: number;
  /** Milliseconds since 1970, rounded down to seconds. */
  readonly validFrom: number;
}

/** A newly signed certificate. */
export interface SignedCertificate {
  /** PEM: the certificate, then the intermediate certificates up to the root, if there are any. */
  readonly certificate: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Issues client certificates for requests; decides their lifetime. */
export interface CertificateAuthority {
  /** Parses a request (DER). A problem if the bytes are no request. */
  inspect(request: Uint8Array): Promise<Result<CertificateRequestFacts>>;
  /** Signs a certificate. Rejects with a text for people if that fails. */
  issue(order: CertificateOrder): Promise<SignedCertificate>;
}

/** The roots that sign the server's certificate now or after the next rotation. */
export interface ServerRoots {
  /** PEM. */
  current(): string;
  /** Calls `changed` after each change, until the returned function is called. */
  watch(changed: () => void): () => void;
}

/** A certificate that expires within this time, in milliseconds, causes a warning. */
export const WARN_BEFORE_MS = 30 * 24 * 60 * 60 * 1000;

/** A certificate of the server with a known end and without a successor in use. */
export interface CertificateExpiry {
  /** The server's own certificate, its root, or the root of the agents' certificates. */
  readonly what: 'server' | 'root' | 'clientRoot';
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}
