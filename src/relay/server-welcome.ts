import { KEEPS_KINDS } from '../model/agent.ts';
import type { Digest } from '../model/ids.ts';
import type { Greeted } from './server-state.ts';
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
