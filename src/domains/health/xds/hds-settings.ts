import { durationMs } from '../../../model/text/go-duration.ts';

/** How Envoys check health and report it. All durations are milliseconds above 0. */
export interface HdsSettings {
  /** False: Envoys are refused on HDS. */
  readonly enabled: boolean;
  /** How often an Envoy reports. */
  readonly intervalMs: number;
  /** Of each check whose probe does not state a value. */
  readonly check: {
    readonly timeoutMs: number;
    readonly intervalMs: number;
    /** The interval while the application has not received traffic. */
    readonly noTrafficIntervalMs: number;
    readonly healthyThreshold: number;
    readonly unhealthyThreshold: number;
  };
}

const PREFIX = 'KUMA_DP_SERVER_HDS_';

/** Reads the settings from the environment by Kuma's names and with its defaults. Throws with a text for people. */
export function hdsSettings(env: Readonly<Record<string, string | undefined>>): HdsSettings {
  const read = <Value>(
    name: string,
    initial: Value,
    parse: (text: string) => Value | undefined,
    form: string,
  ): Value => {
    const text = env[`${PREFIX}${name}`];
    if (text === undefined || text === '') return initial;
    const value = parse(text);
    if (value === undefined) throw new Error(`the environment variable ${PREFIX}${name} must be ${form}`);
    return value;
  };
  const duration = (name: string, initial: number): number =>
    read(name, initial, positiveDuration, 'a duration above 0, for example 5s');
  const count = (name: string): number => read(name, 1, positiveInteger, 'a whole number from 1 to 4294967295');
  return {
    enabled: read('ENABLED', true, truth, 'true or false'),
    intervalMs: duration('INTERVAL', 5_000),
    check: {
      timeoutMs: duration('CHECK_TIMEOUT', 2_000),
      intervalMs: duration('CHECK_INTERVAL', 1_000),
      noTrafficIntervalMs: duration('CHECK_NO_TRAFFIC_INTERVAL', 1_000),
      healthyThreshold: count('CHECK_HEALTHY_THRESHOLD'),
      unhealthyThreshold: count('CHECK_UNHEALTHY_THRESHOLD'),
    },
  };
}

function positiveDuration(text: string): number | undefined {
  const milliseconds = durationMs(text);
  return milliseconds !== undefined && milliseconds > 0 ? milliseconds : undefined;
}

function positiveInteger(text: string): number | undefined {
  const value = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0;
  return value > 0 && value <= 0xffff_ffff ? value : undefined;
}

function truth(text: string): boolean | undefined {
  const value = text.toLowerCase();
  if (['true', '1', 't'].includes(value)) return true;
  return ['false', '0', 'f'].includes(value) ? false : undefined;
}
