import { KEEPS_KINDS } from '../model/agent.ts';
import type { Digest } from '../model/ids.ts';
import { unreachable } from '../model/result.ts';
import type { StreamEnd } from '../ports/transport.ts';
import type { Greeted } from './server-state.ts';
import type { Admission } from './session.ts';
import type { FrameInit } from './wire/frame.ts';
import { limitsInit } from './wire/hello.ts';
import { digestBytes } from './wire/scalars.ts';

/** The answer to an admitted hello; `inputDigest` on Push. */
export function welcomeFrame({ state, protocol }: Greeted, inputDigest?: Digest): FrameInit {
  const { fleet, version, capabilities = [] } = state.options;
  const base = {
    protocol,
    fleet,
    version,
    capabilities: [...capabilities, KEEPS_KINDS],
    limits: limitsInit(state.limits),
  };
  return {
    case: 'welcome',
    value: inputDigest === undefined ? base : { ...base, inputDigest: digestBytes(inputDigest) },
  };
}

/** What somebody is told who is not admitted. */
export function endOfAdmission(admission: Exclude<Admission, { readonly type: 'admitted' }>): StreamEnd {
  const { reason, message } = admission;
  switch (admission.type) {
    case 'retry':
      return { code: 'unavailable', reason, message };
    case 'refused':
      return { code: 'refused', reason, message };
    case 'unproven':
      return { code: 'unauthenticated', reason, message };
    default:
      return unreachable(admission);
  }
}
