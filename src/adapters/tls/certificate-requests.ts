import type { CertificateRequests } from '../../ports/certificate-requests.ts';

/** Keys and requests. The library that makes them is loaded for the first request. */
export function createCertificateRequests(): CertificateRequests {
  return {
    async create() {
      const { makeRequest } = await import('./x509.ts');
      return makeRequest();
    },
    async again(key) {
      const { makeRequest } = await import('./x509.ts');
      return makeRequest(key);
    },
  };
}
