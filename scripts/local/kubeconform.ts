import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Version of kubeconform that validate is compared with. */
export const KUBECONFORM_VERSION = 'v0.8.0';

const TIME_LIMIT_MS = 10 * 60_000;

/** Returns the path of kubeconform; builds it with Go, into a cache folder, if it is not there. Rejects if Go fails. */
export async function kubeconformProgram(env: NodeJS.ProcessEnv): Promise<string> {
  const cache = env.XDG_CACHE_HOME ?? join(env.HOME ?? homedir(), '.cache');
  const folder = join(cache, 'fleetrelay', 'kubeconform', KUBECONFORM_VERSION);
  const program = join(folder, 'kubeconform');
  if (existsSync(program)) return program;
  const args = ['install', `github.com/yannh/kubeconform/cmd/kubeconform@${KUBECONFORM_VERSION}`];
  await promisify(execFile)('go', args, { env: { ...env, GOBIN: folder, CGO_ENABLED: '0' }, timeout: TIME_LIMIT_MS });
  return program;
}
