import type { Result } from '../model/result.ts';

/** A key of its own and the request for its certificate. The key goes nowhere but into a {@link CredentialStore}. */
export interface CertificateRequest {
  /** PEM, PKCS #8. */
  readonly key: string;
  /** PKCS #10, DER. It holds no name: who is asked knows who asks. */
  readonly request: Uint8Array;
}

/** What a client certificate says. Times are milliseconds since 1970. */
export interface CertificateFacts {
  readonly notBefore: number;
  readonly notAfter: number;
  /** Its DNS names; the one of its cluster is among them. */
  readonly names: readonly string[];
  /** Its names of the form of an address; a relay server says in one of them for whom it has issued it. */
  readonly uris: readonly string[];
}

/** Keys, requests for certificates, and what certificates say. */
export interface CertificateRequests {
  /** A new key, of a kind that every server takes, with its request. */
  create(): Promise<CertificateRequest>;
  /** What a certificate (PEM, the first of the text) says. The problem: it is none, or the key is not its own. */
  inspect(pair: { readonly key: string; readonly certificate: string }): Result<CertificateFacts>;
  /** Would this chain (DER, the server's certificate first) be believed at `now`, if these roots (PEM) were all? */
  verifies(chain: readonly Uint8Array[], roots: string, now: number): boolean;
}
