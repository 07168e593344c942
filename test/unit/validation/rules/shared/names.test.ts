import { describe, expect, it } from 'vitest';
import { parseIp } from '../../../../../src/model/text/ip-address.ts';
import { cidrRule } from '../../../../../src/validation/rules/shared/addresses.ts';
import * as names from '../../../../../src/validation/rules/shared/names.ts';
import { quantityOf } from '../../../../../src/validation/values/quantities.ts';

/** Texts that have the form, then texts that do not. */
const FORMS: readonly (readonly [(text: string) => string | undefined, readonly string[], readonly string[]])[] = [
  [names.dnsLabelRule, ['a', '0a', 'a-b', 'a'.repeat(63)], ['', 'A', '-a', 'a-', 'a.b', 'a_b', 'a'.repeat(64), 'a\n']],
  [names.dns1035LabelRule, ['a', 'a-0'], ['0a', 'a.b', 'a'.repeat(64)]],
  [names.dnsSubdomainRule, ['a', 'a.b-c.0', `${'a'.repeat(100)}.b`], ['', 'a..b', '.a', 'a.', 'A.b', 'a'.repeat(254)]],
  [names.wildcardDomainRule, ['*.a', '*.a.b'], ['*', 'a', '*.', '*a.b', '*.*.a']],
  [names.qualifiedNameRule, ['a', 'A_b.c-D', 'example.com/a'], ['', '/a', 'a/', 'a/b/c', 'A/b', '-a', 'a'.repeat(64)]],
  [names.domainPrefixedNameRule, ['example.com/a'], ['a', 'a/b/c']],
  [names.labelValueRule, ['', 'a', 'A_b.c'], ['-a', 'a b', 'a/b', 'a'.repeat(64)]],
  [names.portNameRule, ['http', '8080-tcp', 'a'.repeat(15)], ['', '80', 'a--b', '-a', 'a-', 'Http', 'a'.repeat(16)]],
  [names.configKeyRule, ['a.b', '.a', 'A_B', '.x'], ['', '.', '..', '..a', 'a/b', 'a b']],
  [names.envNameRule, ['A', '1 a-b', 'a.b'], ['', 'A=B', 'ä', 'a\tb']],
  [names.cIdentifierRule, ['A_1', '_'], ['', '1A', 'a-b']],
  [names.headerNameRule, ['X-Header'], ['', 'X_Header', 'a b']],
  [names.pathSegmentRule, ['a:b', 'System Name'], ['.', '..', 'a/b', 'a%b']],
  [names.percentRule, ['0%', '25%', '150%'], ['25', '%', '2.5%', '-1%', '25 %']],
  [names.descendingPathRule, ['a', 'a/..b', 'a/b..'], ['/a', '../a', 'a/../b', '..']],
];

describe('the forms of names', () => {
  for (const [rule, good, bad] of FORMS) {
    it(`${rule.name} knows good and bad texts`, () => {
      expect(good.filter((text) => rule(text) !== undefined)).toEqual([]);
      expect(bad.filter((text) => rule(text) === undefined)).toEqual([]);
    });
  }

  it('a port number is 1 to 65535', () => {
    expect([0, 1, 65535, 65536].map((port) => names.portNumberRule(port) === undefined)).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });
});

it('IP addresses have a family, with leading zeros and without zones', () => {
  for (const text of ['10.0.0.1', '010.001.0.1', '255.255.255.255']) expect(parseIp(text)?.family, text).toBe('IPv4');
  for (const text of ['::', '::1', 'fe80::1', '2001:db8:0:0:0:0:0:1', '::ffff:10.0.0.1', '1::', 'A::b']) {
    expect(parseIp(text)?.family, text).toBe('IPv6');
  }
  for (const text of ['', '10.0.0', '10.0.0.256', '10.0.0.a', ':', ':::', '1::2::3', 'fe80::1%eth0', '1:2:3:4:5:6:7']) {
    expect(parseIp(text)?.family, text).toBeUndefined();
  }
  for (const text of ['1:2:3:4:5:6:7:8:9', '12345::', '10.0.0.1::', 'localhost', '1:2:3:4:5:6:7::8']) {
    expect(parseIp(text)?.family, text).toBeUndefined();
  }
});

it('CIDR blocks have an address and a length', () => {
  expect(['10.0.0.0/8', '10.0.0.1/32', '::/0', 'fd00::/64'].filter((text) => cidrRule(text) !== undefined)).toEqual([]);
  const bad = ['10.0.0.0', '10.0.0.0/33', '10.0.0.0/', '::/129', '10.0.0.0/a', '/8'];
  expect(bad.filter((text) => cidrRule(text) === undefined)).toEqual([]);
});

it('quantities are compared by their amount', () => {
  const amounts: Readonly<Record<string, number>> = {
    '2': 2,
    '500m': 0.5,
    '1Gi': 1024 ** 3,
    '1.5Gi': 1.5 * 1024 ** 3,
    '.5': 0.5,
    '5.': 5,
    '+1k': 1000,
    '-1': -1,
    '1e3': 1000,
    '1E': 1e18,
    '12E-3': 0.012,
    ' 1Mi ': 1024 ** 2,
  };
  for (const [text, amount] of Object.entries(amounts)) expect(quantityOf(text), text).toBe(amount);
  for (const text of ['', '1K', '1ki', '1gb', '1 Gi', 'abc', '1e', '1.2.3', '0x1', 'Ki', '-', '.m']) {
    expect(quantityOf(text), text).toBeUndefined();
  }
  expect(quantityOf(0.5)).toBe(0.5);
  expect(quantityOf(true)).toBeUndefined();
});
