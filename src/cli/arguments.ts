import { InvalidArgumentError, Option } from 'commander';
import { isReplicaAddress, REPLICA_ADDRESS } from '../manifest/server-address.ts';
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

/** Text of a form; `problem` tells a person which one. */
export function matching(form: RegExp, problem: string): (text: string) => string {
  return (text) => {
    if (!form.test(text)) throw new InvalidArgumentError(problem);
    return text;
  };
}

/** `HOST:PORT` of a server to connect to: a host is needed, and a port that is not 0. */
export function serverAddress(text: string): ListenAddress {
  const parsed = parseListenAddress(text);
  const address = parsed.ok ? parsed.value : undefined;
  if (address === undefined || !text.includes(':') || text.startsWith(':') || address.port === 0) {
    throw new InvalidArgumentError('It must be HOST:PORT of the server, for example relay.example.com:9900.');
  }
  return address;
}

/** `HOST:PORT` or the address of the API of a replica. */
export function replicaAddress(text: string): string {
  if (!isReplicaAddress(text)) throw new InvalidArgumentError(`It ${REPLICA_ADDRESS}.`);
  return text;
}

/** An option that may be repeated. `without` is its default in words, for the help. */
export function repeated(flags: string, meaning: string, without: string): Option {
  const collected = (value: string, before: readonly string[]): readonly string[] => [...before, value];
  return new Option(flags, meaning).argParser(collected).default([], without);
}

/** `--log-level`. */
export function logLevelOption(): Option {
  return new Option('--log-level <level>', 'least level of what is logged')
    .choices(['debug', 'info', 'warn', 'error'])
    .default('info');
}
