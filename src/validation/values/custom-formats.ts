import { looseForm, parseIp, parseNetwork } from '../../model/text/ip-address.ts';
import { type Format, isBase64, isDuration, isTime } from './formats.ts';

/** An API server also takes an amount with a unit in words anywhere in the text. */
const DURATION_IN_WORDS = /\d\s*(?:ns|nano|us|µs|micro|ms|milli|s|sec|m|min|h|hr|hour|d|day|w|wk|week)/i;
const HEX = '[0-9a-f]';
const uuid = (third = HEX, fourth = HEX): RegExp =>
  new RegExp(`^${HEX}{8}-?${HEX}{4}-?${third}${HEX}{3}-?${fourth}${HEX}{3}-?${HEX}{12}$`, 'i');
const SHORT_NAME = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const MAC = /^(?:[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1)+[0-9a-f]{2}|(?:[0-9a-f]{4}\.)+[0-9a-f]{4})$/i;
const MAC_DIGITS: readonly number[] = [12, 16, 40];
const HOST_PART = /^[\p{L}\p{S}0-9](?:[\p{L}\p{S}0-9-]*[\p{L}\p{S}0-9])?$/u;

/**
 * The formats that an API server checks in CustomResourceDefinitions, by their names without dashes; it ignores all others.
 * Those that have nothing to do with clusters (`isbn`, `creditcard` ...) are not checked here.
 */
const FORMATS: Readonly<Record<string, Format>> = {
  byte: { words: 'base64', matches: (text) => text !== '' && isBase64(text) },
  cidr: { words: 'a block of addresses such as 10.0.0.0/8', matches: (text) => parseNetwork(text) !== undefined },
  date: { words: 'a date such as 2006-01-02', matches: (text) => isTime(`${text}T00:00:00Z`) },
  datetime: { words: 'a time such as 2006-01-02T15:04:05Z', matches: (text) => isTime(text.toUpperCase()) },
  duration: {
    words: 'a duration such as 30s or 1h30m',
    matches: (text) => isDuration(text) || DURATION_IN_WORDS.test(text),
  },
  email: { words: 'an email address', matches: (text) => /^[^@]*[^@\s]@[^@\s]/.test(text) },
  hexcolor: { words: 'a colour such as #ffffff', matches: (text) => /^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(text) },
  hostname: { words: 'the name of a host', matches: isHostname },
  ipv4: { words: 'an IPv4 address', matches: (text) => text.includes('.') && parseIp(text) !== undefined },
  ipv6: { words: 'an IPv6 address', matches: isIpv6 },
  k8slongname: {
    words: 'lower-case letters, digits, dashes and dots',
    matches: (text) =>
      text.length <= 253 && text.split('.').every((part) => /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/.test(part)),
  },
  k8sshortname: {
    words: 'at most 63 lower-case letters, digits and dashes',
    matches: (text) => SHORT_NAME.test(text),
  },
  mac: {
    words: 'a MAC address',
    matches: (text) => MAC.test(text) && MAC_DIGITS.includes(text.replaceAll(/[:.-]/g, '').length),
  },
  uri: { words: 'an absolute URI or path', matches: isUri },
  uuid: { words: 'a UUID', matches: (text) => uuid().test(text) },
  uuid3: { words: 'a UUID of version 3', matches: (text) => uuid('3').test(text) },
  uuid4: { words: 'a UUID of version 4', matches: (text) => uuid('4', '[89ab]').test(text) },
  uuid5: { words: 'a UUID of version 5', matches: (text) => uuid('5', '[89ab]').test(text) },
};

/** The format of a field of a custom kind; undefined if an API server does not check it. */
export function customFormat(name: string): Format | undefined {
  const key = name.replaceAll('-', '');
  return Object.hasOwn(FORMATS, key) ? FORMATS[key] : undefined;
}

/** An API server allows leading zeros in IPv4, but not in the IPv4 address at the end of IPv6. */
function isIpv6(text: string): boolean {
  const ip = parseIp(text);
  return ip?.family === 'IPv6' && looseForm(text, ip) !== 'leading zeros';
}

function isHostname(text: string): boolean {
  return text.length <= 255 && text.split('.').every((part) => part.length <= 63 && HOST_PART.test(part));
}

function isUri(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
  return /^(?:\/|[a-z][a-z0-9+.-]*:)/i.test(text) && !/[\u0000-\u0020\u007f]/.test(text);
}
