import {
  cidrText,
  firstOf,
  type Ip,
  looseForm,
  mappedIpv4,
  networkHas,
  parseIp,
  parseNetwork,
} from '../../../model/text/ip-address.ts';
import type { Field } from './field.ts';

/** The minor version of Kubernetes that refuses forms of addresses which programs read differently. */
const STRICT_SINCE = 36;

/** The rule that a text breaks which is no IP address. */
export function ipRule(text: string): string | undefined {
  return parseIp(text) === undefined ? 'must be an IP address' : undefined;
}

/** The rule that a text breaks which is no CIDR block. */
export function cidrRule(text: string): string | undefined {
  return parseNetwork(text) === undefined ? 'must be a CIDR block like "10.9.8.0/24" or "2001:db8::/64"' : undefined;
}

function strictFormRule(text: string, ip: Ip): string | undefined {
  switch (looseForm(text, ip)) {
    case 'leading zeros':
      return 'must not have leading zeros';
    case 'IPv4 in IPv6':
      return 'must not be an IPv4 address in the form of IPv6';
    default:
      return undefined;
  }
}

/** The rule of Kubernetes since 1.36 that a CIDR block breaks. */
export function strictCidrRule(text: string): string | undefined {
  const network = parseNetwork(text);
  if (network === undefined) return undefined;
  const { address, prefix } = network;
  const broken = strictFormRule(text, address);
  const first = firstOf(network);
  if (broken !== undefined || first.value === address.value) return broken;
  return `must have no bits set after its first ${prefix}, like ${cidrText({ address: first, prefix })}`;
}

/** Blocks whose addresses no other machine can reach. */
const SPECIAL: readonly (readonly [block: string, kind: string])[] = [
  ['0.0.0.0/32', 'the unspecified address'],
  ['::/128', 'the unspecified address'],
  ['127.0.0.0/8', 'a loopback address'],
  ['::1/128', 'a loopback address'],
  ['169.254.0.0/16', 'a link-local address'],
  ['fe80::/10', 'a link-local address'],
  ['224.0.0.0/24', 'a link-local multicast address'],
  ['ff02::/16', 'a link-local multicast address'],
];

/** The rule that an IP address breaks which no other machine can reach: unspecified, loopback, link-local. */
export function specialAddressRule(text: string): string | undefined {
  const ip = parseIp(text);
  if (ip === undefined) return undefined;
  const reached = mappedIpv4(ip) ?? ip;
  const found = SPECIAL.find(([block]) => {
    const network = parseNetwork(block);
    return network !== undefined && networkHas(network, reached);
  });
  return found && `must not be ${found[1]}`;
}

/** Checks an IP address of a field that is older than the strict rules of Kubernetes 1.36. */
export function checkIp(field: Field): void {
  field.hasForm(ipRule, 'BadAddress');
  const found = field.word ?? '';
  const ip = parseIp(found);
  const broken = ip && strictFormRule(found, ip);
  if (broken !== undefined) field.invalid(broken, { reason: 'BadAddress', since: STRICT_SINCE });
}

/** Checks a CIDR block of a field that is older than the strict rules of Kubernetes 1.36. Spaces around it are allowed. */
export function checkCidr(field: Field): void {
  const found = field.word?.trim();
  if (found === undefined) return;
  const broken = cidrRule(found);
  if (broken !== undefined) field.invalid(broken, { reason: 'BadAddress' });
  const strict = strictCidrRule(found);
  if (strict !== undefined) field.invalid(strict, { reason: 'BadAddress', since: STRICT_SINCE });
}

/** As {@link checkIp}, for an address that other machines connect to. */
export function checkEndpointIp(field: Field): void {
  checkIp(field);
  field.hasForm(specialAddressRule, 'BadAddress');
}
