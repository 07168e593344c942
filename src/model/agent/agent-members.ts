import type { JsonValue } from '../text/json.ts';
import { BOOLEAN, type Check, list, members, NAMESPACE, TEXT, text } from '../text/json-checks.ts';

/** Capability of an agent: the settings of the fleet may say how the probes of Pods are rewritten. */
export const TAKES_INJECTOR = 'injector-settings';

/** A member of the settings of agents that a domain reads. */
interface DomainMember {
  /** Agents refuse settings with a member that does not pass. */
  readonly check: Check;
  /** Only agents with this capability take it; absent: all do. */
  readonly capability?: string;
}

const MILLIS: Check = (value, name) =>
  typeof value === 'number' && value >= 1_000 && value <= 720 * 3_600_000 ? undefined : `${name} is no duration`;
const PORT: Check = (value, name) =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 65_535
    ? undefined
    : `${name} is no port`;
const INJECTOR = members({
  applicationProbeProxyPort: PORT,
  virtualProbesEnabled: BOOLEAN,
  virtualProbesPort: PORT,
  failurePolicy: text(/^(Fail|Ignore)$/),
});
const CARE = members(
  {
    leases: list(members({ namespace: NAMESPACE }, { namePrefix: TEXT, staleAfterMillis: MILLIS })),
    certificates: BOOLEAN,
    tunnel: BOOLEAN,
  },
  {
    apiServerProbe: members({ syncPeriodMillis: MILLIS, readyz: BOOLEAN }),
    webhookRemediator: text(/^(on|dryRun)$/),
  },
);

/** The registry of the members that domains add to the settings of agents. Both ends of the relay and the inventory read it. */
export const domainMembers: Readonly<Record<string, DomainMember>> = {
  injector: { check: INJECTOR, capability: TAKES_INJECTOR },
  care: { check: CARE },
};

/** Says what is wrong with a value as the member of this name; undefined: nothing. */
export function memberProblem(name: string, value: JsonValue | undefined): string | undefined {
  const member = domainMembers[name];
  return member === undefined ? `${name} is no member of settings` : member.check(value, name);
}
