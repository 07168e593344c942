/**
 * Predicates of sentences about a server's certificate: this machine refuses it because of its validity period. Either the certificate
 * is wrong, or a clock is.
 */
export const NOT_YET_VALID =
  "is not valid yet: this machine's clock is behind, or the server's clock was ahead when its certificate was made; set both clocks";
export const HAS_EXPIRED = 'has expired, or the clock of this machine is ahead';
