import type { StreamEnd, TransportListener } from '../../src/ports/transport.ts';

const NOT_OFFERED: StreamEnd = { code: 'refused', reason: 'NotOffered', message: 'nothing is registered here' };

/** A listener that takes what comes and does nothing with it. */
export const deaf: TransportListener = {
  stream: () => undefined,
  register: async () => ({ refused: NOT_OFFERED }),
};
