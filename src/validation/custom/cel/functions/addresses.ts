import { type CelFunc, CelScalar, type CelValue, celFunc } from '@bufbuild/cel';
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
import { costing, type MeteredFunction, method, parsing } from './costs.ts';
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
    method(name, ip.type, [], BOOL, (self) => matches(ipOf(self)));
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
    method('family', ip.type, [], INT, (self) => (ipOf(self).family === 'IPv4' ? 4n : 6n)),
    celFunc('cidr', [STRING], cidr.type, (text) => cidr.make(cidrText(asNetwork(text)))),
    celFunc('isCIDR', [STRING], BOOL, (text) => strictNetwork(text) !== undefined),
    celFunc('string', [cidr.type], STRING, (value) => cidr.textOf(value)),
    method('ip', cidr.type, [], ip.type, (self) => ip.make(ipText(networkOf(self).address))),
    method('masked', cidr.type, [], cidr.type, (self) => {
      const network = networkOf(self);
      return cidr.make(cidrText({ ...network, address: firstOf(network) }));
    }),
    method('prefixLength', cidr.type, [], INT, (self) => BigInt(networkOf(self).prefix)),
    method('containsIP', cidr.type, [ip.type], BOOL, (self, address) => networkHas(networkOf(self), ipOf(address))),
    method('containsIP', cidr.type, [STRING], BOOL, (self, address) => networkHas(networkOf(self), asIp(address))),
    method('containsCIDR', cidr.type, [cidr.type], BOOL, (self, other) => contains(networkOf(self), networkOf(other))),
    method('containsCIDR', cidr.type, [STRING], BOOL, (self, other) => contains(networkOf(self), asNetwork(other))),
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
