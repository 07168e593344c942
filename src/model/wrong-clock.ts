/**
 * What is said of the certificate of a server that a program on this machine does not take because of its time: the predicate of a
 * sentence. Either the certificate is wrong, or a clock is.
 */
export const NOT_YET_VALID =
  'is not valid yet: the clock of this machine is behind, or that of the server was ahead when its certificate was made; set both clocks';
export const HAS_EXPIRED = 'has expired, or the clock of this machine is ahead';
