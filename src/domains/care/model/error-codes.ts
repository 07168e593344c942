import { compareText } from '../../../model/text/json.ts';

interface CodeRow {
  /** A person who uses the Shoot can mend it; for others an operator is needed, or time. */
  readonly isUserError: boolean;
  /** An operation that failed with it is not tried again by itself. */
  readonly stopsRetries: boolean;
  /** Texts that say it, in any case; undefined: only programs set it. */
  readonly pattern?: RegExp;
}

/** Gardener's codes of errors, with the patterns that its extensions shared before each provider had its own. */
const CODES = {
  ERR_CLEANUP_CLUSTER_RESOURCES: { isUserError: true, stopsRetries: false },
  ERR_CONFIGURATION_PROBLEM: {
    isUserError: true,
    stopsRetries: true,
    pattern:
      /AzureBastionSubnet|not supported in your requested Availability Zone|InvalidParameter|notFound|NetcfgInvalidSubnet|InvalidSubnet|Invalid value|KubeletHasInsufficientMemory|KubeletHasDiskPressure|KubeletHasInsufficientPID|violates constraint|no attached internet gateway found|Your query returned no results|PrivateEndpointNetworkPoliciesCannotBeEnabledOnPrivateEndpointSubnet|invalid VPC attributes|PrivateLinkServiceNetworkPoliciesCannotBeEnabledOnPrivateLinkServiceSubnet|unrecognized feature gate|runtime-config invalid key|LoadBalancingRuleMustDisableSNATSinceSameFrontendIPConfigurationIsReferencedByOutboundRule|strict decoder error|not allowed to configure an unsupported|error during apply of object .* is invalid:|OverconstrainedZonalAllocationRequest|duplicate zones|overlapping zones/i,
  },
  ERR_INFRA_DEPENDENCIES: {
    isUserError: true,
    stopsRetries: true,
    pattern:
      /PendingVerification|Access Not Configured|accessNotConfigured|DependencyViolation|OptInRequired|Conflict|inactive billing state|ReadOnlyDisabledSubscription|is already being used|InUseSubnetCannotBeDeleted|VnetInUse|InUseRouteTableCannotBeDeleted|timeout while waiting for state to become|InvalidCidrBlock|already busy for|InsufficientFreeAddressesInSubnet|InternalServerError|internalerror|internal server error|A resource with the ID|VnetAddressSpaceCannotChangeDueToPeerings|InternalBillingError|There are not enough hosts available/i,
  },
  ERR_INFRA_QUOTA_EXCEEDED: {
    isUserError: true,
    stopsRetries: true,
    // RequestLimitExceeded is about the rate of requests.
    pattern:
      /(?<!Request)LimitExceeded|Quotas|Quota.*exceeded|exceeded quota|Quota has been met|QUOTA_EXCEEDED|Maximum number of ports exceeded|ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS|VolumeSizeExceedsAvailableQuota/i,
  },
  ERR_INFRA_RATE_LIMITS_EXCEEDED: {
    isUserError: false,
    stopsRetries: true,
    pattern: /RequestLimitExceeded|Throttling|Too many requests/i,
  },
  ERR_INFRA_RESOURCES_DEPLETED: {
    isUserError: true,
    stopsRetries: false,
    pattern:
      /not available in the current hardware cluster|InsufficientInstanceCapacity|SkuNotAvailable|ZonalAllocationFailed|out of stock|Zone.NotOnSale/i,
  },
  ERR_INFRA_UNAUTHENTICATED: {
    isUserError: true,
    stopsRetries: true,
    pattern:
      /InvalidAuthenticationTokenTenant|Authentication failed|AuthFailure|invalid character|invalid_client|query returned no results|InvalidAccessKeyId|cannot fetch token|InvalidSecretAccessKey|InvalidSubscriptionId/i,
  },
  ERR_INFRA_UNAUTHORIZED: {
    isUserError: true,
    stopsRetries: true,
    pattern:
      /Unauthorized|InvalidClientTokenId|SignatureDoesNotMatch|AuthorizationFailed|invalid_grant|Authorization Profile was not found|no active subscriptions|not authorized|AccessDenied|OperationNotAllowed|Error 403|SERVICE_ACCOUNT_ACCESS_DENIED/i,
  },
  ERR_PROBLEMATIC_WEBHOOK: { isUserError: true, stopsRetries: true },
  ERR_RETRYABLE_CONFIGURATION_PROBLEM: {
    isUserError: true,
    stopsRetries: false,
    pattern:
      /is misconfigured and requires zero voluntary evictions|SDK.CanNotResolveEndpoint|The requested configuration is currently not supported/i,
  },
  ERR_RETRYABLE_INFRA_DEPENDENCIES: { isUserError: false, stopsRetries: false, pattern: /RetryableError/i },
} as const satisfies Readonly<Record<string, CodeRow>>;

/** A code that programs know an error by. */
export type ErrorCode = keyof typeof CODES;

const rows: readonly (readonly [code: string, row: CodeRow])[] = Object.entries(CODES);

/** The most characters of a text that are searched: some patterns take time by the square of its length. */
export const LONGEST_SEARCHED_TEXT = 2048;

/** The codes that the text of an error implies, sorted; empty if none. Reads the first {@link LONGEST_SEARCHED_TEXT} characters. */
export function codesOfText(text: string): readonly ErrorCode[] {
  const searched = text.slice(0, LONGEST_SEARCHED_TEXT);
  return rows
    .filter(([, { pattern }]) => pattern?.test(searched) === true)
    .map(([code]) => code as ErrorCode)
    .sort(compareText);
}

/** The codes of the reasons that the results of agents have. */
const CODE_OF_REASON: Readonly<Record<string, ErrorCode>> = {
  Unauthorized: 'ERR_INFRA_UNAUTHENTICATED',
  Forbidden: 'ERR_INFRA_UNAUTHORIZED',
  QuotaExceeded: 'ERR_INFRA_QUOTA_EXCEEDED',
  Throttled: 'ERR_INFRA_RATE_LIMITS_EXCEEDED',
  Invalid: 'ERR_CONFIGURATION_PROBLEM',
  Rejected: 'ERR_CONFIGURATION_PROBLEM',
  DeniedByWebhook: 'ERR_RETRYABLE_CONFIGURATION_PROBLEM',
  DeniedByPolicy: 'ERR_RETRYABLE_CONFIGURATION_PROBLEM',
  Conflict: 'ERR_RETRYABLE_CONFIGURATION_PROBLEM',
};

/** The code of a result's reason; undefined: the reason alone implies none. */
export function codeOfReason(reason: string): ErrorCode | undefined {
  return Object.hasOwn(CODE_OF_REASON, reason) ? CODE_OF_REASON[reason] : undefined;
}

/** Whether people who use the Shoot can mend an error with these codes. An unknown code is none of theirs. */
export function isUserError(codes: readonly string[]): boolean {
  return codes.some((code) => rowOf(code)?.isUserError === true);
}

/** Whether an operation that failed with these codes is tried again by itself. */
export function isRetryable(codes: readonly string[]): boolean {
  return !codes.some((code) => rowOf(code)?.stopsRetries === true);
}

function rowOf(code: string): CodeRow | undefined {
  return Object.hasOwn(CODES, code) ? CODES[code as ErrorCode] : undefined;
}
