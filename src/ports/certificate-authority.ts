import type { Result } from '../model/result.ts';

/** What a certificate request (PKCS #10) says. Nothing of it is believed but its key. */
export interface CertificateRequestFacts {
  /** The key that a certificate is asked for: SubjectPublicKeyInfo, DER. */
  readonly publicKey: Uint8Array;
  /** The request is signed by that key. */
  readonly proven: boolean;
  /** Every name in it, of the subject (`CN`, `other`) and of the alternative names. */
  readonly names: readonly { readonly type: 'CN' | 'DNS' | 'URI' | 'other'; readonly value: string }[];
  /** It asks for the right to sign certificates. */
  readonly authority: boolean;
}

/** A client certificate as it is to be. */
export interface CertificateOrder {
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Uint8Array;
  readonly commonName: string;
  readonly dnsName: string;
  readonly uri: string;
  /** The number of the cluster's registration that it is for: the subject's `serialNumber`. Absent: it says none. */
  readonly registration?: number;
  /** Milliseconds since 1970; whole seconds of it count. */
  readonly validFrom: number;
}

/** A certificate that was signed just now. */
export interface SignedCertificate {
  /** PEM: the certificate, and what leads from it to a root, if anything does. */
  readonly certificate: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Makes client certificates of requests. How long they are good is its own affair. */
export interface CertificateAuthority {
  /** What a request (DER) says. The problem: it is none. */
  inspect(request: Uint8Array): Promise<Result<CertificateRequestFacts>>;
  /** Signs. Rejects if that cannot be done (with a text for people). */
  issue(order: CertificateOrder): Promise<SignedCertificate>;
}

/** Every root that the server's certificate may be signed by, now and soon. */
export interface ServerRoots {
  /** PEM. */
  current(): string;
  /** Calls back after each change, until the returned function is called. */
  watch(changed: () => void): () => void;
}

/** People are warned of certificates that end within so many milliseconds. */
export const WARN_BEFORE_MS = 30 * 24 * 60 * 60 * 1000;

/** A certificate of the server that ends at a known time and has no successor that works already. */
export interface CertificateExpiry {
  /** What the server shows, what signs that, or what signs certificates of agents. */
  readonly what: 'server' | 'root' | 'clientRoot';
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}
