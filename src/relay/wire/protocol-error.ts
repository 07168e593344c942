import type { EndCode } from '../../ports/transport.ts';

/**
 * The peer has broken the protocol. Thrown anywhere below a link's reading loop, which catches it and ends that stream
 * with this reason; nothing else catches it.
 */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  /** Constant UpperCamelCase word. */
  readonly reason: string;
  readonly code: EndCode;

  constructor(reason: string, message: string, code: EndCode = 'invalid') {
    super(message);
    this.reason = reason;
    this.code = code;
  }
}
