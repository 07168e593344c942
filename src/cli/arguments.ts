import { isIP } from 'node:net';
import { InvalidArgumentError, Option } from 'commander';
import { isReplicaAddress, REPLICA_ADDRESS } from '../manifest/server-address.ts';
import { MOST_ENROLMENT_SECONDS } from '../model/fleet/enrolment.ts';
import { type ClusterName, type FleetName, parseClusterName, parseFleetName } from '../model/fleet/ids.ts';
import type { LabelSelector } from '../model/objects/label-selector.ts';
import { parseLabelSelector } from '../model/objects/label-selector-text.ts';
import { durationMs, parseGoDuration } from '../model/text/go-duration.ts';
import { suggestion } from '../model/text/messages.ts';
import { parseRfc3339 } from '../model/text/time.ts';
import { ok, problem, type Result } from '../model/values/result.ts';
import {
  type HttpAddress,
  type ListenAddress,
  parseHttpAddress,
  parseListenAddress,
} from '../server/listen-address.ts';

/** A parser for commander that turns bad text into a usage error with the problem. */
export function checked<Value>(parse: (text: string) => Result<Value>): (text: string) => Value {
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
export const httpAddress: (text: string) => HttpAddress = checked(parseHttpAddress);

const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** The name of a Namespace. */
export const namespaceName: (text: string) => string = checked((text) =>
  NAMESPACE.test(text) ? ok(text) : problem('It must be the name of a Namespace'),
);

/** A label selector, with its text. */
export const labelSelector: (text: string) => { readonly text: string; readonly parsed: LabelSelector } = checked(
  (text) => {
    const parsed = parseLabelSelector(text);
    return parsed.ok ? ok({ text, parsed: parsed.value }) : parsed;
  },
);

/** The names of Namespaces, with one more, or with several between commas. */
export function addNamespace(text: string, before: readonly string[] = []): readonly string[] {
  return [...new Set([...before, ...text.split(',').map(namespaceName)])];
}

/** An IPv4 or IPv6 address. */
export const ipAddress: (text: string) => string = checked((text) =>
  isIP(text) === 0 ? problem('It must be an IP address') : ok(text),
);

/** A whole number from `min` to `max`. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return checked((text) => {
    const value = Number(text);
    const isInside = /^\d+$/.test(text) && value >= min && value <= max;
    return isInside ? ok(value) : problem(`It must be a whole number from ${min} to ${max}`);
  });
}

/** How long an enrolment token is valid: a duration of Go from a minute to 30 days; in whole seconds. */
export const tokenValidity: (text: string) => number = checked((text) => {
  const parsed = parseGoDuration(text);
  const seconds = parsed.ok ? Math.floor(parsed.value / 1000) : 0;
  const isInside = seconds >= 60 && seconds <= MOST_ENROLMENT_SECONDS;
  return isInside ? ok(seconds) : problem('It must be a duration from 1m to 720h, for example 24h');
});

/** A duration of Go such as `30s` or `1m30s`, from 0 to a day; in milliseconds. */
export const duration: (text: string) => number = checked((text) => {
  const value = durationMs(text);
  const isInside = value !== undefined && value >= 0 && value <= 86_400_000;
  return isInside ? ok(value) : problem('It must be a duration from 0 to 24h, for example 30s');
});

/** A time of RFC 3339, or a duration of Go before now; in milliseconds since 1970. */
export const momentOrDuration: (text: string) => number = checked((text) => {
  const moment = parseRfc3339(text);
  if (moment !== undefined) return ok(moment);
  const before = parseGoDuration(text);
  return before.ok && before.value >= 0
    ? ok(Date.now() - before.value)
    : problem('It must be a time such as 2026-01-31T10:42:07Z, or a duration such as 2h');
});

/** At least eight digits of a digest: a shorter beginning is too easily mistyped into another one. */
export const digestPrefix: (text: string) => string = checked((text) =>
  /^[0-9a-f]{8,64}$/.test(text)
    ? ok(text)
    : problem('A digest is 8 to 64 of the digits 0-9 and a-f; `fleetrelay approve --list` shows them'),
);

/** `HOST:PORT` of a server to connect to: a host is needed, and a port that is not 0. */
export const serverAddress: (text: string) => ListenAddress = checked((text) => {
  const parsed = parseListenAddress(text);
  const isComplete = parsed.ok && text.includes(':') && !text.startsWith(':') && parsed.value.port !== 0;
  return isComplete ? parsed : problem('It must be HOST:PORT of the server, for example relay.example.com:9900');
});

/** `HOST:PORT` or the address of the API of a replica. */
export const replicaAddress: (text: string) => string = checked((text) =>
  isReplicaAddress(text) ? ok(text) : problem(`It ${REPLICA_ADDRESS}`),
);

/** An option that may be repeated. `without` is its default in words, for the help. */
export function repeated(flags: string, meaning: string, without: string): Option {
  const collected = (value: string, before: readonly string[]): readonly string[] => [...before, value];
  return new Option(flags, meaning).argParser(collected).default([], without);
}

/** `--log-format` of a process that runs until it is stopped. */
export function logFormatOption(): Option {
  return new Option('--log-format <format>', 'auto: text on a terminal, else JSON lines')
    .choices(['auto', 'text', 'json'])
    .default('auto');
}

/** `--log-level`. */
export function logLevelOption(): Option {
  return new Option('--log-level <level>', 'least level of what is logged')
    .choices(['debug', 'info', 'warn', 'error'])
    .default('info');
}

/** An option with one of these values; the message for another one names the nearest of them. */
export function oneOf(flags: string, meaning: string, values: readonly string[]): Option {
  // The parser of `choices` suggests nothing; the shell completes the choices.
  return new Option(flags, meaning).choices(values).argParser((value: string) => {
    if (values.includes(value)) return value;
    const meant = suggestion(value, values);
    const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
    throw new InvalidArgumentError(`Allowed choices are ${values.join(', ')}.${hint}`);
  });
}
