import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Version of Envoy that `npm run envoy-binary` gets. */
export const ENVOY_VERSION = '1.40.0';

type Environment = Readonly<Record<string, string | undefined>>;

/** The program that `npm run envoy-binary` puts into a cache folder. */
export function cachedEnvoy(env: Environment): string {
  const cache = env.XDG_CACHE_HOME ?? join(env.HOME ?? homedir(), '.cache');
  return join(cache, 'fleetrelay', `envoy-${ENVOY_VERSION}`, 'envoy');
}

/** The program that ENVOY names, else {@link cachedEnvoy}; undefined: it is not there. */
export function findEnvoy(env: Environment): string | undefined {
  const { ENVOY: given } = env;
  const program = given === undefined || given === '' ? cachedEnvoy(env) : given;
  try {
    accessSync(program, constants.X_OK);
    return program;
  } catch {
    return undefined;
  }
}
