/** A key and the request for its certificate. */
export interface CertificateRequest {
  /** PEM, PKCS #8. It is only ever saved in a `CredentialStore`. */
  readonly key: string;
  /** PKCS #10, DER. Contains no name: the server chooses the names for the authenticated caller. */
  readonly request: Uint8Array;
}

/** Makes keys and requests for certificates. */
export interface CertificateRequests {
  /** A new key, of a kind that every server accepts, with its request. */
  create(): Promise<CertificateRequest>;
  /** A request for the key of an earlier one (PEM). Rejects if the text is no such key. */
  again(key: string): Promise<CertificateRequest>;
}
