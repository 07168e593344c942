import { type CelFunc, CelScalar, type CelValue, celFunc, celMethod } from '@bufbuild/cel';
import {
  cidrText,
  firstOf,
  type Ip,
  ipText,
  looseForm,
  type Network,
  networkHas,
  parseIp,
  parseNetwork,
} from '../../../../model/text/ip-address.ts';
import { costing, type MeteredFunction, parsing } from './costs.ts';
import type { OpaqueType } from './opaque.ts';

/** To read an address takes as long as this number of steps; it is read again in each call. */
const STEPS_OF_ADDRESS = 20;
/** Some compare an address with several blocks, which are read, too. */
const STEPS_OF_BLOCKS = 60;

/** The functions of IP addresses and blocks of them. */
export function addressFunctions(ip: OpaqueType, cidr: OpaqueType): readonly MeteredFunction[] {
  const { BOOL, INT, STRING } = CelScalar;
  const asIp = (text: string): Ip => {
    const found = strictIp(text);
    if (found === undefined) throw new Error(`${JSON.stringify(text)} is no IP address`);
    return found;
  };
  const asNetwork = (text: string): Network => {
    const found = strictNetwork(text);
    if (found === undefined) throw new Error(`${JSON.stringify(text)} is no CIDR block`);
    return found;
  };
  const ipOf = (value: CelValue): Ip => asIp(ip.textOf(value));
  const networkOf = (value: CelValue): Network => asNetwork(cidr.textOf(value));
  const test = (name: string, matches: (address: Ip) => boolean): CelFunc =>
    celMethod(name, ip.type, [], BOOL, function () {
      return matches(ipOf(this));
    });
  const tests = [
    test('isUnspecified', ({ value }) => value === 0n),
    test('isLoopback', (address) => isIn(address, '127.0.0.0/8', '::1/128')),
    test('isLinkLocalMulticast', (address) => isIn(address, '224.0.0.0/24', 'ff02::/16')),
    test('isLinkLocalUnicast', (address) => isIn(address, '169.254.0.0/16', 'fe80::/10')),
    test('isGlobalUnicast', (address) =>
      address.value !== 0n &&
      !isIn(address, '127.0.0.0/8', '224.0.0.0/4', '169.254.0.0/16', '255.255.255.255/32') &&
      !isIn(address, '::1/128', 'ff00::/8', 'fe80::/10')),
  ];
  const others = [
    celFunc('ip', [STRING], ip.type, (text) => ip.make(ipText(asIp(text)))),
    celFunc('isIP', [STRING], BOOL, (text) => strictIp(text) !== undefined),
    celFunc('ip.isCanonical', [STRING], BOOL, (text) => ipText(asIp(text)) === text),
    celFunc('string', [ip.type], STRING, (value) => ip.textOf(value)),
    celMethod('family', ip.type, [], INT, function () {
      return ipOf(this).family === 'IPv4' ? 4n : 6n;
    }),
    celFunc('cidr', [STRING], cidr.type, (text) => cidr.make(cidrText(asNetwork(text)))),
    celFunc('isCIDR', [STRING], BOOL, (text) => strictNetwork(text) !== undefined),
    celFunc('string', [cidr.type], STRING, (value) => cidr.textOf(value)),
    celMethod('ip', cidr.type, [], ip.type, function () {
      return ip.make(ipText(networkOf(this).address));
    }),
    celMethod('masked', cidr.type, [], cidr.type, function () {
      const network = networkOf(this);
      return cidr.make(cidrText({ ...network, address: firstOf(network) }));
    }),
    celMethod('prefixLength', cidr.type, [], INT, function () {
      return BigInt(networkOf(this).prefix);
    }),
    celMethod('containsIP', cidr.type, [ip.type], BOOL, function (address) {
      return networkHas(networkOf(this), ipOf(address));
    }),
    celMethod('containsIP', cidr.type, [STRING], BOOL, function (address) {
      return networkHas(networkOf(this), asIp(address));
    }),
    celMethod('containsCIDR', cidr.type, [cidr.type], BOOL, function (other) {
      return contains(networkOf(this), networkOf(other));
    }),
    celMethod('containsCIDR', cidr.type, [STRING], BOOL, function (other) {
      return contains(networkOf(this), asNetwork(other));
    }),
  ];
  return [...costing(parsing(STEPS_OF_BLOCKS), ...tests), ...costing(parsing(STEPS_OF_ADDRESS), ...others)];
}

function strictIp(text: string): Ip | undefined {
  const ip = parseIp(text);
  return ip && looseForm(text, ip) === undefined ? ip : undefined;
}

function strictNetwork(text: string): Network | undefined {
  const network = parseNetwork(text);
  return network && looseForm(text, network.address) === undefined ? network : undefined;
}

function contains(outer: Network, inner: Network): boolean {
  return outer.prefix <= inner.prefix && networkHas(outer, inner.address);
}

function isIn(address: Ip, ...blocks: readonly string[]): boolean {
  return blocks.some((block) => {
    const network = parseNetwork(block);
    return network !== undefined && networkHas(network, address);
  });
}
