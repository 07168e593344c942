import { InvalidArgumentError, Option } from 'commander';
import { type ClusterName, type FleetName, parseClusterName, parseFleetName } from '../model/ids.ts';
import type { Result } from '../model/result.ts';
import { type ListenAddress, parseListenAddress } from '../server/listen-address.ts';

function checked<Value>(parse: (text: string) => Result<Value>): (text: string) => Value {
  return (text) => {
    const result = parse(text);
    if (!result.ok) throw new InvalidArgumentError(`${result.problem}.`);
    return result.value;
  };
}

/** Parsers for commander: they turn bad text into a usage error that says what is wrong. */
export const clusterName: (text: string) => ClusterName = checked(parseClusterName);
export const fleetName: (text: string) => FleetName = checked(parseFleetName);
export const listenAddress: (text: string) => ListenAddress = checked(parseListenAddress);

/** A whole number from `min` to `max`. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

/** `HOST:PORT` of a server to connect to: a host is needed, and a port that is not 0. */
export function serverAddress(text: string): ListenAddress {
  const address = listenAddress(text);
  if (!text.includes(':') || text.startsWith(':') || address.port === 0) {
    throw new InvalidArgumentError('It must be HOST:PORT of the server, for example relay.example.com:9900.');
  }
  return address;
}

/** A repository address that holds no password: it would end up in logs and process lists. */
export function repositoryAddress(text: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/@]*:[^/@]*@/i.test(text)) {
    throw new InvalidArgumentError('It holds a password; name a file with --repo-token-file instead.');
  }
  return text;
}

/** Adds one more value to an option that may be repeated. */
export function collected(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

/** `--log-level`. */
export function logLevelOption(): Option {
  return new Option('--log-level <level>', 'least level of what is logged')
    .choices(['debug', 'info', 'warn', 'error'])
    .default('info');
}
